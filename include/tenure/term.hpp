/// Evidence of leadership. A Term is passed to every write; the store checks its token again and has the last word.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tenure/values.hpp"

namespace tenure {

/// A process, on one boot of one machine, in one pid namespace: enough to prove a holder dead or alive.
struct ProcessIdentity {
  std::string host;
  std::int64_t pid = 0;
  std::int64_t startTime = 0;      // field 22 of /proc/<pid>/stat
  std::string bootId;              // /proc/sys/kernel/random/boot_id
  std::uint64_t pidNamespace = 0;  // inode of /proc/<pid>/ns/pid
  friend bool operator==(const ProcessIdentity&, const ProcessIdentity&) = default;
};

/// Why a term ended. `none` while it has not.
enum class EndReason {
  none,
  handoverAsked,   // SIGUSR1, `tenure handover`, Candidate::handOver()
  stopAsked,       // SIGTERM, SIGINT, Candidate::stop()
  aborted,         // second signal or a drain limit reached
  leaseLost,       // no quorum-committed probe within the hard limit
  sessionExpired,  // ZooKeeper ended the session
  znodeDeleted,    // an operator or another candidate deleted our candidacy
  fenced,          // the store refused: a newer term has claimed
  failed,          // a phase threw or a server stayed away
  hung,            // a phase overran its limit
};
std::string_view toString(EndReason reason) noexcept;

/// Earlier terms whose process may have died while it led: all but those that a process is known to have outlived, so
/// that nothing they had in work has killed it. A store may know terms that are listed nowhere: ensembles are restored.
struct LostTerms {
  FencingToken unknownUpTo{std::numeric_limits<std::int64_t>::max()};  // of those up to this one nothing is known
  std::vector<FencingToken> later{};                                   // lost, as far as is known; ascending
  std::vector<FencingToken> outlived{};                                // later ones as well, ascending

  bool contains(FencingToken term) const noexcept;
  bool anyAfter(FencingToken term) const noexcept;
  /// Tells the fate of one, in place of what was known of it. Of more than 32 the oldest is forgotten.
  void tell(FencingToken term, bool isOutlived);
  friend bool operator==(const LostTerms&, const LostTerms&) = default;
};

/// What identifies a term everywhere: (ensemble, generation, token) is unique and ordered within an election.
struct TermIdentity {
  ElectionName election;
  std::string electionPath;  // absolute, for example /tenure/elections/orders
  EnsembleUuid ensemble;
  std::int64_t generation = 1;
  FencingToken token;
  CandidateUuid candidate;
  CandidateId candidateId;
  ProcessIdentity holder;
  /// The leader before, if it left no idle marker and its znode is gone. A store may evict it.
  std::optional<ProcessIdentity> uncleanPredecessor;
  LostTerms lost{};
};

class TermState;

/// One leadership. Threads: any; every call reads the clock or an atomic, none blocks.
class Term {
 public:
  explicit Term(std::shared_ptr<TermState> state) noexcept : state_(std::move(state)) {}

  const TermIdentity& identity() const noexcept;
  FencingToken token() const noexcept { return identity().token; }

  /// True until the hard limit: half the session timeout after the last committed probe was sent, and no longer than
  /// limit and grace after the running phase began or last reported progress. Read it right before anything the
  /// outside world can see. After a pause of the process the first call is false.
  bool valid() const noexcept;
  /// True until the soft limit (a third, and the phase's limit), and not while the election is paused: begin new work
  /// only then.
  bool mayBeginWork() const noexcept;
  /// An operator has paused the election (`tenure pause`): what has begun is finished, nothing new begins, and the term
  /// goes on.
  bool isPaused() const noexcept;
  /// Time left until the hard limit, zero or negative when it has passed.
  Duration remaining() const noexcept;
  /// The hard limit itself, as far as it is known now; BootTime::min() once the lease is over. For a deadline that
  /// somebody else keeps: unlike now + remaining(), no pause of this process in between makes it a later one.
  BootTime validUntil() const noexcept;
  /// As negotiated: servers end a session that much after its last word, at their next tick. For limits below it.
  Duration sessionTimeout() const noexcept;

  /// Asks a long phase to come back early. Requested when the term is ending for whatever reason.
  std::stop_token stopToken() const noexcept;
  EndReason endReason() const noexcept;
  /// When the leader before was asked to hand over or to stop, by this machine's clock; nullopt: its term ended without
  /// a request. Exact on that leader's machine; on another one it errs as much as the two calendar clocks differ.
  std::optional<BootTime> requestedAt() const noexcept;

  /// Asks for another leader, from one that cannot work (its store does not answer): the leadership is offered to those
  /// standbys that are ready, one after the other, and handed over when one accepts, which asks its own store first.
  /// Where none does the term goes on: call it again while the trouble lasts. Acts once a second at most.
  void seekRelief() const noexcept;
  /// Whether there is an election that can be asked so; a term of a test may have none.
  bool hasRelief() const noexcept;

  /// Tells the watchdog that the running phase makes progress: its limit counts from here, unless the term is ending.
  void reportProgress() const noexcept;

 private:
  std::shared_ptr<TermState> state_;
};

}  // namespace tenure
