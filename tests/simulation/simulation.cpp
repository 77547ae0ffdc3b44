#include "simulation.hpp"

#include <cstdio>
#include <cstring>

#include "testing/memory/memory_state.hpp"

namespace tenure::simulation {
namespace {

constexpr int mostEventsAtOneInstant = 5'000;
constexpr auto sessionsLookedForEvery = 20ms;
constexpr auto longestWork = 20min;

MemoryEnsemble::Settings ensembleOf(const Plan& plan) {
  return {.servers = plan.servers,
          .tick = std::chrono::floor<std::chrono::milliseconds>(plan.tick),
          .latency = {plan.networkLatency / 10, plan.networkLatency}};
}

/// The operator only writes.
class Unobserved final : public ISessionObserver {
 public:
  void onConnected(const SessionInfo&) override {}
  void onSuspended() override {}
  void onExpired() override {}
  void onFatal(const Error&) override {}
};
Unobserved unobserved;

std::uint64_t mixed(std::uint64_t hash, std::uint64_t value) { return (hash ^ value) * 0x100000001b3U; }

}  // namespace

Simulation::Simulation(Plan plan, Mutant mutant, Recording recording)
    : plan_(std::move(plan)),
      mutant_(mutant),
      recording_(recording),
      random_(plan_.seed ^ 0x7e2f1b35U),
      ensemble_(loop_, ensembleOf(plan_), random_.next()),
      broker_(mutant != Mutant::noSourceExclusivity, plan_, Random(plan_.seed)),
      ghost_(plan_.consumer, plan_.returns == Returns::inAnyOrder),
      serverClock_(loop_),
      sink_(memory::openSink(store_, serverClock_)),
      scheduled_(memory::openScheduled(store_, serverClock_)),
      began_(loop_.wallNow()),
      operator_(ensemble_.connect({.sessionTimeout = 10s})) {
  if (plan_.beside) ghost_.handlesBeside(plan_.ahead);
  report_.hash = 0xcbf29ce484222325U;
}

Simulation::~Simulation() {
  for (auto& [number, process] : processes_)
    if (!process->dead()) process->kill({});
  for (auto& [number, process] : processes_) process->loop().die();
}

Report Simulation::run() {
  if (plan_.largestLetter < maxBodyBytes) store_.refuseLetters(plan_.largestLetter);
  memory::StateOf::in(store_).hasOtherQueues = true;
  memory::StateOf::in(store_).promotesItself = false;
  begin();
  runUntil([this] { return chaosIsOver(); }, plan_.chaos + 1s);
  if (!ghost_.violation()) heal();
  if (!ghost_.violation()) awaitLeader();
  if (!ghost_.violation()) awaitMessages();
  if (!ghost_.violation() && plan_.quiet > Duration{}) passTime();
  if (!ghost_.violation()) awaitDepartures();
  if (!ghost_.violation()) checkEnd();
  if (!ghost_.violation() && backup_ && mutant_ == Mutant::none) restoreBackup();
  report_.violation = ghost_.violation();
  report_.commits = ghost_.commits();
  report_.claims = ghost_.claims();
  report_.lasted = loop_.now().time_since_epoch() - 1h;
  return report_;
}

// --- the first act

void Simulation::begin() {
  operator_->start(unobserved);
  for (int slot = 0; slot < plan_.replicas; ++slot)
    startLater(slot, Duration{static_cast<Duration::rep>(random_.below(300'000'000))});
  for (const MessagePlan& message : plan_.messages) loop_.after(message.at, [this, &message] { produce(message); });
  for (const LimitsPlan& limits : plan_.limits)
    limits.at == Duration{} ? limit(limits.rules)
                            : void(loop_.after(limits.at, [this, &limits] { limit(limits.rules); }));
  for (const Fault& fault : plan_.faults) schedule(fault);
  beginSchedules();
  strangers_.begin();
  if (plan_.backupAt) loop_.after(*plan_.backupAt, [this] { backup_ = ensemble_.snapshot(); });
}

bool Simulation::chaosIsOver() { return loop_.now().time_since_epoch() - 1h >= plan_.chaos; }

bool Simulation::runUntil(const std::function<bool()>& condition, Duration limit) {
  bool reached = false;
  loop_.advanceUntil(
      [&] {
        if (!afterEvent()) return true;
        return reached = condition();
      },
      limit);
  return reached;
}

// --- after every event

bool Simulation::afterEvent() {
  ++report_.events;
  const BootTime now = loop_.now();
  eventsAtInstant_ = now == instant_ ? eventsAtInstant_ + 1 : 0;
  instant_ = now;
  if (eventsAtInstant_ > mostEventsAtOneInstant) ghost_.violated("busy: thousands of events at one instant;" + stand());
  checkLeases();
  ghost_.complain(batons_.look(ensemble_.tree()));
  if (now - sessionsSeen_ >= sessionsLookedForEvery) lookForLostSessions();
  return !ghost_.violation();
}

/// For people: where everybody stands.
std::string Simulation::stand() const {
  std::string text;
  for (const auto& [number, process] : processes_)
    if (!process->dead()) text += " p" + std::to_string(number) + ": " + process->describe() + ';';
  return text;
}

void Simulation::checkLeases() {
  const Process* believer = nullptr;
  for (const auto& [slot, number] : slots_) {
    const Process* process = alive(number);
    if (process == nullptr || process->excused() || !process->believesInItself()) continue;
    if (process->believesUnproven())
      ghost_.violated("lease: term " + std::to_string(process->token().value) + " believes longer than is proven");
    if (believer != nullptr)
      ghost_.violated("two leases at once: terms " + std::to_string(believer->token().value) + " and " +
                      std::to_string(process->token().value));
    believer = process;
  }
}

/// The ensemble has ended a session, and its process does not know it yet.
void Simulation::lookForLostSessions() {
  sessionsSeen_ = loop_.now();
  const auto& sessions = ensemble_.tree().sessions();
  for (const auto& [slot, number] : slots_) {
    Process* process = alive(number);
    if (process == nullptr) continue;
    const auto session = process->client()->session();
    if (session.value == 0 || sessions.contains(session)) continue;
    if (std::exchange(lostSessions_[number], session.value) == session.value) continue;
    report_.coverage.mark(process->stage(), Column::expired);
    trace(number, "session lost", static_cast<std::int64_t>(process->stage()));
  }
}

void Simulation::trace(int process, const char* what, std::int64_t detail) {
  std::uint64_t& hash = report_.hash;
  hash = mixed(hash, static_cast<std::uint64_t>(loop_.now().time_since_epoch().count()));
  hash = mixed(hash, static_cast<std::uint64_t>(process));
  for (const char* c = what; *c != '\0'; ++c) hash = mixed(hash, static_cast<unsigned char>(*c));
  hash = mixed(hash, static_cast<std::uint64_t>(detail));
  if (recording_.keep == 0 && !recording_.print) return;
  const auto at = static_cast<double>((loop_.now().time_since_epoch() - 1h).count()) / 1e6;
  char line[200];
  std::snprintf(line, sizeof line, "%12.3f ms  p%-3d %-26s %lld", at, process, what, static_cast<long long>(detail));
  if (recording_.print) std::puts(line);
  if (recording_.keep == 0) return;
  report_.lastEvents.emplace_back(line);
  if (report_.lastEvents.size() > recording_.keep) report_.lastEvents.pop_front();
}

// --- the second act

void Simulation::heal() {
  trace(0, "healed", 0);
  healed_ = true;
  storeDownUntil_ = sourceDownUntil_ = {};
  memory::StateOf::in(store_).closedQueues.clear();
  ensemble_.healAll();
  for (int server = 1; server <= plan_.servers; ++server) {
    ensemble_.thaw(MemoryEnsemble::server(server));
    ensemble_.setLag(MemoryEnsemble::server(server), {});
  }
  for (const int server : std::exchange(crashedServers_, {})) ensemble_.restart(MemoryEnsemble::server(server));
  for (const auto& [slot, number] : slots_) {
    Process* process = alive(number);
    if (process == nullptr) continue;
    process->thaw();
    process->loop().unhang();
    process->armed.pausePromoter.reset();
  }
  for (int slot = 0; slot < plan_.replicas; ++slot)
    if (!departing_ && inSlot(slot) == nullptr) start(slot);
  if (plan_.oneStaysBroken) breakOneForGood();
}

void Simulation::breakOneForGood() {
  Process* process = inSlot(plan_.replicas - 1);
  if (process == nullptr) return;
  if (drawOneIn(2)) return pause(*process, 1000h, false);
  lose(*process, 1000h);
}

bool Simulation::somebodyServes() const {
  for (const auto& [number, process] : processes_)
    if (!process->dead() && process->leading() && process->stage() > Stage::recovering) return true;
  return false;
}

/// L1: expiry of whoever was there, on a tick; the barrier; backoffs of twice the timeout at most; the claim's limit.
void Simulation::awaitLeader() {
  const Duration limit = plan_.sessionTimeout * 4 + plan_.tick * 2 + plan_.barrierLimit + plan_.lockLimit + 15s;
  const auto led = [this] { return somebodyServes() || (ghost_.complete() && queueIsEmpty()); };
  if (!runUntil(led, limit) && !ghost_.violation())
    ghost_.violated("L1: nobody leads, long after all was healed;" + stand());
}

bool Simulation::queueIsEmpty() const {
  return plan_.queue == Queue::broker ? broker_.empty() : store_.waiting().empty();
}

void Simulation::awaitMessages() {
  const auto done = [this] { return ghost_.complete() && queueIsEmpty() && roomIsSettled() && strangers_.isSettled(); };
  const bool isOver = runUntil(done, longestWork);
  checkRoom();
  if (!strangers_.isSettled()) ghost_.violated("W1: what is committed does not come to its queue;" + stand());
  if (!roomIsSettled()) ghost_.violated("D3: messages wait though their time has come;" + stand());
  if (!isOver && !ghost_.violation())
    ghost_.violated("L2: messages do not come to their end:" + ghost_.openMessages() + ';' + stand());
}

void Simulation::awaitDepartures() {
  departing_ = true;
  for (const auto& [slot, number] : slots_)
    if (Process* process = alive(number); process != nullptr && !process->loop().frozen()) process->terminate();
  const auto gone = [this] {
    for (const auto& [slot, number] : slots_)
      if (const Process* process = alive(number); process != nullptr && !process->frozen()) return false;
    return true;
  };
  if (!runUntil(gone, longestDeparture) && !ghost_.violation())
    ghost_.violated("L4: SIGTERM does not end a replica;" + stand());
}

/// What the effects of all groups have in common.
void Simulation::checkShared() {
  if (plan_.counts && store_.value(sharedCounter).value_or("0") != std::to_string(ghost_.sent().size()))
    ghost_.violated("E1: " + std::to_string(ghost_.sent().size()) + " effects, and the handlers' count is " +
                    store_.value(sharedCounter).value_or("0"));
  if (!plan_.sends) return;
  std::multiset<std::string> sent;
  for (const NewMessage& message : memory::StateOf::in(store_).kept.others[std::string(followUps)])
    sent.insert(message.id.value);
  if (sent != ghost_.sent()) ghost_.violated("E2: what the effects have sent is not what came");
}

void Simulation::checkEnd() {
  if (!plan_.consumer.handlerIsExternal)
    for (const auto& [group, chain] : ghost_.chains())
      if (store_.value("chain " + group) != chain) ghost_.violated("S3: the chain of group " + group + " is broken");
  checkShared();
  for (const auto& [slot, number] : slots_)
    if (const Process* frozen = alive(number)) ghost_.died(frozen->token());  // it will never say anything
  ghost_.checkLetters(store_.deadLetters());
  ghost_.checkTaken(store_.deadLetters());
}

}  // namespace tenure::simulation
