#include "career/contender.hpp"

#include <csignal>

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
          .seekSuccessor = [this](FencingToken term) { election_.seekSuccessor(term); }};
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
  replica_.loop().post([this, by, term = runner_.inOffice()] { election_.handOver(term, by); });
}

void Contender::handOver(const CandidateId& to) {
  replica_.loop().post([this, to, term = runner_.inOffice()] { election_.handOver(term, to, "program"); });
}

}  // namespace tenure::career
