#include "bench/failover/race.hpp"

#include <signal.h>

#include <algorithm>
#include <fstream>
#include <set>
#include <stdexcept>
#include <thread>

#include "base/random.hpp"
#include "bench/servers.hpp"
#include "support/ledger.hpp"
#include "tenure/sqlite.hpp"

namespace tenure::test {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t queueLength = 10'000;

/// Appends to a queue of its own in the same file, in steps of ten milliseconds.
void loadOf(const std::filesystem::path& file, int perSecond, const std::stop_token& stop) {
  sqlite::Options options;
  options.file = file;
  options.queue = "load";
  options.lockLimit = std::chrono::seconds{30};
  const auto sink = sqlite::openSink(options).value();
  int number = 0;
  for (auto next = std::chrono::steady_clock::now(); !stop.stop_requested(); next += 10ms) {
    std::vector<NewMessage> batch;
    for (int i = 0; i < std::max(1, perSecond / 100); ++i)
      batch.push_back({MessageId{"load-" + std::to_string(++number)}, {}, "body", {}});
    static_cast<void>(sink->append(batch));
    std::this_thread::sleep_until(next);  // house: may sleep
  }
}

/// Since the machine was started, in ticks.
struct ProcessorTime {
  double all = 0;
  double idle = 0;
};
ProcessorTime processorTime() {
  std::ifstream stat("/proc/stat");
  std::string word;
  stat >> word;
  ProcessorTime time;
  double ticks = 0;
  for (int column = 0; column < 8 && stat >> ticks; ++column) {
    time.all += ticks;
    if (column == 3 || column == 4) time.idle += ticks;  // idle, and waiting for a disk
  }
  return time;
}
double busyShare(const ProcessorTime& before, const ProcessorTime& after) {
  return after.all > before.all ? 1 - (after.idle - before.idle) / (after.all - before.all) : 0;
}

bool isAHandover(Fault fault) noexcept { return fault == Fault::graceful || fault == Fault::frozenNext; }

/// Whatever is still on its way arrives, and nobody who looks takes processor time from those measured.
void settle(std::chrono::milliseconds time) { std::this_thread::sleep_for(time); }  // house: may sleep

}  // namespace

const std::map<std::string, Fault> faults{{"graceful", Fault::graceful}, {"frozen-next", Fault::frozenNext},
                                          {"kill", Fault::kill},         {"segv", Fault::segv},
                                          {"abort", Fault::abort},       {"exit", Fault::exit},
                                          {"oom", Fault::oom},           {"freeze", Fault::freeze},
                                          {"cut", Fault::cut},           {"hang", Fault::hang}};

std::string nameOf(Fault fault) {
  for (const auto& [name, each] : faults)
    if (each == fault) return name;
  return "unknown";
}

Race::Race(const System& system, const Course& course, const Ensemble& ensemble)
    : common_{system,
              folder_.path(),
              folder_ / "ledger.db",
              "failover-" + freshUuid().substr(0, 8),
              course.session,
              course.fault == Fault::cut,
              course.fault == Fault::oom},
      course_(course),
      ensemble_(ensemble) {
  createLedger(common_.ledger);
}

Race::~Race() {
  for (Member& member : members_) member.signal(SIGKILL);
}

Takeovers Race::run() {
  gather();
  if (course_.load > 0)
    load_ = std::jthread([this](const std::stop_token& stop) { loadOf(common_.ledger, course_.load, stop); });
  const ProcessorTime before = processorTime();
  for (int i = 0; i < course_.rounds; ++i) {
    const std::optional<double> took = round();
    if (!took) break;
    measured_.milliseconds.push_back(*took);
  }
  measured_.busy = busyShare(before, processorTime());
  load_ = {};
  finish();
  countStale();
  if (!common_.system.isPeer && isAHandover(course_.fault)) timeSteps();
  std::sort(measured_.milliseconds.begin(), measured_.milliseconds.end());
  return measured_;
}

/// One after another: who enrols first is first in line.
void Race::gather() {
  keepTheQueueFilled();
  Member& first = start();
  if (!eventually([&] { return first.lastCommit().at != 0; }))
    throw std::runtime_error(common_.system.name + " does not lead: " + first.program().output());
  const auto rounds = static_cast<std::size_t>(course_.rounds);
  while (members_.size() < std::min(course_.candidates, rounds + 1))
    if (Program& next = start().program(); !next.waitForOutput("stood_by"))
      throw std::runtime_error(common_.system.name + " does not stand by: " + next.output());
  for (Member& member : members_) line_.push_back(&member);
  if (members_.size() < course_.candidates) gatherCrowd(course_.candidates - members_.size());
}

void Race::gatherCrowd(std::size_t count) {
  crowd_.emplace(Program::Arguments{TENURE_BINARY_DIR "/test_programs/crowd", "hosts=" + ensemble_.hosts(),
                                    "election=" + common_.election, "count=" + std::to_string(count)},
                 folder_ / "crowd.log");
  if (!crowd_->waitForOutput("crowd_stands", 1, 3min))
    throw std::runtime_error("the crowd does not stand: " + crowd_->output());
}

Member& Race::leader() {
  return *std::max_element(members_.begin(), members_.end(), [](const Member& a, const Member& b) {
    return a.lastCommit().token < b.lastCommit().token;
  });
}

void Race::keepTheQueueFilled() {
  if (common_.system.isPeer) return;
  const std::size_t missing = countLedger(common_.ledger) + queueLength - produced_;
  if (missing < queueLength / 4) return;
  produce(common_.ledger, static_cast<int>(produced_) + 1, static_cast<int>(missing));
  produced_ += missing;
}

/// Nullopt when nobody succeeds.
std::optional<double> Race::round() {
  keepTheQueueFilled();
  settle(500ms);
  Member& victim = leader();
  const std::int64_t oldToken = victim.lastCommit().token;
  if (!common_.system.isPeer) victim.program().waitForOutput("last_will_ready");
  const std::size_t stoodBefore = victim.timesStoodBy();
  const std::size_t watching = othersWatching(victim);
  const std::size_t wokenBefore = crowdWoken();

  const bool freezesNext = course_.fault == Fault::frozenNext;
  Member& second = next();
  const std::size_t secondStood = second.timesStoodBy();
  if (freezesNext) second.signal(SIGSTOP);
  std::int64_t from = befall(victim);
  settle(40ms);
  if (!eventually([&] { return firstCommitAfter(oldToken).has_value(); }, course_.patience)) return {};
  settle(200ms);
  const Commit first = *firstCommitAfter(oldToken);
  measured_.watches = std::max(measured_.watches, watching + crowdWoken() - wokenBefore);
  if (isAHandover(course_.fault))
    for (const Commit& commit : victim.commits())
      if (commit.token == oldToken) from = commit.at;
  recover(victim, stoodBefore);
  if (freezesNext) {
    second.signal(SIGCONT);
    recover(second, secondStood);
  }
  ended(victim, freezesNext);
  return static_cast<double>(first.at - from) / 1e6;
}

std::size_t Race::othersWatching(const Member& leader) const {
  if (common_.system.isPeer) return 0;
  std::set<std::int64_t> watching = sessionsWatching(ensemble_, leader.znode());
  watching.erase(leader.session());
  return watching.size();
}

std::size_t Race::crowdWoken() const { return crowd_ ? occurrences(crowd_->output(), "woken") : 0; }

bool isByItsOwnHand(Fault fault) noexcept {
  return fault == Fault::segv || fault == Fault::abort || fault == Fault::exit || fault == Fault::oom;
}

std::int64_t Race::befall(Member& victim) {
  if (isByItsOwnHand(course_.fault)) {
    victim.order(nameOf(course_.fault));
    if (!victim.program().waitForEnd()) throw std::runtime_error("a replica does not die as told");
    return victim.lastSeen();
  }
  if (course_.fault == Fault::freeze) victim.freeze();
  const auto at = std::chrono::steady_clock::now().time_since_epoch();
  if (isAHandover(course_.fault)) victim.signal(common_.system.handOverSignal);
  if (course_.fault == Fault::kill) victim.signal(SIGKILL);
  if (course_.fault == Fault::cut) victim.cut();
  if (course_.fault == Fault::hang) victim.order("hang");
  return at / 1ns;
}

Member& Race::next() { return line_.size() > 1 ? *line_[1] : *line_.front(); }

void Race::ended(Member& leader, bool nextWasFrozen) {
  std::deque<Member*> back{&leader};
  if (nextWasFrozen) back.push_back(&next());
  for (Member& member : members_)
    if (std::ranges::find(line_, &member) == line_.end()) back.push_back(&member);
  for (Member* left : back) std::erase(line_, left);
  for (Member* left : back)
    if (!left->ended()) line_.push_back(left);
}

std::optional<Commit> Race::firstCommitAfter(std::int64_t token) const {
  std::optional<Commit> first;
  for (const Member& member : members_) {
    if (member.lastCommit().token <= token) continue;
    for (const Commit& commit : member.commits())
      if (commit.token > token && (!first || commit.at < first->at)) first = commit;
  }
  return first;
}

/// The victim, or another in its place, stands by at the back when this returns.
void Race::recover(Member& victim, std::size_t stoodBefore) {
  if (course_.fault == Fault::freeze) victim.signal(SIGCONT);
  if (course_.fault == Fault::cut) victim.heal();
  if (!victim.program().waitForOutput("stood_by", stoodBefore + 1)) start().program().waitForOutput("stood_by");
}

/// All leave, so that no session of theirs expires in the middle of the next race.
void Race::finish() {
  if (crowd_) {
    measured_.crowdElected = occurrences(crowd_->output(), "elected") > 0;
    crowd_->signal(SIGTERM);
    crowd_->waitForEnd();
  }
  for (Member& member : members_) member.signal(SIGTERM);
  for (Member& member : members_) member.program().waitForEnd(5s);
}

void Race::countStale() {
  std::int64_t newest = 0;
  for (const LedgerRow& row : readLedger(common_.ledger)) {
    measured_.staleAccepted += row.token < newest ? 1 : 0;
    newest = std::max(newest, row.token);
  }
  measured_.staleTried = measured_.staleAccepted;
  for (const Member& member : members_) measured_.staleTried += member.refused();
}

void Race::timeSteps() {
  for (const std::string event : {"term_ended", "elected", "inaugurated", "first_commit"}) {
    std::vector<double> all;
    for (const Member& member : members_)
      for (const double each : member.sinceRequest(event)) all.push_back(each);
    if (all.empty()) continue;
    std::ranges::nth_element(all, all.begin() + static_cast<std::ptrdiff_t>(all.size() / 2));
    measured_.steps[event] = all[all.size() / 2];
  }
}

}  // namespace tenure::test
