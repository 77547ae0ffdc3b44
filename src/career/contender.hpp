/// A replica's part in one election: the career, the thread of its phases, and the contending for its terms.
///
///     Election ── elected, lost, paused, asked to hand over ──► CareerRunner ──► ILeaderCareer, on a thread of its own
///              ◄── resign, leave, ready, at rest ────────────────────┘
#pragma once

#include <boost/asio/signal_set.hpp>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "base/asio_loop.hpp"
#include "base/emit.hpp"
#include "career/career_runner.hpp"
#include "career/last_will/last_will.hpp"
#include "coordination/coordination.hpp"
#include "election/machine/election.hpp"
#include "tenure/candidate.hpp"

namespace tenure::career {

// One process of an election: its loop, its session with ZooKeeper, its last will, and its signals. It contends
// through a Contender (contender.hpp).

/// Threads: the loop's, which is the one that calls run().
class Replica {
 public:
  /// `loop`: borrowed; nullptr for one of its own. Throws as Candidate's constructor.
  Replica(const CandidateOptions& options, Emitter emit, boost::asio::io_context* loop);

  /// Calls `begin`, and returns when end() has been called. `leavesAWill`: unless the options say otherwise.
  ExitStatus run(bool leavesAWill, const std::function<void()>& begin);
  /// `careerIsHome` false: a thread is in a phase that does not return, so the process ends here.
  void end(ExitStatus status, bool careerIsHome);

  /// Before run(), where those that come from now on are heard.
  void takeSignals(std::function<void(int)> heard);

  AsioLoop& loop() noexcept { return loop_; }
  ICoordination& coordination() noexcept { return *coordination_; }
  LastWill& lastWill() noexcept { return lastWill_; }
  const Emitter& emit() const noexcept { return emit_; }

 private:
  void awaitSignals();

  const std::unique_ptr<boost::asio::io_context> own_;
  boost::asio::io_context& context_;
  AsioLoop loop_{context_};
  const Emitter emit_;
  const std::optional<std::string> clearWay_;  // on which the digest could be read
  ExitStatus status_ = ExitStatus::done;
  boost::asio::signal_set signals_{context_};
  std::function<void(int)> heard_;
  LastWill lastWill_;
  std::unique_ptr<ICoordination> coordination_;
};

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
