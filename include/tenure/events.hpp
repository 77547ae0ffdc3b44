/// Each thing worth knowing is one small struct, emitted once; the log, the metrics and the tests read the same stream.
/// Here is the stream, and what belongs to no room in particular.
#pragma once

#include <memory>
#include <type_traits>
#include <utility>

#include "tenure/consumer_events.hpp"
#include "tenure/detail/event_level.hpp"
#include "tenure/leader_events.hpp"
#include "tenure/values.hpp"

namespace tenure {

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

// --- the commands of `tenure consume --exec`
struct HandlerSlow {
  TENURE_EVENT("handler_slow", warn)  // a command runs for a minute, and at each doubling of that
  std::string message;                // escaped
  std::chrono::milliseconds ran{};
  void fields(auto&& f) const { f("message", message), f("ran_ms", ran); }
};
struct SlowHandlerEnded {
  TENURE_EVENT("slow_handler_ended", info)
  std::string message;  // escaped
  std::chrono::milliseconds ran{};
  void fields(auto&& f) const { f("message", message), f("ran_ms", ran); }
};
struct CommandSaid {
  TENURE_EVENT("command_said", info)
  std::string message;  // escaped
  std::string stream;   // stdout, stderr
  std::string line;     // as the command wrote it: any bytes
  void fields(auto&& f) const { f("message", message), f("stream", stream), f("line", WholeText{line}); }
};
struct CommandOutputCut {
  TENURE_EVENT("command_output_cut", warn)  // beyond 256 KiB of one message, or 4 KiB of one line
  std::string message;                      // escaped
  std::int64_t bytes = 0;                   // that were left out
  void fields(auto&& f) const { f("message", message), f("bytes", bytes); }
};

// --- the workers of `tenure consume --worker`
struct WorkerReady {
  TENURE_EVENT("worker_ready", info)  // a worker was started, and has greeted
  std::string language;               // escaped
  std::size_t ahead = 1;              // messages that it takes in hand at a time
  void fields(auto&& f) const { f("language", language), f("ahead", ahead); }
};
struct WorkerLost {
  TENURE_EVENT("worker_lost", warn)  // a worker has ended, was killed, or could not be started
  std::string why;
  std::size_t inHand = 0;  // messages that the worker had
  std::chrono::milliseconds startsAgainIn{};
  void fields(auto&& f) const { f("why", why), f("in_hand", inHand), f("starts_again_in_ms", startsAgainIn); }
};

// --- the URLs of `tenure consume --webhook`
struct WebhookGone {
  TENURE_EVENT("webhook_gone", warn)  // the endpoint wants no more messages (410): its message is a dead letter
  std::string message;                // escaped
  std::string endpoint;               // its URL without a query
  void fields(auto&& f) const { f("message", message), f("endpoint", endpoint); }
};

// --- a producer and its spool
struct SpoolBegan {
  TENURE_EVENT("spool_began", warn)  // new messages go to the spool first, until the spool is empty
  std::string why;
  std::size_t waiting = 0;
  void fields(auto&& f) const { f("why", why), f("waiting", waiting); }
};
struct SpoolEmptied {
  TENURE_EVENT("spool_emptied", info)
  std::chrono::milliseconds lasted{};
  void fields(auto&& f) const { f("lasted_ms", lasted); }
};
struct SpoolRefused {
  TENURE_EVENT("spool_refused", error)  // once until it takes again: the disk or the spool is full, or fails
  std::string error;
  std::size_t waiting = 0;  // in memory
  void fields(auto&& f) const { f("error", error), f("waiting", waiting); }
};
struct SpoolDamaged {
  TENURE_EVENT("spool_damaged", error)
  std::string file;
  std::string setAside;   // the name of the damaged file now
  std::size_t saved = 0;  // messages that are in the new file
  std::string error;
  void fields(auto&& f) const { f("file", file), f("set_aside", setAside), f("saved", saved), f("error", error); }
};
struct MessagesGivenUp {
  TENURE_EVENT("messages_given_up", error)  // by a producer that was destroyed or closed
  std::size_t messages = 0;
  void fields(auto&& f) const { f("messages", messages); }
};

// --- anything that an operator should see and that has no counter of its own
struct StatusReported {
  TENURE_EVENT("status_reported", info)  // asked for by SIGUSR2
  std::string status;
  void fields(auto&& f) const { f("status", status); }
};
struct HttpServed {
  TENURE_EVENT("http_served", info)  // health and metrics are answered here
  std::string address;
  void fields(auto&& f) const { f("address", address); }
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

namespace detail {
template <class... Bodies>
struct EventBodies {
  /// Which of them it is, from 0; their count if it is none.
  template <class Body>
  static constexpr std::size_t indexOf() {
    constexpr bool same[] = {std::is_same_v<Body, Bodies>...};
    std::size_t at = 0;
    while (at < sizeof...(Bodies) && !same[at]) ++at;
    return at;
  }
  template <class Result, class Visitor>
  static Result visit(Visitor& visitor, std::size_t index, const void* body) {
    using Call = Result (*)(Visitor&, const void*);
    static constexpr Call calls[] = {
        [](Visitor& each, const void* at) -> Result { return each(*static_cast<const Bodies*>(at)); }...};
    return calls[index](visitor, body);
  }
  static constexpr std::size_t count = sizeof...(Bodies);
};
using AllEvents =
    EventBodies<SessionConnected, NotConnected, SessionSuspended, SessionExpired, Enrolled, EnrolledAsObserver, StoodBy,
                ForeignChildIgnored, BarrierBegan, BarrierEnded, Elected, CandidacyLost, ElectionFailed, HandoverAsked,
                HandoverScheduled, HandoverDeclined, HandoverCancelled, HandoverOffered, HandoverAccepted,
                HandoverRefused, BatonPassed, CandidateSentBack, SettingsDiffer, SteppedAside, LeaseSoftLimitPassed,
                Prepared, NotReady, Ready, TermBegan, Inaugurated, PhaseFailed, PhaseOverran, Paused, CameToRest,
                Resumed, TermEnded, GaveUp, Left, LastWillReady, LastWillOff, LastWillLost, FenceClaimed, FenceRefused,
                CommitFenced, StoreBusy, HolderEvicted, BatchCommitted, FirstCommit, DuplicateDropped, AttemptFailed,
                MessagePostponed, MessagesPublished, MessageForgone, SuspectsFound, MessageSuspected,
                MessageDeadLettered, KeysPruned, KeyAlarmRaised, ScheduledLate, QueueUnread, BeyondHorizon, OutageBegan,
                OutageEnded, CommandStarted, CommandEnded, HandlerSlow, SlowHandlerEnded, CommandSaid, CommandOutputCut,
                WorkerReady, WorkerLost, WebhookGone, StatusReported, HttpServed, Reloaded, Warned, RequestsCoalesced,
                MessageHeldBack, MessageSkipped, QueueBlocked, QueueUnblocked, BatchSplit, MessageKept, GapFound,
                GapSkipped, ConsumerStopped, ConsumerResumed, ClockDistrusted, MessageStuck, LeaderStuck, QueueHeldUp,
                SpoolBegan, SpoolEmptied, SpoolRefused, SpoolDamaged, MessagesGivenUp>;
template <class Body>
concept AnEvent = (AllEvents::indexOf<Body>() < AllEvents::count);
}  // namespace detail

/// Holds one of the structs above. It never changes, and copies share it. A std::variant of ninety structs would cost
/// each file that copies an event some twenty thousand compiled functions.
class EventBody {
 public:
  template <detail::AnEvent Body>
  EventBody(Body body)
      : index_(detail::AllEvents::indexOf<Body>()), body_(std::make_shared<const Body>(std::move(body))) {}

  template <detail::AnEvent Body>
  [[nodiscard]] bool is() const noexcept {
    return as<Body>() != nullptr;
  }
  /// Null if it is another.
  template <detail::AnEvent Body>
  [[nodiscard]] const Body* as() const noexcept {
    return index_ == detail::AllEvents::indexOf<Body>() ? static_cast<const Body*>(body_.get()) : nullptr;
  }
  /// Calls visitor(body) with the struct. The visitor's result has one type for all of them.
  template <class Visitor>
  auto visit(Visitor&& visitor) const {
    using Result = std::invoke_result_t<Visitor&, const SessionConnected&>;
    return detail::AllEvents::visit<Result>(visitor, index_, body_.get());
  }

 private:
  std::size_t index_;
  std::shared_ptr<const void> body_;
};

struct Event {
  WallTime at{};
  ElectionName election;
  FencingToken token;  // 0 outside a term
  EventBody body;
};

/// Reads the stream. Threads: called from the control thread, the career thread and a consumer's lanes, possibly at the
/// same time; must not block for long and must not throw.
class IEventSink {
 public:
  virtual ~IEventSink() = default;
  virtual void on(const Event& event) noexcept = 0;
};

/// A sink that drops everything.
IEventSink& noEvents() noexcept;

/// How the log looks. Both have the same names: `2026-05-04T… info elected election=orders …`, or an object a line,
/// `{"at":"2026-05-04T…","level":"info","event":"elected","election":"orders",…}`.
enum class LogFormat { text, json };

/// A sink that writes each event as one line to standard error.
/// Threads: any.
class ILogSink : public IEventSink {
 public:
  /// Events below it are dropped.
  virtual void setLevel(Level least) noexcept = 0;
};
/// `id`: which replica each line is from, for logs that are gathered in one place; empty for a line without it.
std::unique_ptr<ILogSink> makeLogSink(Level least = Level::info, CandidateId id = {},
                                      LogFormat format = LogFormat::text);

}  // namespace tenure
