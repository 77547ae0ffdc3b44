/// One row of the table: replicas of one system in one election, hit by the same fault again and again.
///
///   one leads ── befall(leader) ── until a successor works ── recover(victim) ── one leads …
///
/// What is hit, and what may follow, are real processes: as many as rounds and one. The others, the crowd, stand
/// behind them in one process, each with its own session.
#pragma once

#include <deque>
#include <map>
#include <optional>
#include <thread>
#include <vector>

#include "bench/failover/member.hpp"

namespace tenure::test {

enum class Fault {
  graceful,    // asked to hand over
  frozenNext,  // the same, while the next in line stands still
  kill,        // kill -9
  segv,        // and these by its own hand: a bad address,
  abort,       // std::abort(),
  exit,        // std::exit() without a stop,
  oom,         // more memory than there is in its control group
  freeze,      // SIGSTOP between two operations, and SIGCONT once it has a successor
  cut,         // no bytes between it and its server, in either direction, until it has a successor
  hang,        // its handler never comes home
};

/// By the names of the scenarios.
extern const std::map<std::string, Fault> faults;
std::string nameOf(Fault fault);
/// It dies by its own hand, in the middle of an operation.
bool isByItsOwnHand(Fault fault) noexcept;

struct Course {
  Fault fault = Fault::graceful;
  std::size_t candidates = 2;
  int rounds = 5;
  std::chrono::milliseconds session{2'000};
  /// For a successor.
  std::chrono::milliseconds patience{60'000};
  int load = 0;  // messages that a producer appends to the ledger in a second
};

struct Takeovers {
  /// Sorted, until the successor's first operation: after a handover from the old leader's last one, else from the
  /// fault, or the last sign of life. Fewer than rounds when one had no successor.
  std::vector<double> milliseconds;
  /// The most others in any round whom the leader's end woke, and any of the crowd that was woken by anything.
  std::size_t watches = 0;
  bool crowdElected = false;
  /// Operations under a superseded token: those that reached the store, and those that it took.
  std::size_t staleTried = 0;
  std::size_t staleAccepted = 0;
  /// By the name of an event in Tenure's log: the median of the milliseconds from the request to hand over until it.
  std::map<std::string, double> steps;
  double busy = 0;  // the share of all processors' time that was used meanwhile
};

class Race {
 public:
  Race(const System& system, const Course& course, const Ensemble& ensemble);
  /// Ends what still runs.
  ~Race();
  Takeovers run();

 private:
  void gather();
  void gatherCrowd(std::size_t count);
  Member& start() { return members_.emplace_back(common_, members_.size() + 1); }
  /// The one with the newest token.
  Member& leader();
  void keepTheQueueFilled();
  std::optional<double> round();
  /// The member behind the leader in the order in which members have enrolled.
  Member& next();
  void ended(Member& leader, bool nextWasFrozen);
  std::size_t othersWatching(const Member& leader) const;
  std::size_t crowdWoken() const;
  /// Answers when, in nanoseconds of the steady clock.
  std::int64_t befall(Member& victim);
  std::optional<Commit> firstCommitAfter(std::int64_t token) const;
  void recover(Member& victim, std::size_t stoodBefore);
  void finish();
  void countStale();
  void timeSteps();

  TemporaryFolder folder_;
  Common common_;
  Course course_;
  const Ensemble& ensemble_;
  std::deque<Member> members_;
  std::deque<Member*> line_;  // the leader first
  std::optional<Program> crowd_;
  std::size_t produced_ = 0;
  std::jthread load_;
  Takeovers measured_;
};

}  // namespace tenure::test
