#include "telemetry/status_board.hpp"

#include <algorithm>
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
  slow_.clear();
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

std::optional<WallTime> StatusBoard::slowSince() const noexcept {
  const auto oldest = std::ranges::min_element(slow_, {}, &std::pair<const std::string, WallTime>::second);
  return oldest == slow_.end() ? std::nullopt : std::optional(oldest->second);
}

bool StatusBoard::on(const Event& event) {
  updated_ = event.at;
  if (since_ == WallTime{}) since_ = event.at;
  if (levelOf(event) >= Level::warn) lastTrouble_ = formatEvent(event);

  if (const auto* batch = event.body.as<BatchCommitted>()) {
    messages_ += static_cast<std::int64_t>(batch->messages);
    return false;
  }
  if (event.body.is<MessagesPublished>() || event.body.is<CommandSaid>()) return false;
  if (const auto* slow = event.body.as<HandlerSlow>()) return slow_[slow->message] = event.at - slow->ran, true;
  if (const auto* over = event.body.as<SlowHandlerEnded>()) return slow_.erase(over->message), true;
  if (event.body.is<DuplicateDropped>()) return ++duplicates_, false;
  if (event.body.is<AttemptFailed>()) return ++failedAttempts_, false;
  if (event.body.is<MessageDeadLettered>()) return ++deadLetters_, true;
  if (const auto* blocked = event.body.as<QueueBlocked>()) return blockedBy_.insert(blocked->message), true;
  if (const auto* released = event.body.as<QueueUnblocked>()) return blockedBy_.erase(released->message), true;
  if (event.body.is<CommitFenced>()) return ++fenced_, true;

  if (event.body.is<Paused>()) isPaused_ = true;
  if (event.body.is<Resumed>()) isPaused_ = false;
  if (event.body.is<ConsumerStopped>()) isStopped_ = true;
  if (event.body.is<ConsumerResumed>()) isStopped_ = false;
  if (const auto* began = event.body.as<OutageBegan>()) ++outages_, outage_ = began->error;
  if (event.body.is<OutageEnded>()) outageEnded();
  if (event.body.is<SessionConnected>()) connected_ = true;
  if (event.body.is<SessionSuspended>()) connected_ = false;
  if (event.body.is<SessionExpired>()) connected_ = false;
  if (const auto* lacks = event.body.as<NotReady>()) ready_ = false, notReady_ = lacks->why;
  const bool fit = event.body.is<Ready>() || event.body.is<Prepared>() || event.body.is<Inaugurated>();
  if (fit) ready_ = true, notReady_.clear(), forgetOutages();
  // What ended a term may still be so: until the next look says otherwise.
  if (const auto* failed = event.body.as<PhaseFailed>()) ready_ = false, notReady_ = failed->error;
  if (event.body.is<Enrolled>()) enter("standby", event);
  if (event.body.is<EnrolledAsObserver>()) enter("observing", event);
  if (event.body.is<TermBegan>()) enter("elected", event), ++terms_;
  if (event.body.is<Inaugurated>()) enter("leading", event);
  if (event.body.is<TermEnded>()) enter("resigned", event), forgetTerm();
  if (event.body.is<Left>()) enter("left", event);
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
                             {"slow", nlohmann::ordered_json::array()},
                             {"last_trouble", nullptr},
                             {"updated", formatWallTime(updated_)}};
  if (token_.value != 0) out["token"] = std::to_string(token_.value);
  if (ready_) out["ready"] = *ready_;
  if (!notReady_.empty()) out["not_ready"] = notReady_;
  if (!blockedBy_.empty()) out["blocked_by"] = *blockedBy_.begin();
  for (const auto& [message, since] : slow_)
    out["slow"].push_back({{"message", message}, {"since", formatWallTime(since)}});
  if (!lastTrouble_.empty()) out["last_trouble"] = lastTrouble_;
  return out.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

}  // namespace tenure
