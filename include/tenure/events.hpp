/// Each thing worth knowing is one small struct, emitted once; the log, the metrics and the tests read the same stream.
///
/// Every event has a name, a level, and `fields(f)`, which calls f(key, value) for each member: what a log line,
/// a JSON object or a metric label is made of. Names are past tense.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <variant>

#include "tenure/ids.hpp"
#include "tenure/term.hpp"
#include "tenure/time.hpp"

namespace tenure {

enum class Level { debug, info, warn, error };

// A macro for what no template can do in C++20: name the members once and get the visitor from it.
#define TENURE_EVENT(eventName, eventLevel)           \
  static constexpr std::string_view name = eventName; \
  static constexpr Level level = Level::eventLevel;

// --- session

struct SessionConnected {
  TENURE_EVENT("session_connected", info)
  std::int64_t session = 0;
  std::chrono::milliseconds timeout{};
  std::string server;
  void fields(auto&& f) const { f("session", session), f("timeout_ms", timeout), f("server", server); }
};
struct NotConnected {
  TENURE_EVENT("not_connected", warn)  // again and again, as long as that is so
  std::string hosts;
  std::chrono::milliseconds lasted{};
  void fields(auto&& f) const { f("hosts", hosts), f("for_ms", lasted); }
};
struct SessionSuspended {
  TENURE_EVENT("session_suspended", warn)
  std::int64_t session = 0;
  void fields(auto&& f) const { f("session", session); }
};
struct SessionExpired {
  TENURE_EVENT("session_expired", warn)
  std::int64_t session = 0;
  void fields(auto&& f) const { f("session", session); }
};

// --- election

struct Enrolled {
  TENURE_EVENT("enrolled", info)
  std::string znode;
  std::int64_t czxid = 0;
  bool foundAgain = false;  // the create's reply had been lost
  void fields(auto&& f) const { f("znode", znode), f("czxid", czxid), f("found_again", foundAgain); }
};
struct EnrolledAsObserver {
  TENURE_EVENT("enrolled_as_observer", info)
  std::string znode;
  void fields(auto&& f) const { f("znode", znode); }
};
struct StoodBy {
  TENURE_EVENT("stood_by", info)
  int ahead = 0;
  std::string predecessor;
  void fields(auto&& f) const { f("ahead", ahead), f("predecessor", predecessor); }
};
struct ForeignChildIgnored {
  TENURE_EVENT("foreign_child_ignored", warn)
  std::string child;  // escaped
  std::string reason;
  void fields(auto&& f) const { f("child", child), f("reason", reason); }
};
struct BarrierBegan {
  TENURE_EVENT("barrier_began", info)
  std::int64_t predecessorToken = 0;
  std::string holder;
  std::chrono::milliseconds limit{};
  void fields(auto&& f) const { f("predecessor_token", predecessorToken), f("holder", holder), f("limit_ms", limit); }
};
struct BarrierEnded {
  TENURE_EVENT("barrier_ended", info)
  std::string how;  // idle, holder_gone, limit
  std::chrono::milliseconds waited{};
  void fields(auto&& f) const { f("how", how), f("waited_ms", waited); }
};
struct Elected {
  TENURE_EVENT("elected", info)
  std::string znode;
  void fields(auto&& f) const { f("znode", znode); }
};
struct CandidacyLost {
  TENURE_EVENT("candidacy_lost", warn)
  std::string reason;
  void fields(auto&& f) const { f("reason", reason); }
};
struct ElectionFailed {
  TENURE_EVENT("election_failed", error)
  std::string error;
  std::chrono::milliseconds retryIn{};
  void fields(auto&& f) const { f("error", error), f("retry_in_ms", retryIn); }
};
struct HandoverAsked {
  TENURE_EVENT("handover_asked", info)
  std::string by;
  std::string to{};  // a candidate's uuid; empty: whoever is next
  void fields(auto&& f) const {
    f("by", by);
    if (!to.empty()) f("to", to);
  }
};
struct HandoverScheduled {
  TENURE_EVENT("handover_scheduled", info)
  std::string by;
  std::string to;
  std::chrono::milliseconds in{};
  void fields(auto&& f) const { f("by", by), f("to", to), f("in_ms", in); }
};
struct HandoverDeclined {
  TENURE_EVENT("handover_declined", warn)
  std::string by;
  std::string to;
  std::string why;
  void fields(auto&& f) const { f("by", by), f("to", to), f("why", why); }
};
struct HandoverCancelled {
  TENURE_EVENT("handover_cancelled", info)
  std::string by;  // whose request it was
  void fields(auto&& f) const { f("by", by); }
};
struct CandidateSentBack {
  TENURE_EVENT("candidate_sent_back", info)  // it stood between the leader and the target of a handover
  std::string znode;
  void fields(auto&& f) const { f("znode", znode); }
};
struct LeaseSoftLimitPassed {
  TENURE_EVENT("lease_soft_limit_passed", warn)
  std::chrono::milliseconds sinceConfirmed{};
  void fields(auto&& f) const { f("since_confirmed_ms", sinceConfirmed); }
};

// --- career

struct Prepared {
  TENURE_EVENT("prepared", info)
  std::chrono::milliseconds took{};
  void fields(auto&& f) const { f("took_ms", took); }
};
struct TermBegan {
  TENURE_EVENT("term_began", info)
  void fields(auto&&) const {}
};
struct Inaugurated {
  TENURE_EVENT("inaugurated", info)
  std::chrono::milliseconds took{};
  void fields(auto&& f) const { f("took_ms", took); }
};
struct PhaseFailed {
  TENURE_EVENT("phase_failed", error)
  std::string phase;
  std::string error;
  void fields(auto&& f) const { f("phase", phase), f("error", error); }
};
struct PhaseOverran {
  TENURE_EVENT("phase_overran", error)
  std::string phase;
  std::chrono::milliseconds limit{};
  void fields(auto&& f) const { f("phase", phase), f("limit_ms", limit); }
};
struct TermEnded {
  TENURE_EVENT("term_ended", info)
  EndReason reason = EndReason::none;
  std::chrono::milliseconds served{};
  bool clean = true;  // the marker was set idle
  void fields(auto&& f) const { f("reason", toString(reason)), f("served_ms", served), f("clean", clean); }
};
struct GaveUp {
  TENURE_EVENT("gave_up", error)  // the replica leaves the race for good
  std::string why;
  void fields(auto&& f) const { f("why", why); }
};
struct Left {
  TENURE_EVENT("left", info)
  void fields(auto&&) const {}
};

// --- last will

struct LastWillReady {
  TENURE_EVENT("last_will_ready", info)  // the helper watches: a sudden death costs milliseconds
  std::int64_t pid = 0;
  void fields(auto&& f) const { f("pid", pid); }
};
struct LastWillLost {
  TENURE_EVENT("last_will_lost", warn)  // no helper from now on: a sudden death costs the session timeout
  std::string why;
  void fields(auto&& f) const { f("why", why); }
};

// --- fence and store

struct FenceClaimed {
  TENURE_EVENT("fence_claimed", info)
  std::string store;
  std::int64_t previousToken = 0;
  std::chrono::milliseconds took{};
  void fields(auto&& f) const { f("store", store), f("previous_token", previousToken), f("took_ms", took); }
};
struct FenceRefused {
  TENURE_EVENT("fence_refused", error)
  std::string error;
  void fields(auto&& f) const { f("error", error); }
};
struct CommitFenced {
  TENURE_EVENT("commit_fenced", warn)
  std::string error;
  std::size_t messages = 0;
  void fields(auto&& f) const { f("error", error), f("messages", messages); }
};
struct StoreBusy {
  TENURE_EVENT("store_busy", warn)
  std::int64_t holderPid = 0;
  std::string detail;
  void fields(auto&& f) const { f("holder_pid", holderPid), f("detail", detail); }
};
struct HolderEvicted {
  TENURE_EVENT("holder_evicted", warn)
  std::int64_t pid = 0;
  std::chrono::milliseconds waited{};
  void fields(auto&& f) const { f("pid", pid), f("waited_ms", waited); }
};

// --- consumer

struct BatchCommitted {
  TENURE_EVENT("batch_committed", debug)
  std::size_t messages = 0;
  std::int64_t lastPosition = 0;
  std::chrono::microseconds took{};
  std::size_t limit = 0;  // how many messages the next one may have
  void fields(auto&& f) const {
    f("messages", messages), f("last_position", lastPosition), f("took_us", took), f("limit", limit);
  }
};
struct BatchSplit {
  TENURE_EVENT("batch_split", warn)
  std::size_t messages = 0;  // what their handler did not get done together is handled one by one; an attempt of none
  std::string reason;
  void fields(auto&& f) const { f("messages", messages), f("reason", reason); }
};
struct DuplicateDropped {
  TENURE_EVENT("duplicate_dropped", info)
  std::string message;
  void fields(auto&& f) const { f("message", message); }
};
struct AttemptFailed {
  TENURE_EVENT("attempt_failed", warn)
  std::string message;
  int attempt = 0;
  std::string error;
  std::chrono::milliseconds retryIn{};
  void fields(auto&& f) const {
    f("message", message), f("attempt", attempt), f("error", error), f("retry_in_ms", retryIn);
  }
};
struct MessagePostponed {
  TENURE_EVENT("message_postponed", info)
  std::string message;  // its handler asked for later; not a failed attempt
  std::string reason;
  std::chrono::milliseconds retryIn{};
  void fields(auto&& f) const { f("message", message), f("reason", reason), f("retry_in_ms", retryIn); }
};
struct MessageForgone {
  TENURE_EVENT("message_forgone", error)
  std::string message;  // taken for at most once, and neither its effect nor a dead letter is left of it
  std::string reason;
  void fields(auto&& f) const { f("message", message), f("reason", reason); }
};
struct SuspectsFound {
  TENURE_EVENT("suspects_found", warn)
  std::size_t messages = 0;  // may have been in work when an earlier term died; each runs alone
  void fields(auto&& f) const { f("messages", messages); }
};
struct MessageSuspected {
  TENURE_EVENT("message_suspected", debug)
  std::string message;  // one of them begins, its attempt counted first
  int attempts = 0;
  void fields(auto&& f) const { f("message", message), f("attempts", attempts); }
};
struct MessageDeadLettered {
  TENURE_EVENT("message_dead_lettered", error)
  std::string message;
  std::string reason;
  int attempts = 0;
  void fields(auto&& f) const { f("message", message), f("reason", reason), f("attempts", attempts); }
};
struct MessageKept {
  TENURE_EVENT("message_kept", debug)
  std::string message;  // came before the numbers before it; waits in the store
  std::string group;
  std::int64_t number = 0;
  std::int64_t expected = 0;
  void fields(auto&& f) const {
    f("message", message), f("group", group), f("number", number), f("expected", expected);
  }
};
struct GapFound {
  TENURE_EVENT("gap_found", warn)  // once a term: the group waits for this number longer than it should
  std::string group;
  std::int64_t number = 0;
  std::size_t waiting = 0;  // messages after it
  std::chrono::milliseconds age{};
  void fields(auto&& f) const { f("group", group), f("number", number), f("waiting", waiting), f("age_ms", age); }
};
struct GapSkipped {
  TENURE_EVENT("gap_skipped", error)  // these numbers are given up, and the messages after them handled
  std::string group;
  std::int64_t first = 0;
  std::int64_t last = 0;
  void fields(auto&& f) const { f("group", group), f("first", first), f("last", last); }
};
struct KeysPruned {
  TENURE_EVENT("keys_pruned", info)  // once for each pass over all of them that removed some
  std::size_t removed = 0;
  std::size_t kept = 0;
  void fields(auto&& f) const { f("removed", removed), f("kept", kept); }
};
struct KeyAlarmRaised {
  TENURE_EVENT("key_alarm_raised", error)  // more idempotency keys than expected; all of them stay
  std::size_t kept = 0;
  std::size_t limit = 0;
  void fields(auto&& f) const { f("kept", kept), f("limit", limit); }
};
struct BeyondHorizon {
  TENURE_EVENT("beyond_horizon", warn)  // once a term: a message as old as this may be a repeat that nobody can tell
  std::string message;
  std::chrono::milliseconds age{};
  void fields(auto&& f) const { f("message", message), f("age_ms", age); }
};
struct RequestsCollapsed {
  TENURE_EVENT("requests_collapsed", info)
  std::string message;  // whose run stands for all of them
  std::size_t messages = 0;
  void fields(auto&& f) const { f("message", message), f("messages", messages); }
};
struct MessageHeldBack {
  TENURE_EVENT("message_held_back", debug)  // by a rate limit
  std::string message;
  std::string group;
  std::chrono::milliseconds held{};
  void fields(auto&& f) const { f("message", message), f("group", group), f("for_ms", held); }
};
struct OutageBegan {
  TENURE_EVENT("outage_began", warn)
  std::string error;
  void fields(auto&& f) const { f("error", error); }
};
struct OutageEnded {
  TENURE_EVENT("outage_ended", info)
  std::chrono::milliseconds lasted{};
  void fields(auto&& f) const { f("lasted_ms", lasted); }
};

struct MessageSkipped {
  TENURE_EVENT("message_skipped", info)
  std::string message;  // its handler had nothing to do for it
  std::string reason;
  void fields(auto&& f) const { f("message", message), f("reason", reason); }
};
struct QueueBlocked {
  TENURE_EVENT("queue_blocked", error)  // once a term and message: those behind it wait
  std::string message;
  std::string group;
  int attempts = 0;
  std::string error;
  void fields(auto&& f) const { f("message", message), f("group", group), f("attempts", attempts), f("error", error); }
};
struct QueueUnblocked {
  TENURE_EVENT("queue_unblocked", info)
  std::string message;
  std::string how;  // done, released
  void fields(auto&& f) const { f("message", message), f("how", how); }
};

// --- the command of `tenure run`

struct CommandStarted {
  TENURE_EVENT("command_started", info)
  std::string command;
  void fields(auto&& f) const { f("command", command); }
};
struct CommandEnded {
  TENURE_EVENT("command_ended", warn)
  std::string how;  // "exit status 3", "killed by SIGSEGV", and why it was killed
  std::chrono::milliseconds ran{};
  std::string next;  // start_again, resign, leave, come_home
  void fields(auto&& f) const { f("how", how), f("ran_ms", ran), f("next", next); }
};

// --- anything that an operator should see and that has no counter of its own

struct StatusReported {
  TENURE_EVENT("status_reported", info)  // asked for by SIGUSR2
  std::string status;
  void fields(auto&& f) const { f("status", status); }
};
struct Reloaded {
  TENURE_EVENT("reloaded", info)  // asked for by SIGHUP
  std::string what;
  void fields(auto&& f) const { f("what", what); }
};
struct Warned {
  TENURE_EVENT("warned", warn)
  std::string what;
  void fields(auto&& f) const { f("what", what); }
};

#undef TENURE_EVENT

using EventBody =
    std::variant<SessionConnected, NotConnected, SessionSuspended, SessionExpired, Enrolled, EnrolledAsObserver,
                 StoodBy, ForeignChildIgnored, BarrierBegan, BarrierEnded, Elected, CandidacyLost, ElectionFailed,
                 HandoverAsked, HandoverScheduled, HandoverDeclined, HandoverCancelled, CandidateSentBack,
                 LeaseSoftLimitPassed, Prepared, TermBegan, Inaugurated, PhaseFailed, PhaseOverran, TermEnded, GaveUp,
                 Left, LastWillReady, LastWillLost, FenceClaimed, FenceRefused, CommitFenced, StoreBusy, HolderEvicted,
                 BatchCommitted, DuplicateDropped, AttemptFailed, MessagePostponed, MessageForgone, SuspectsFound,
                 MessageSuspected, MessageDeadLettered, KeysPruned, KeyAlarmRaised, BeyondHorizon, OutageBegan,
                 OutageEnded, CommandStarted, CommandEnded, StatusReported, Reloaded, Warned, RequestsCollapsed,
                 MessageHeldBack, MessageSkipped, QueueBlocked, QueueUnblocked, BatchSplit, MessageKept, GapFound,
                 GapSkipped>;

struct Event {
  WallTime at{};
  ElectionName election;
  FencingToken token;  // 0 outside a term
  EventBody body;
};

/// Reads the stream. Threads: called from the control thread and from the career thread, possibly at the same time;
/// must not block for long and must not throw.
class IEventSink {
 public:
  virtual ~IEventSink() = default;
  virtual void on(const Event& event) noexcept = 0;
};

/// A sink that drops everything.
IEventSink& noEvents() noexcept;

/// A sink that writes each event as one line, `event key=value …`, to standard error.
/// Threads: any.
class ILogSink : public IEventSink {
 public:
  /// Events below it are dropped.
  virtual void setLevel(Level least) noexcept = 0;
};
std::unique_ptr<ILogSink> makeLogSink(Level least = Level::info);

}  // namespace tenure
