#include "telemetry/status_board.hpp"

#include <nlohmann/json.hpp>

#include "base/text.hpp"
#include "telemetry/event_line.hpp"

namespace tenure {

void StatusBoard::enter(const char* state, const Event& event) {
  state_ = state;
  since_ = event.at;
  token_ = event.token;
}

void StatusBoard::forgetTerm() {
  blockedBy_.clear();
  isPaused_ = isStopped_ = false;
}

void StatusBoard::forgetOutages() {
  outages_ = 0;
  outage_.clear();
}

void StatusBoard::outageEnded() {
  if (outages_ > 0) --outages_;
  if (outages_ == 0) forgetOutages();
}

bool StatusBoard::on(const Event& event) {
  updated_ = event.at;
  if (since_ == WallTime{}) since_ = event.at;
  if (levelOf(event) >= Level::warn) lastTrouble_ = formatEvent(event);

  if (const auto* batch = std::get_if<BatchCommitted>(&event.body)) {
    messages_ += static_cast<std::int64_t>(batch->messages);
    return false;
  }
  if (std::holds_alternative<MessagesPublished>(event.body)) return false;
  if (std::holds_alternative<DuplicateDropped>(event.body)) return ++duplicates_, false;
  if (std::holds_alternative<AttemptFailed>(event.body)) return ++failedAttempts_, false;
  if (std::holds_alternative<MessageDeadLettered>(event.body)) return ++deadLetters_, true;
  if (const auto* blocked = std::get_if<QueueBlocked>(&event.body)) return blockedBy_.insert(blocked->message), true;
  if (const auto* released = std::get_if<QueueUnblocked>(&event.body)) return blockedBy_.erase(released->message), true;
  if (std::holds_alternative<CommitFenced>(event.body)) return ++fenced_, true;

  if (std::holds_alternative<Paused>(event.body)) isPaused_ = true;
  if (std::holds_alternative<Resumed>(event.body)) isPaused_ = false;
  if (std::holds_alternative<ConsumerStopped>(event.body)) isStopped_ = true;
  if (std::holds_alternative<ConsumerResumed>(event.body)) isStopped_ = false;
  if (const auto* began = std::get_if<OutageBegan>(&event.body)) ++outages_, outage_ = began->error;
  if (std::holds_alternative<OutageEnded>(event.body)) outageEnded();
  if (std::holds_alternative<SessionConnected>(event.body)) connected_ = true;
  if (std::holds_alternative<SessionSuspended>(event.body)) connected_ = false;
  if (std::holds_alternative<SessionExpired>(event.body)) connected_ = false;
  if (const auto* lacks = std::get_if<NotReady>(&event.body)) ready_ = false, notReady_ = lacks->why;
  const bool fit = std::holds_alternative<Ready>(event.body) || std::holds_alternative<Prepared>(event.body) ||
                   std::holds_alternative<Inaugurated>(event.body);
  if (fit) ready_ = true, notReady_.clear(), forgetOutages();
  // What ended a term may still be so: until the next look says otherwise.
  if (const auto* failed = std::get_if<PhaseFailed>(&event.body)) ready_ = false, notReady_ = failed->error;
  if (std::holds_alternative<Enrolled>(event.body)) enter("standby", event);
  if (std::holds_alternative<EnrolledAsObserver>(event.body)) enter("observing", event);
  if (std::holds_alternative<TermBegan>(event.body)) enter("elected", event), ++terms_;
  if (std::holds_alternative<Inaugurated>(event.body)) enter("leading", event);
  if (std::holds_alternative<TermEnded>(event.body)) enter("resigned", event), forgetTerm();
  if (std::holds_alternative<Left>(event.body)) enter("left", event);
  return true;
}

std::string StatusBoard::json() const {
  nlohmann::ordered_json out{{"election", election_.value},
                             {"id", id_.value},
                             {"pid", pid_},
                             {"state", state_},
                             {"since", formatWallTime(since_)},
                             {"token", nullptr},
                             {"connected", connected_},
                             {"ready", nullptr},
                             {"not_ready", nullptr},
                             {"paused", isPaused_},
                             {"terms", terms_},
                             {"messages", messages_},
                             {"duplicates", duplicates_},
                             {"failed_attempts", failedAttempts_},
                             {"dead_letters", deadLetters_},
                             {"fenced_commits", fenced_},
                             {"blocked_by", nullptr},
                             {"last_trouble", nullptr},
                             {"updated", formatWallTime(updated_)}};
  if (token_.value != 0) out["token"] = std::to_string(token_.value);
  if (ready_) out["ready"] = *ready_;
  if (!notReady_.empty()) out["not_ready"] = notReady_;
  if (!blockedBy_.empty()) out["blocked_by"] = *blockedBy_.begin();
  if (!lastTrouble_.empty()) out["last_trouble"] = lastTrouble_;
  return out.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

}  // namespace tenure
