/// One replica in one election: connects, enrols, stands by, runs its career when elected, hands over, and
/// contends again, until it is told to stop.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "tenure/career.hpp"
#include "tenure/events.hpp"
#include "tenure/values.hpp"

namespace boost::asio {
class io_context;
}

namespace tenure {

/// How to reach the ensemble.
struct ZooKeeperOptions {
  /// "host:port,host:port"; no chroot (use `root`).
  std::string hosts{};
  /// Asked for; the servers clamp it to 2..20 ticks and the negotiated value rules. Below 3 s is refused unless
  /// `allowShortSession`.
  std::chrono::milliseconds sessionTimeout{10'000};
  bool allowShortSession = false;
  /// "user:password" for ZooKeeper's digest scheme; when set, what is created belongs to its creator alone.
  Secret digest{};
  /// Refuse to contend where anybody could change the election's znodes, and a store whose znodes anybody could change.
  bool strictAcl = false;
  /// Refuse hosts that are reached without TLS. The client library of this build has none: encryption is a tunnel that
  /// begins on this machine (stunnel), so every host must then be a loopback address.
  bool requireTls = false;
};

/// Limits of the career's phases. An overrun asks the phase to stop; after `grace` the term is no longer valid and ends
/// without it. `inaugurate` and `execute` count from the last reportProgress(); a term that is ending has what it has.
struct CareerLimits {
  std::chrono::milliseconds prepare{60'000};
  std::chrono::milliseconds inaugurate{60'000};
  std::chrono::milliseconds execute{60'000};
  std::chrono::milliseconds handOver{30'000};
  std::chrono::milliseconds grace{5'000};
  /// How long the current message may take to finish when a stop or handover is asked for.
  std::chrono::milliseconds drain{30'000};
  /// How long to wait before the next `execute` after one that returned false.
  std::chrono::milliseconds idleInterval{1'000};
};

/// Failover in milliseconds when this process dies without a word (kill -9, a crash, exit() without stop(), the
/// kernel's out-of-memory killer). A helper process watches this one. The moment it is gone, and not
/// before, the helper closes its ZooKeeper session, so that no replica waits for the session timeout. Once all that ran
/// for the term is proven gone it also marks the term as ended, so that the successor does not wait for `barrierLimit`.
/// A candidate tells in an event whether it has one. Without its helper (not found, killed) it goes on; its sudden
/// death then costs the session timeout, as it does when the whole machine or container dies.
///
/// While the session lasts the helper holds its key, and while it leads the digest. It is a child process: a program
/// may reap it with waitpid(-1).
struct LastWillOptions {
  /// Nullopt: where runUntilSignalled() is called and the helper is found. A caller of run() has to ask for it: a
  /// library starts no process unasked.
  std::optional<bool> use{};
  /// The helper's program. Empty: `tenure-last-will` beside this program, in ../libexec/tenure, or where the library
  /// that this program was linked with was installed to.
  std::string program{};
  /// For a career that starts processes which may outlive this one: a pipe's reading end, borrowed. When this process
  /// is gone, the program that ends the others writes a byte once none is left. A pipe that ends without it, or stays
  /// silent for some seconds, proves nothing, and the marker stays busy: a successor on this machine does not take our
  /// end for theirs, but waits for `barrierLimit`. -1: no such processes.
  int childrenGone = -1;
  /// With childrenGone: whether none of these processes runs now. Asked on the control thread when all phases of a
  /// term that did not end in order have returned; true spares the next leader the barrier. Empty: not known.
  std::function<bool()> nothingRuns{};
};

/// Whether a replica wants to lead.
enum class Preference {
  normal,
  preferred,  // the leader hands over to it once it has stood by for `preferredAfter`
  never,      // an observer: it does not contend, and the status shows it
};
std::string_view toString(Preference preference) noexcept;

struct CandidateOptions {
  ZooKeeperOptions zookeeper{};
  ElectionName election{};
  std::string root = "/tenure";
  /// Shown to people; the host name and pid when empty.
  CandidateId id{};
  /// Of the program. A leader that is asked to leave prefers a successor of the newest version, which is that of the
  /// replica started last: so a rolling deploy moves the leadership seldom.
  std::string version{};
  CareerLimits limits{};
  Preference preference = Preference::normal;
  /// How long this replica, when it is preferred, must have stood by, as its leader has seen it, before it is handed
  /// the leadership. Each failed term of this process doubles it, so that a preference does not flap. Every leader
  /// looks for new ones at a quarter of its own, 100 ms to 10 s.
  std::chrono::milliseconds preferredAfter{60'000};
  /// How long a successor waits after an unclean end of our term before it leads; at most 30 min. Nullopt: half the
  /// session timeout that was negotiated, as a leader that is cut off may work for so long. Say 0 where every effect
  /// goes through a fenced store: the claim is the barrier then.
  /// A lost term is marked as ended when all its phases have returned with no outcome unknown: no successor waits then.
  /// Processes that it started beside them are for LastWillOptions::childrenGone.
  std::optional<std::chrono::milliseconds> barrierLimit{};
  /// What the program reads anew when a signal says so (runUntilSignalled), such as a log level. Threads: the control
  /// thread; must not block.
  std::function<void()> onReload{};
  LastWillOptions lastWill{};
  /// Digests of it are shown by the candidacy. Where this replica and the leader differ both tell it (event
  /// settings_differ), and neither hands over to the other; when the leader is gone this replica is
  /// elected all the same. Up to 32 names of up to 64 bytes. agreementOf() has a consumer's part of it.
  Agreement agreement{};
};

/// How run() ended; the values are the tool's exit codes.
enum class ExitStatus : int {
  done = 0,
  unavailable = 69,
  hung = 70,
  aborted = 75,
  authentication = 77,
  configuration = 78,
};

/// Threads: run() on the thread that shall be the control thread; everything else from any thread.
class Candidate {
 public:
  /// Borrows the career and the event sink; both must outlive it. Refuses options that do not fit together by
  /// throwing std::system_error with Errc::configurationRefused; what() lists every complaint.
  Candidate(CandidateOptions options, ILeaderCareer& career, IEventSink& events);
  /// The same on a loop of the caller's, borrowed, that nothing else runs: what the program puts on it (a server,
  /// timers) runs on the control thread, and must not block. run() runs it, and stops it in the end; after that it must
  /// not be run again, as handlers of this candidate may still be queued on it.
  Candidate(CandidateOptions options, ILeaderCareer& career, IEventSink& events, boost::asio::io_context& loop);
  ~Candidate();

  /// Contends until stop() or a fatal error. Blocks. Call once. No phase runs any more when it returns: one that stays
  /// away after its limit and grace, or after an abort, cannot be killed, and may never let it return.
  /// Handles no signal, and ends no process. A `main` calls runUntilSignalled() instead.
  ExitStatus run();

  /// Drain, hand over, leave, return from run(). A second call aborts: the running phase gets one second more, the
  /// marker stays busy. A third does not wait. Calls within 300 ms of the last that counted are the same request.
  void stop() noexcept;
  /// Hand over to the first in line who is ready and agrees with us (CandidateOptions::agreement), and stand by again
  /// at the back. Alone it leads again. Declined, which the event handover_declined tells, where others stand in line
  /// and none of them can follow. Without a term it does nothing.
  void handOver() noexcept;
  /// Hand over to the candidate called `to`, or with that uuid: the candidates between are sent to the back, then it is
  /// next. An id that is unknown, ambiguous, an observer's or our own is declined, which the event handover_declined
  /// tells. Meant for the present term at the time of the call, and no other.
  void handOver(const CandidateId& to) noexcept;
  /// Ends the idle interval: `execute` is called now.
  void wake() noexcept;
  /// The present term, from its election until it is resigned; it may no longer be valid.
  std::optional<Term> term() const;

 private:
  friend int runUntilSignalled(const std::vector<Candidate*>& candidates);
  friend struct CandidateAccess;
  class Impl;
  std::unique_ptr<Impl> impl_;
};

/// What a `main` wants: run(), with the signals of the process, whose exit code it returns. SIGTERM and SIGINT stop, a
/// second one aborts; SIGUSR1 hands over and stands by again; SIGUSR2 reports the status as an event, SIGHUP calls
/// CandidateOptions::onReload. So until the candidate's destructor.
/// Starts the helper of the last will where it is found (LastWillOptions::use).
/// A phase that stays away although it has to end is not waited for: the process ends, by _exit(status).
/// The career thread blocks these signals; a child process inherits that and has to clear its mask.
int runUntilSignalled(Candidate& candidate);
/// The same for a process that stands in several elections: each candidate runs on a thread of its own, the first on
/// the caller's. A signal is for all of them. When one ends, all hand over and leave; the exit code is that of the
/// first that did not end with 0.
int runUntilSignalled(const std::vector<Candidate*>& candidates);

}  // namespace tenure
