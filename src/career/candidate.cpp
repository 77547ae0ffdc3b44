#include "tenure/candidate.hpp"

#include <atomic>
#include <thread>

#include "career/candidate_access.hpp"
#include "career/candidate_options.hpp"
#include "career/contender.hpp"

namespace tenure {
namespace {

CandidateOptions checked(CandidateOptions options) {
  validate(options).throwIfAny();
  if (options.id.value.empty()) options.id = defaultCandidateId();
  return options;
}

}  // namespace

/// Everything but the career itself lives on the thread that calls run().
class Candidate::Impl {
 public:
  Impl(const CandidateOptions& options, ILeaderCareer& career, IEventSink& events, boost::asio::io_context* loop)
      : paths(options.root, options.election),
        replica(options, Emitter(events, systemClock(), options.election), loop),
        contender(options, replica, career) {}

  ExitStatus run(bool leavesAWill = false) {
    return replica.run(leavesAWill, [this] { contender.start(); });
  }
  void takeSignals() {
    contender.exitWhenHung();
    replica.takeSignals([this](int number) { contender.onSignal(number); });
  }

  const ElectionPaths paths;
  career::Replica replica;
  career::Contender contender;
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
      for (const Candidate* other : candidates) other->impl_->contender.stopUnlessAsked();
    };
    for (std::size_t i = 1; i < candidates.size(); ++i) others.emplace_back(run, candidates[i]);
    if (!candidates.empty()) run(candidates.front());
  }
  return exit;
}
void Candidate::stop() noexcept { impl_->contender.stop(); }
void Candidate::handOver() noexcept { impl_->contender.handOver(std::string("program")); }
void Candidate::handOver(const CandidateId& to) noexcept { impl_->contender.handOver(to); }
void Candidate::wake() noexcept { impl_->contender.wake(); }
std::optional<Term> Candidate::term() const { return impl_->contender.term(); }

void CandidateAccess::view(const Candidate& candidate, Callback<ElectionView> done) {
  readElection(candidate.impl_->replica.coordination(), candidate.impl_->paths, std::move(done));
}
void CandidateAccess::readStuck(const Candidate& candidate, Callback<StuckRecords> done) {
  tenure::readStuck(candidate.impl_->replica.coordination(), candidate.impl_->paths, std::move(done));
}
void CandidateAccess::writeStuck(const Candidate& candidate, const StuckRecords& records, Callback<NodeStat> done) {
  tenure::writeStuck(candidate.impl_->replica.coordination(), candidate.impl_->paths, records, std::move(done));
}

}  // namespace tenure
