#include "career/candidate_options.hpp"
#include "career/career_runner.hpp"
#include "election/machine/election.hpp"
#include "tenure/testing/world.hpp"
#include "testing/world/world_parts.hpp"

namespace tenure::test {
namespace {

CandidateOptions checked(CandidateOptions options) {
  if (options.zookeeper.hosts.empty()) options.zookeeper.hosts = "in-memory:2181";
  validate(options).throwIfAny();
  return options;
}

/// The candidate of one process, as production wires it.
class Life final : private career::IPhaseWorker {
 public:
  using Ended = std::function<void(ExitStatus status)>;

  Life(WorldParts& world, const CandidateOptions& options, ILeaderCareer& career, IEventSink& events, Ended ended)
      : world_(world),
        pid_(++world.lastPid),
        ended_(std::move(ended)),
        emit_(events, loop_, options.election),
        client_(world.ensemble.connect({.sessionTimeout = options.zookeeper.sessionTimeout, .loop = &loop_})),
        runner_(career::CareerMachine(options.limits), loop_, *this, career, emit_, outlets()),
        election_(settingsOf(options), loop_, *client_, runner_, emit_, world.random.fork()) {
    runner_.exitWhenHung();
    world_.processes.push_back(&loop_);
    world_.alive.insert(pid_);
    election_.start();
  }
  /// The stacks are unwound, and nothing of the process runs any more.
  ~Life() override {
    world_.alive.erase(pid_);
    client_.reset();
    loop_.die();
    std::erase(world_.processes, &loop_);
  }

  ProcessLoop& loop() noexcept { return loop_; }
  MemoryClient& client() noexcept { return *client_; }
  career::CareerRunner& runner() noexcept { return runner_; }
  const career::CareerRunner& runner() const noexcept { return runner_; }
  Election& election() noexcept { return election_; }

 private:
  void run(Task phase) override { loop_.runOnFiber(std::move(phase)); }

  ElectionSettings settingsOf(const CandidateOptions& options) {
    std::string digits = std::to_string(pid_);
    const std::string id = options.id.value.empty() ? "replica-" + digits : options.id.value;
    return {.election = options.election,
            .root = options.root,
            .id = CandidateId{id},
            .uuid = CandidateUuid{std::string(32 - digits.size(), '0') + digits},
            .preference = options.preference,
            .preferredAfter = options.preferredAfter,
            .agreement = options.agreement,
            .readiness = Readiness::checking,
            .barrierLimit = options.barrierLimit,
            .allowShortSession = options.zookeeper.allowShortSession,
            .hosts = options.zookeeper.hosts,
            .version = options.version,
            .process = {.host = "host", .pid = pid_, .startTime = pid_, .bootId = "boot", .pidNamespace = 1},
            .livenessOf = [&world = world_](const ProcessIdentity& process) {
              return world.alive.contains(process.pid) ? Liveness::alive : Liveness::gone;
            }};
  }

  career::CareerOutlets outlets() {
    return {.resign = [this](Resignation how, bool failed) { election_.resign(how, failed); },
            .leave = [this](Resignation how) { election_.leave(how); },
            .exit = [this](ExitStatus status, bool) { ended_(status); },
            .tellReadiness = [this](Readiness readiness,
                                    const std::string& whyNot) { election_.tellReadiness(readiness, whyNot); },
            .tellRest = [this](FencingToken term) { election_.tellRest(term); }};
  }

  WorldParts& world_;
  const std::int64_t pid_;
  Ended ended_;
  ProcessLoop loop_{world_.loop, Duration{}, 0};
  Emitter emit_;
  std::unique_ptr<MemoryClient> client_;
  career::CareerRunner runner_;
  Election election_;
};

}  // namespace

class Process::Impl {
 public:
  Impl(WorldParts& world, const CandidateOptions& options, ILeaderCareer& career, IEventSink& events)
      : world_(world), hasWill_(options.lastWill.use.value_or(false)) {
    life_.emplace(world, options, career, events, [this](ExitStatus status) {
      status_ = status;
      endLater(false);
    });
  }
  ~Impl() { *there_ = false; }

  Life* life() noexcept { return life_ ? &*life_ : nullptr; }
  const Life* life() const noexcept { return life_ ? &*life_ : nullptr; }
  std::optional<ExitStatus> status() const noexcept { return status_; }
  WorldParts& world() noexcept { return world_; }

  void kill() {
    if (!life_) return;
    const bool byItself = life_->loop().running();
    endLater(hasWill_);
    if (byItself) world_.waitUntil(BootTime::max(), {});
  }

 private:
  void endLater(bool withWill) {
    world_.later([this, there = there_, withWill] {
      if (!*there || !life_) return;
      const auto session = life_->client().session();
      life_.reset();
      if (withWill) world_.ensemble.expire(session);
    });
  }

  WorldParts& world_;
  const bool hasWill_;
  std::optional<Life> life_;
  std::optional<ExitStatus> status_;
  std::shared_ptr<bool> there_ = std::make_shared<bool>(true);
};

Process::Process(World& world, CandidateOptions options, ILeaderCareer& career, IEventSink& events)
    : impl_(std::make_unique<Impl>(*world.parts_, checked(std::move(options)), career, events)) {}
Process::~Process() = default;

bool Process::leads() const noexcept { return token().value != 0; }
FencingToken Process::token() const noexcept {
  return impl_->life() != nullptr ? impl_->life()->runner().leading() : FencingToken{};
}
std::optional<ExitStatus> Process::exitStatus() const noexcept { return impl_->status(); }

void Process::stop() noexcept {
  if (Life* life = impl_->life()) life->runner().stop();
}
void Process::handOver() noexcept {
  if (Life* life = impl_->life())
    life->loop().post([life] { life->election().handOver(life->runner().leading(), "program"); });
}
void Process::handOver(const CandidateId& to) noexcept {
  if (Life* life = impl_->life())
    life->loop().post([life, to] { life->election().handOver(life->runner().leading(), to, "program"); });
}
void Process::wake() noexcept {
  if (Life* life = impl_->life()) life->runner().wake();
}

void Process::kill() { impl_->kill(); }

void Process::freeze() {
  Life* life = impl_->life();
  if (life == nullptr || life->loop().frozen()) return;
  life->loop().freeze(false);
  impl_->world().ensemble.freeze(life->client().machine());
}
void Process::thaw() {
  Life* life = impl_->life();
  if (life == nullptr || !life->loop().frozen()) return;
  life->loop().thaw();
  impl_->world().ensemble.thaw(life->client().machine());
}

void Process::cutOff() {
  if (Life* life = impl_->life())
    for (int number = 1; number <= 3; ++number)
      impl_->world().ensemble.cut(life->client().machine(), MemoryEnsemble::server(number));
}
void Process::reconnect() {
  if (Life* life = impl_->life())
    for (int number = 1; number <= 3; ++number)
      impl_->world().ensemble.heal(life->client().machine(), MemoryEnsemble::server(number));
}

}  // namespace tenure::test
