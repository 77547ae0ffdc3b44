#include "career/contender.hpp"

#include <unistd.h>

#include <boost/asio/executor_work_guard.hpp>
#include <csignal>

#include "coordination/zookeeper.hpp"

namespace tenure::career {

namespace {

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

Contender::Contender(const CandidateOptions& options, Replica& replica, ILeaderCareer& career)
    : replica_(replica),
      onReload_(options.onReload),
      children_(options.lastWill),
      runner_(CareerMachine(options.limits), replica.loop(), thread_, career, replica.emit(), outlets()),
      election_(settingsOf(options, replica.lastWill()), replica.loop(), replica.coordination(), runner_,
                replica.emit(), Random(freshSeed())) {}

CareerOutlets Contender::outlets() {
  return {.resign = [this](Resignation how, bool failed) { election_.resign(judged(how), failed); },
          .leave = [this](Resignation how) { election_.leave(how == Resignation::unclean ? how : judged(how)); },
          .exit = [this](ExitStatus status, bool careerIsHome) { replica_.end(status, careerIsHome); },
          .tellReadiness = [this](Readiness readiness,
                                  const std::string& whyNot) { election_.tellReadiness(readiness, whyNot); },
          .tellRest = [this](FencingToken term) { election_.tellRest(term); },
          .seekSuccessor = [this](FencingToken term) { election_.seekSuccessor(term); },
          .seekRelief = [this](FencingToken term) { election_.seekRelief(term); }};
}

/// A career that is home speaks for itself. What it started may be out still.
Resignation Contender::judged(Resignation how) const {
  if (how == Resignation::clean || children_.childrenGone < 0) return how;
  return children_.nothingRuns && children_.nothingRuns() ? Resignation::nothingRuns : Resignation::unclean;
}

void Contender::onSignal(int number) {
  switch (number) {
    case SIGTERM:
    case SIGINT: return stop();
    case SIGUSR1: return handOver(std::string("SIGUSR1"));
    case SIGUSR2:
      return replica_.emit()(StatusReported{"career: " + runner_.describe() + "; election: " + election_.describe()});
    case SIGHUP:  // an operator sends it, or a terminal that closes: the term goes on
      if (onReload_) onReload_();
      return;
    default: return;
  }
}

void Contender::stop() noexcept {
  replica_.loop().post([this] {
    isStopping_ = true;
    runner_.stop();
  });
}

void Contender::stopUnlessAsked() noexcept {
  replica_.loop().post([this] {
    if (!std::exchange(isStopping_, true)) runner_.stop();
  });
}

void Contender::handOver(const std::string& by) {
  replica_.loop().post([this, by, term = runner_.leading()] { election_.handOver(term, by); });
}

void Contender::handOver(const CandidateId& to) {
  replica_.loop().post([this, to, term = runner_.leading()] { election_.handOver(term, to, "program"); });
}

namespace {

std::unique_ptr<ICoordination> reach(AsioLoop& loop, const ZooKeeperOptions& options) {
  auto zookeeper = makeZooKeeper(loop, options);
  if (!zookeeper) throw std::system_error(zookeeper.error().code, zookeeper.error().detail);
  return *std::move(zookeeper);
}

}  // namespace

Replica::Replica(const CandidateOptions& options, Emitter emit, boost::asio::io_context* loop)
    : own_(loop == nullptr ? std::make_unique<boost::asio::io_context>(1) : nullptr),
      context_(loop == nullptr ? *own_ : *loop),
      emit_(std::move(emit)),
      clearWay_(digestTravelsInClear(options.zookeeper)),
      lastWill_(loop_, options.lastWill, options.zookeeper, emit_),
      coordination_(reach(loop_, options.zookeeper)) {}

ExitStatus Replica::run(bool leavesAWill, const std::function<void()>& begin) {
  if (clearWay_) emit_(Warned{"the digest travels in clear to " + *clearWay_ + "; put a TLS tunnel in between"});
  const auto untilExit = boost::asio::make_work_guard(context_);
  lastWill_.start(leavesAWill);
  begin();
  context_.run();
  lastWill_.dismiss();
  return status_;
}

/// Going on without a thread that can be neither killed nor joined would be worse than going.
void Replica::end(ExitStatus status, bool careerIsHome) {
  if (!careerIsHome) ::_exit(static_cast<int>(status));
  status_ = status;
  context_.stop();
}

void Replica::takeSignals(std::function<void(int)> heard) {
  const bool isFirst = !std::exchange(heard_, std::move(heard));
  if (isFirst)
    for (const int number : {SIGTERM, SIGINT, SIGUSR1, SIGUSR2, SIGHUP}) signals_.add(number);
  awaitSignals();
}

void Replica::awaitSignals() {
  signals_.async_wait([this](const boost::system::error_code& error, int number) {
    if (error) return;
    heard_(number);
    awaitSignals();
  });
}

}  // namespace tenure::career
