/// A replica's part in one election: the career, the thread of its phases, and the contending for its terms.
///
///     Election ── elected, lost, paused, asked to hand over ──► CareerRunner ──► ILeaderCareer, on a thread of its own
///              ◄── resign, leave, ready, at rest ────────────────────┘
#pragma once

#include <string>

#include "career/career_runner.hpp"
#include "career/replica.hpp"
#include "election/machine/election.hpp"

namespace tenure::career {

class Contender {
 public:
  /// Borrows the replica and the career.
  Contender(const CandidateOptions& options, Replica& replica, ILeaderCareer& career);

  /// On the loop.
  void start() { election_.start(); }
  /// From then on a phase that does not return in time ends the process. Before the loop runs.
  void exitWhenHung() noexcept { runner_.exitWhenHung(); }
  void onSignal(int number);

  // Threads: any.
  void stop() noexcept;
  /// For an end together with others: a second request would abort.
  void stopUnlessAsked() noexcept;
  void handOver(const std::string& by);
  void handOver(const CandidateId& to);
  void wake() noexcept { runner_.wake(); }
  std::optional<Term> term() const { return runner_.term(); }

 private:
  CareerOutlets outlets();
  Resignation judged(Resignation how) const;

  Replica& replica_;
  const std::function<void()> onReload_;
  const LastWillOptions children_;  // tells whether processes that the career has started may still run
  bool isStopping_ = false;
  // The thread is joined before what its phases report to is destroyed.
  CareerRunner runner_;
  CareerThread thread_;
  Election election_;
};

}  // namespace tenure::career
