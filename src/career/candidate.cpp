#include "tenure/candidate.hpp"

#include <unistd.h>

#include <atomic>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/signal_set.hpp>
#include <csignal>
#include <thread>

#include "base/asio_loop.hpp"
#include "career/candidate_access.hpp"
#include "career/candidate_options.hpp"
#include "career/career_runner.hpp"
#include "career/last_will.hpp"
#include "coordination/zookeeper.hpp"
#include "election/election.hpp"

namespace tenure {
namespace {

CandidateOptions checked(CandidateOptions options) {
  validate(options).throwIfAny();
  if (options.id.value.empty()) options.id = defaultCandidateId();
  return options;
}

std::unique_ptr<ICoordination> reach(AsioLoop& loop, const ZooKeeperOptions& options) {
  auto zookeeper = makeZooKeeper(loop, options);
  if (!zookeeper) throw std::system_error(zookeeper.error().code, zookeeper.error().detail);
  return *std::move(zookeeper);
}

ElectionSettings settingsOf(const CandidateOptions& options, LastWill& lastWill) {
  return {.election = options.election,
          .root = options.root,
          .id = options.id,
          .uuid = CandidateUuid{freshUuid()},
          .preference = options.preference,
          .preferredAfter = options.preferredAfter,
          .agreement = options.agreement,
          .readiness = Readiness::checking,
          .barrierLimit = options.barrierLimit,
          .spawns = options.lastWill.childrenGone >= 0,
          .strictAcl = options.zookeeper.strictAcl,
          .allowShortSession = options.zookeeper.allowShortSession,
          .hosts = options.zookeeper.hosts,
          .version = options.version,
          .bequeath = [&lastWill](const std::optional<Will>& will) { lastWill.bequeath(will); }};
}

}  // namespace

/// Wires the rooms together; everything but the career itself lives on the thread that calls run().
class Candidate::Impl {
 public:
  Impl(const CandidateOptions& options, ILeaderCareer& career, IEventSink& events, boost::asio::io_context* loop)
      : own_(loop == nullptr ? std::make_unique<boost::asio::io_context>(1) : nullptr),
        context_(loop == nullptr ? *own_ : *loop),
        emit_(events, systemClock(), options.election),
        clearWay_(digestTravelsInClear(options.zookeeper)),
        paths_(options.root, options.election),
        onReload_(options.onReload),
        children_(options.lastWill),
        lastWill_(loop_, options.lastWill, options.zookeeper, emit_),
        coordination_(reach(loop_, options.zookeeper)),
        runner_(career::CareerMachine(options.limits), loop_, thread_, career, emit_, outlets()),
        election_(settingsOf(options, lastWill_), loop_, *coordination_, runner_, emit_, Random(freshSeed())) {}

  ExitStatus run(bool leavesAWill = false) {
    if (clearWay_) emit_(Warned{"the digest travels in clear to " + *clearWay_ + "; put a TLS tunnel in between"});
    const auto untilExit = boost::asio::make_work_guard(context_);
    lastWill_.start(leavesAWill);
    election_.start();
    context_.run();
    lastWill_.dismiss();
    return status_;
  }

  /// Before run(). Signals that come from now on are heard when it runs.
  void takeSignals() {
    runner_.exitWhenHung();
    awaitSignals();
  }

  career::CareerRunner& runner() noexcept { return runner_; }
  void view(Callback<ElectionView> done) { readElection(*coordination_, paths_, std::move(done)); }
  void readStuck(Callback<StuckRecords> done) { tenure::readStuck(*coordination_, paths_, std::move(done)); }
  void writeStuck(const StuckRecords& records, Callback<NodeStat> done) {
    tenure::writeStuck(*coordination_, paths_, records, std::move(done));
  }

  void stop() noexcept {
    loop_.post([this] {
      isStopping_ = true;
      runner_.stop();
    });
  }
  /// For an end together with others: a second request would abort.
  void stopUnlessAsked() noexcept {
    loop_.post([this] {
      if (!std::exchange(isStopping_, true)) runner_.stop();
    });
  }

  void handOver(const std::string& by) {
    loop_.post([this, by, term = runner_.inOffice()] { election_.handOver(term, by); });
  }
  void handOver(const CandidateId& to) {
    loop_.post([this, to, term = runner_.inOffice()] { election_.handOver(term, to, "program"); });
  }

 private:
  career::CareerOutlets outlets() {
    return {.resign = [this](Resignation how, bool failed) { election_.resign(judged(how), failed); },
            .leave = [this](Resignation how) { election_.leave(how == Resignation::unclean ? how : judged(how)); },
            .exit = [this](ExitStatus status, bool careerIsHome) { exit(status, careerIsHome); },
            .tellReadiness = [this](Readiness readiness,
                                    const std::string& whyNot) { election_.tellReadiness(readiness, whyNot); },
            .tellRest = [this](FencingToken term) { election_.tellRest(term); }};
  }

  /// A career that is home speaks for itself. What it started may be out still.
  Resignation judged(Resignation how) const {
    if (how == Resignation::clean || children_.childrenGone < 0) return how;
    return children_.nothingRuns && children_.nothingRuns() ? Resignation::nothingRuns : Resignation::unclean;
  }

  void exit(ExitStatus status, bool careerIsHome) {
    // A thread that does not return cannot be killed or joined; going on without it would be worse than going.
    if (!careerIsHome) ::_exit(static_cast<int>(status));
    status_ = status;
    context_.stop();
  }

  void awaitSignals() {
    if (!signalsAdded_)
      for (const int number : {SIGTERM, SIGINT, SIGUSR1, SIGUSR2, SIGHUP}) signals_.add(number);
    signalsAdded_ = true;
    signals_.async_wait([this](const boost::system::error_code& error, int number) {
      if (error) return;
      onSignal(number);
      awaitSignals();
    });
  }

  void onSignal(int number) {
    switch (number) {
      case SIGTERM:
      case SIGINT: return stop();
      case SIGUSR1: return handOver(std::string("SIGUSR1"));
      case SIGUSR2:
        return emit_(StatusReported{"career: " + runner_.describe() + "; election: " + election_.describe()});
      case SIGHUP:  // of an operator, or of a terminal that closes: no end of a term
        if (onReload_) onReload_();
        return;
      default: return;
    }
  }

  const std::unique_ptr<boost::asio::io_context> own_;
  boost::asio::io_context& context_;
  AsioLoop loop_{context_};
  Emitter emit_;
  std::optional<std::string> clearWay_;  // on which the digest could be read
  const ElectionPaths paths_;
  std::function<void()> onReload_;
  LastWillOptions children_;  // what it says of them
  bool signalsAdded_ = false;
  bool isStopping_ = false;
  ExitStatus status_ = ExitStatus::done;
  boost::asio::signal_set signals_{context_};
  LastWill lastWill_;
  std::unique_ptr<ICoordination> coordination_;
  // The thread is joined before what its phases report to is destroyed.
  career::CareerRunner runner_;
  career::CareerThread thread_;
  Election election_;
};

Candidate::Candidate(CandidateOptions options, ILeaderCareer& career, IEventSink& events)
    : impl_(std::make_unique<Impl>(checked(std::move(options)), career, events, nullptr)) {}
Candidate::Candidate(CandidateOptions options, ILeaderCareer& career, IEventSink& events, boost::asio::io_context& loop)
    : impl_(std::make_unique<Impl>(checked(std::move(options)), career, events, &loop)) {}
Candidate::~Candidate() = default;

ExitStatus Candidate::run() { return impl_->run(); }
int runUntilSignalled(Candidate& candidate) { return runUntilSignalled({&candidate}); }
int runUntilSignalled(const std::vector<Candidate*>& candidates) {
  for (const Candidate* candidate : candidates) candidate->impl_->takeSignals();
  std::atomic<int> exit{0};
  {
    std::vector<std::jthread> others;
    const auto run = [&](Candidate* candidate) {
      int none = 0;
      exit.compare_exchange_strong(none, static_cast<int>(candidate->impl_->run(true)));
      for (const Candidate* other : candidates) other->impl_->stopUnlessAsked();
    };
    for (std::size_t i = 1; i < candidates.size(); ++i) others.emplace_back(run, candidates[i]);
    if (!candidates.empty()) run(candidates.front());
  }
  return exit;
}
void Candidate::stop() noexcept { impl_->stop(); }
void Candidate::handOver() noexcept { impl_->handOver(std::string("program")); }
void Candidate::handOver(const CandidateId& to) noexcept { impl_->handOver(to); }
void Candidate::wake() noexcept { impl_->runner().wake(); }
void CandidateAccess::view(const Candidate& candidate, Callback<ElectionView> done) {
  candidate.impl_->view(std::move(done));
}
void CandidateAccess::readStuck(const Candidate& candidate, Callback<StuckRecords> done) {
  candidate.impl_->readStuck(std::move(done));
}
void CandidateAccess::writeStuck(const Candidate& candidate, const StuckRecords& records, Callback<NodeStat> done) {
  candidate.impl_->writeStuck(records, std::move(done));
}
std::optional<Term> Candidate::term() const { return impl_->runner().term(); }

}  // namespace tenure
