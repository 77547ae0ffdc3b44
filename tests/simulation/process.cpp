#include "process.hpp"

#include "answers.hpp"
#include "consumer/work.hpp"
#include "simulation.hpp"
#include "tenure/spi/admin.hpp"

namespace tenure::simulation {
namespace {

/// The pieces of an event that a trace shows.
std::int64_t detailOf(const EventBody& body) {
  if (const auto* ended = body.as<TermEnded>()) return static_cast<std::int64_t>(ended->reason);
  if (const auto* enrolled = body.as<Enrolled>()) return enrolled->czxid;
  if (const auto* committed = body.as<BatchCommitted>()) return committed->lastPosition;
  if (const auto* over = body.as<BarrierEnded>()) return over->how == "limit" ? 1 : over->how == "idle" ? 2 : 3;
  if (const auto* began = body.as<BarrierBegan>()) return began->predecessorToken;
  return 0;
}

/// Before the world begins. Where keys are to grow old all machines have been started at once: to the consumer each of
/// them has this machine's boot id.
Duration upSince(const Plan& plan, Random& random) {
  const Duration since{static_cast<Duration::rep>(random.below(1'000'000'000'000))};
  return plan.quiet > Duration{} ? Duration{} : since;
}

/// Only what is on one machine, and in one namespace, can be looked at.
ProcessIdentity identityOf(const Plan& plan, int slot, int number) {
  const std::string machine = std::to_string(slot % plan.hosts);
  return {.host = plan.oneName ? "host" : "host-" + machine,
          .pid = plan.containers ? 1 : 1000 + number,
          .startTime = number,
          .bootId = "boot-" + machine,
          .pidNamespace = plan.containers ? 2 + static_cast<std::uint64_t>(slot) : 1};
}

std::int64_t driftOf(const Plan& plan, Random& random) {
  const auto most = static_cast<std::uint64_t>(plan.drift);
  return static_cast<std::int64_t>(random.below(2 * most + 1)) - plan.drift;
}

}  // namespace

Process::Process(Simulation& simulation, int slot, int number)
    : simulation_(simulation),
      slot_(slot),
      number_(number),
      identity_(identityOf(simulation.plan(), slot, number)),
      random_(simulation.fork()),
      loop_(simulation.loop(), upSince(simulation.plan(), random_), driftOf(simulation.plan(), random_)),
      electionLoop_(loop_),
      consumerLoop_(loop_),
      storeClock_(loop_, simulation.serverClock(), simulation.plan().embeddedStore),
      database_(simulation.store(), *this, storeClock_,
                simulation.plan().queue == Queue::table ? memory::Database::Acknowledging::inTransaction
                                                        : memory::Database::Acknowledging::afterCommit,
                simulation.plan().lanes),
      client_(simulation.ensemble().connect(
          {.sessionTimeout = std::chrono::floor<std::chrono::milliseconds>(simulation.plan().sessionTimeout),
           .loop = &loop_})),
      coordination_(*this, *client_, electionLoop_, simulation.mutant()),
      store_(*this, storeOf(simulation)),
      source_(*this, database_.source()),
      work_(consuming::workOf(source_, store_, handlers(), consumerOptions(), *this, consumerLoop_, loop_)),
      runner_(career::CareerMachine(limits()), loop_, *this, *work_, Emitter(*this, loop_, electionName()), outlets()),
      election_(electionSettings(), electionLoop_, coordination_, *this, Emitter(*this, loop_, electionName()),
                random_.fork()) {
  limit(simulation.rules());
  runner_.exitWhenHung();
}

Process::~Process() { loop_.die(); }

void Process::start() {
  election_.start();
  if (!simulation_.plan().wallOffsets.empty())
    loop_.stepWall(simulation_.plan().wallOffsets.at(static_cast<std::size_t>(slot_)));
  if (simulation_.mutant() == Mutant::twoPromoters) promoteUnasked();
}

/// By a mutant: whoever it is promotes as well.
void Process::promoteUnasked() {
  source_.room().promoteUnasked();
  loop_.after(300ms, [this] { promoteUnasked(); });
}

IFencedStore& Process::storeOf(Simulation& simulation) {
  switch (simulation.mutant()) {
    case Mutant::noFence:
    case Mutant::checkThenWrite:
    case Mutant::lazyClaim:
    case Mutant::noDedup:
    case Mutant::noLetter:
    case Mutant::lostAttempts:
    case Mutant::laneWithoutFence:
      return mutantStore_.emplace(simulation.mutant(), database_.store(), simulation.store(), simulation.brokenFence(),
                                  loop_);
    default: return database_.store();
  }
}

CandidateUuid Process::uuid() const {
  const std::string digits = std::to_string(number_);
  return CandidateUuid{std::string(32 - digits.size(), '0') + digits};
}

ElectionSettings Process::electionSettings() {
  std::function<void(const std::optional<Will>&)> bequeath;
  if (simulation_.plan().lastWill) bequeath = [this](const std::optional<Will>& will) { will_ = will; };
  return {.election = electionName(),
          .root = "/tenure",
          .id = CandidateId{"replica-" + std::to_string(slot_)},
          .uuid = uuid(),
          .preference = simulation_.plan().preferred == slot_ ? Preference::preferred : Preference::normal,
          .preferredAfter = std::chrono::floor<std::chrono::milliseconds>(simulation_.plan().preferredAfter),
          .readiness = Readiness::checking,
          .barrierLimit = std::chrono::floor<std::chrono::milliseconds>(simulation_.plan().barrierLimit),
          .spawns = simulation_.plan().spawns,
          .allowShortSession = true,
          .freshEnsemble = simulation_.ensembleForANewMeta(),
          .process = identity_,
          .livenessOf = [this](const ProcessIdentity& process) { return simulation_.livenessOf(identity_, process); },
          .bequeath = std::move(bequeath)};
}

CareerLimits Process::limits() const {
  return {.inaugurate = 20s, .execute = 12s, .handOver = 10s, .grace = 2s, .drain = 6s, .idleInterval = 500ms};
}

consuming::Handlers Process::handlers() {
  BatchHandler many;
  if (simulation_.plan().together)
    many = [this](const BatchDelivery& delivery) {
      const Outcome outcome = simulation_.handleTogether(*this, delivery);
      return simulation_.mutant() == Mutant::failureInBatch ? Outcome::done() : outcome;
    };
  AnswererOf answerers;
  if (simulation_.plan().ahead > 0)
    answerers = [this](std::size_t) { return std::make_unique<SimulatedAnswerer>(simulation_, *this); };
  return {[this](const Delivery& delivery) {
            Message message = delivery.message;
            message.id = withoutCopyMark(message.id);
            return simulation_.handle(*this, {message, delivery.transaction, delivery.term, delivery.attempt});
          },
          std::move(many), false, std::move(answerers)};
}

ConsumerOptions Process::consumerOptions() const {
  ConsumerOptions options = simulation_.plan().consumer;
  options.jitterSeed += static_cast<std::uint64_t>(number_);
  if (!simulation_.plan().limits.empty()) options.limits = &limits_;
  if (simulation_.mutant() == Mutant::numbersIgnored) options.followNumbers = false;
  if (simulation_.mutant() == Mutant::startsAgain) options.delivery = Guarantee::exactlyOnceEffect;
  return options;
}

career::CareerOutlets Process::outlets() {
  std::function<void(FencingToken)> seekRelief = [this](FencingToken term) { election_.seekRelief(term); };
  if (simulation_.mutant() == Mutant::outageEndsTerm) seekRelief = nullptr;
  const bool isAlwaysClean = simulation_.mutant() == Mutant::batonAfterUnknown;
  return {.resign = [this, isAlwaysClean](
                        Resignation how,
                        bool failed) { election_.resign(isAlwaysClean ? Resignation::clean : how, failed); },
          .leave = [this](Resignation how) { election_.leave(how); },
          .exit = [this](ExitStatus status, bool careerIsHome) { simulation_.exited(*this, status, careerIsHome); },
          .tellReadiness = [this](Readiness readiness,
                                  const std::string& whyNot) { election_.tellReadiness(readiness, whyNot); },
          .tellRest = [this](FencingToken term) { election_.tellRest(term); },
          .seekSuccessor = [this](FencingToken term) { election_.seekSuccessor(term); },
          .seekRelief = std::move(seekRelief)};
}

Duration Process::draw(Duration most) {
  return Duration{1 + static_cast<Duration::rep>(random_.fraction() * static_cast<double>(most.count()))};
}

/// Each phase begins with a look at the limits.
void Process::run(Task phase) {
  loop_.runOnFiber([this, phase = std::move(phase)] {
    if (term_) simulation_.ghost().limitsTold(term_->identity().token, simulation_.rules(), loop_.now());
    phase();
  });
}

// --- what befalls it

void Process::limit(const RateRules& rules) {
  const bool again = std::exchange(limitsAreSet_, true);
  if (again && simulation_.mutant() == Mutant::staleLimits) return;
  RateRules kept = rules;
  if (simulation_.mutant() == Mutant::noQueueLimit) kept.queue.reset();
  if (simulation_.mutant() == Mutant::noGroupLimit) kept = {.queue = rules.queue};
  const Result<void> set = limits_.set(std::move(kept));
  if (!set) simulation_.ghost().violated("the limits refuse rules: " + set.error().message());
}

void Process::kill(Task isDown) {
  trace("killed");
  client_.reset();
  if (term_) simulation_.ghost().ended(token(), false);
  if (leading_) simulation_.ghost().died(token());
  leading_ = false;
  // What a server has been asked may still be done; nobody will hear of it.
  const bool landing = simulation_.drawOneIn(2);
  loop_.die(landing, std::move(isDown));
}

void Process::freeze(bool hard) {
  trace("frozen", hard ? 1 : 0);
  ++freezes_;
  disturb();
  loop_.freeze(hard);
  simulation_.ensemble().freeze(client_->machine());
}

void Process::thaw() {
  if (!loop_.frozen()) return;
  trace("thawed");
  thawedAt_ = simulation_.loop().now();
  loop_.thaw();
  simulation_.ensemble().thaw(client_->machine());
}

void Process::terminate() {
  trace("terminate");
  if (!terminatedAt_) terminatedAt_ = simulation_.loop().now();
  if (leading_) enter(Stage::draining);
  runner_.stop();
}

void Process::stepDown() {
  trace("step down");
  if (leading_) enter(Stage::draining);
  if (leading_ && simulation_.mutant() == Mutant::earlyResign) election_.resign(Resignation::clean, false);
  election_.handOver(runner_.leading(), "SIGUSR1");
}

bool Process::believesInItself() const noexcept {
  return term_ && !dead() && term_->lease().valid(electionLoop_.now());
}

bool Process::believesUnproven() const noexcept {
  const Duration believable = simulation_.plan().sessionTimeout / 2 + 1ms;
  return believesInItself() && loop_.now() > coordination_.proven() + believable;
}

// --- what it tells

void Process::enter(Stage stage) {
  // A term that is being drained goes on through its phases, but to the table it is draining.
  const bool ofTerm = stage >= Stage::beforeClaim && stage < Stage::draining;
  const bool isLeaving = stage_ == Stage::draining || stage_ == Stage::offering;
  if (stage_ == stage || (isLeaving && ofTerm)) return;
  stage_ = stage;
  simulation_.entered(*this, stage);
}

void Process::trace(const char* what, std::int64_t detail) { simulation_.trace(number_, what, detail); }

void Process::on(const Event& event) noexcept {
  const std::string_view name = event.body.visit([](const auto& body) { return body.name; });
  simulation_.trace(number_, name.data(), detailOf(event.body) + event.token.value);
  simulation_.coverage().saw(name);
  if (dead()) return;
  follow(event.body);
  followMessages(event.body, event.token);
}

void Process::followMessages(const EventBody& event, FencingToken token) {
  const bool waits = simulation_.mutant() != Mutant::noBackoff;
  if (const auto* failed = event.as<AttemptFailed>()) {
    parked_.insert(simulation_.groupOf(MessageId{failed->message}));
    simulation_.ghost().attemptFailed(token, *failed);
    if (!waits) consumerLoop_.leap(failed->retryIn);
  }
  if (const auto* lost = event.as<MessageForgone>()) simulation_.ghost().forgone(MessageId{lost->message});
  if (const auto* later = event.as<MessagePostponed>()) {
    simulation_.ghost().postponed(token, *later);
    // Also where the handler has answered, and the store could not take the answer's effects yet.
    if (!loop().inLane()) simulation_.ghost().parked(simulation_.groupOf(MessageId{later->message}));
  }
  if (event.is<ConsumerStopped>()) simulation_.stopped();
  if (const auto* blocked = event.as<QueueBlocked>()) simulation_.blocked(MessageId{blocked->message});
}

///   R1 no term ends of an outage of the store, in which no other replica could do better
///   R2 a row that somebody else has locked is no outage of the store
void Process::judgeOutages(const EventBody& event) {
  if (simulation_.mutant() == Mutant::batonAfterUnknown) return;
  const auto* failed = event.as<PhaseFailed>();
  const bool isAsked = term_ && term_->endReason() != EndReason::none;
  if (failed != nullptr && !isAsked && failed->error.find(downText) != std::string::npos)
    simulation_.ghost().violated("R1: a term ends of an outage: " + failed->error);
  const auto* began = event.as<OutageBegan>();
  if (began != nullptr && began->error.find(lockedText) != std::string::npos)
    simulation_.ghost().violated("R2: a locked row is taken for an outage");
}

void Process::onOffered() {
  offeredAt_ = simulation_.loop().now();
  if (simulation_.mutant() == Mutant::acceptsUnasked) return election_.tellReadiness(Readiness::prepared, {});
  runner_.onOffered();
}

std::optional<BootTime> Process::followsOffer() const {
  const ensemble::ZNode* node = simulation_.ensemble().tree().find("/tenure/elections/orders/baton");
  const auto baton = node == nullptr ? std::nullopt : parseBatonRecord(node->data);
  const bool isOurs = baton && baton->state == BatonRecord::State::passed && baton->czxid == token().value;
  return isOurs ? offeredAt_ : std::nullopt;
}

void Process::follow(const EventBody& event) {
  judgeOutages(event);
  if (event.is<SessionExpired>() && !leading_) enter(Stage::connecting);
  if (event.is<CandidacyLost>() && !leading_) enter(Stage::away);
  if (const auto* enrolled = event.as<Enrolled>()) {
    znode_ = enrolled->znode;
    excused_ = false;
    enter(Stage::away);
  }
  if (event.is<HandoverOffered>()) enter(Stage::offering);
  if (event.is<HandoverAccepted>()) enter(Stage::draining);
  if (event.is<StoodBy>()) enter(Stage::standby);
  if (const auto* began = event.as<BarrierBegan>()) {
    waitsFor_ = FencingToken{began->predecessorToken};
    enter(Stage::barrier);
  }
  if (const auto* ended = event.as<BarrierEnded>(); ended != nullptr && ended->how == "limit")
    simulation_.ghost().overlapAnnounced(waitsFor_);
  if (event.is<Inaugurated>()) enter(Stage::idle);
  if (const auto* ended = event.as<TermEnded>()) {
    simulation_.ghost().ended(token(), ended->clean);
    simulation_.batons().ended(token(), ended->clean);
    leading_ = false;
    enter(Stage::away);
  }
}

void Process::onElected(std::shared_ptr<TermState> term) {
  if (leading_) return simulation_.ghost().violated("S6: a replica is elected again before its term is over");
  term_ = term;
  leading_ = true;
  enter(Stage::beforeClaim);
  runner_.onElected(std::move(term));
}

void Process::onTermLost(EndReason reason) { runner_.onTermLost(reason); }

void Process::onFatal(const Error& error) {
  if (!simulation_.putBack())
    simulation_.ghost().violated("L5: the election of a replica has ended: " + error.message());
  runner_.onFatal(error);
}

}  // namespace tenure::simulation
