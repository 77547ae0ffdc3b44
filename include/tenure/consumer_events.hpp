/// Worth knowing of a leader's messages, and of the stores that take their effects. See events.hpp.
#pragma once

#include "tenure/detail/event_level.hpp"
#include "tenure/term.hpp"
#include "tenure/values.hpp"

namespace tenure {

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
struct FirstCommit {
  TENURE_EVENT("first_commit", info)  // the first batch of a term is committed
  std::size_t messages = 0;
  std::optional<std::chrono::microseconds> sinceRequest{};  // see Elected
  void fields(auto&& f) const { f("messages", messages), f("since_request_us", sinceRequest); }
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
struct QueueHeldUp {
  TENURE_EVENT("queue_held_up", warn)  // in total order, from 10 s on: at most once a minute
  std::string message;                 // fails, and all behind it wait
  std::chrono::milliseconds age{};     // since its first failure in this term
  std::chrono::milliseconds retryIn{};
  std::string reason;
  void fields(auto&& f) const {
    f("message", message), f("for_ms", age), f("retry_in_ms", retryIn), f("reason", reason);
  }
};
struct MessagePostponed {
  TENURE_EVENT("message_postponed", info)
  std::string message;  // its handler asked for later; not a failed attempt
  std::string reason;
  std::chrono::milliseconds retryIn{};
  void fields(auto&& f) const { f("message", message), f("reason", reason), f("retry_in_ms", retryIn); }
};
struct MessageStuck {
  TENURE_EVENT("message_stuck", error)  // postponed without end: once a term and message, at most one a minute
  std::string message;
  int times = 0;
  std::chrono::milliseconds age{};  // since it was postponed first
  std::string reason;
  void fields(auto&& f) const { f("message", message), f("times", times), f("for_ms", age), f("reason", reason); }
};
struct LeaderStuck {
  TENURE_EVENT("leader_stuck", error)  // messages wait, none is in hand, none moves, and nothing holds them up
  std::string message;                 // the first that waits; empty: the queue does not show it
  std::int64_t waiting = 0;
  std::chrono::milliseconds age{};  // since something moved
  bool isBlamed = false;            // another leader stopped at it, too: there is no handover because of it
  void fields(auto&& f) const { f("message", message), f("waiting", waiting), f("for_ms", age), f("blamed", isBlamed); }
};
struct MessagesPublished {
  TENURE_EVENT("messages_published", debug)  // the target of a relay has answered
  std::size_t messages = 0;                  // that the target has confirmed
  std::size_t refused = 0;
  std::chrono::microseconds took{};
  void fields(auto&& f) const { f("messages", messages), f("refused", refused), f("took_us", took); }
};
struct MessageForgone {
  TENURE_EVENT("message_forgone", error)
  std::string message;  // taken for at most once, and neither its effect nor a dead letter is left of it
  std::string reason;
  void fields(auto&& f) const { f("message", message), f("reason", reason); }
};
struct SuspectsFound {
  TENURE_EVENT("suspects_found", warn)
  std::size_t messages = 0;  // may have been in work when an earlier term died
  std::size_t together = 1;  // 1: each runs alone; else so many at a time, to find where the killer is
  void fields(auto&& f) const { f("messages", messages), f("together", together); }
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
struct ConsumerStopped {
  TENURE_EVENT("consumer_stopped", error)  // once a term: it waits for an operator's word
  int deadLetters = 0;                     // in a row
  std::string reason;                      // of the last one
  void fields(auto&& f) const { f("dead_letters", deadLetters), f("reason", reason); }
};
struct ConsumerResumed {
  TENURE_EVENT("consumer_resumed", info)
  void fields(auto&&) const {}
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
struct ClockDistrusted {
  TENURE_EVENT("clock_distrusted", error)  // idempotency keys stay until it is trusted again
  std::string clock;                       // whose: the leader's, the store's
  std::string what;
  void fields(auto&& f) const { f("clock", clock), f("what", what); }
};
struct ScheduledLate {
  TENURE_EVENT("scheduled_late", warn)  // at most once a minute: messages came to their queue after their time
  std::size_t messages = 0;             // that came in one transaction
  std::chrono::milliseconds lateness{};
  void fields(auto&& f) const { f("messages", messages), f("lateness_ms", lateness); }
};
struct QueueUnread {
  TENURE_EVENT("queue_unread", warn)  // once a term: messages wait for a queue that no election has consumed yet
  std::string queue;                  // in the same database as the leader's queue
  std::chrono::milliseconds age{};    // of the oldest message that waits
  void fields(auto&& f) const { f("queue", queue), f("age_ms", age); }
};
struct BeyondHorizon {
  TENURE_EVENT("beyond_horizon", warn)  // once a term: a repeat of a message as old as this is not recognized
  std::string message;
  std::chrono::milliseconds age{};
  void fields(auto&& f) const { f("message", message), f("age_ms", age); }
};
struct RequestsCoalesced {
  TENURE_EVENT("requests_coalesced", info)
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
  std::string message;  // its handler had nothing to do for it, or its number is skipped
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
  std::string how;  // done, dead_lettered
  void fields(auto&& f) const { f("message", message), f("how", how); }
};

}  // namespace tenure
