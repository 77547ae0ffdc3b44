// At most once, and what comes again where there are no keys.
#include "consumer/delivery.hpp"

namespace tenure::consuming {

using namespace std::chrono_literals;
using Decision = Delivery::Decision;

// --- without keys

void Delivery::remember(std::span<const Letter> committed) {
  for (std::size_t i = unacknowledged_.size(); i < committed.size(); ++i)
    unacknowledged_.emplace_back(committed[i]->id, digestOf(committed[i]->body));
}

void Delivery::acknowledged(std::size_t count) {
  const auto known = static_cast<std::ptrdiff_t>(std::min(count, unacknowledged_.size()));
  unacknowledged_.erase(unacknowledged_.begin(), unacknowledged_.begin() + known);
}

/// The first that is another one says that the rest was acknowledged after all.
bool Delivery::wasCommitted() {
  if (head_.place >= unacknowledged_.size()) return false;
  const auto& [id, digest] = unacknowledged_[head_.place];
  if (message().id == id && digestOf(message().body) == digest) return true;
  unacknowledged_.resize(head_.place);
  return false;
}

// --- at most once

/// A taken message starts in spite of a stop or a pause: it is acknowledged, so no later leader gets it. After a
/// postponement it may have to wait for its rate limit once more.
Decision Delivery::goOnWithTaken(const Head& head, BootTime notBefore, const Now& now) {
  head_ = head;
  head_.message = taken_->message;
  const bool waits = now.boot < notBefore;
  if (taken_->done) {  // all that is left is to write that nothing is in work
    if (now.stopAsked && head_.storeIsAway) return Ends{};
    return waits ? Decision(Waits{notBefore}) : Settled{};
  }
  const bool troubled = !taken_->trouble.empty();
  if (!troubled && !waits && now.mayFinish) return needsTurn() ? askForTurn() : run(now);
  constexpr std::chrono::milliseconds pause{20};
  if (!now.stopAsked && (waits || !troubled)) return Waits{waits ? notBefore : now.boot + pause};
  if (now.stopAsked && head_.storeIsAway) return Ends{};
  return takenFailed(troubled ? taken_->trouble : "its leader left before its turn came", now);
}

Letter Delivery::closeTaken() {
  runIsDurable();
  return std::exchange(taken_, std::nullopt)->message;
}

Decision Delivery::takenFailed(const std::string& why, const Now& now) {
  head_.message = taken_->message;
  taken_->trouble = why;
  return deadLetter(why, taken_->begun ? 1 : 0, false, now);
}

void Delivery::takenRefused(const Error& error) {
  if (!taken_->done && taken_->trouble.empty())
    taken_->trouble = "the store did not take its effect: " + error.message();
}

void Delivery::forgo(const std::string& why) {
  if (!taken_) return;
  if (!taken_->done)
    state_.tell(MessageForgone{taken_->message->id.value, taken_->trouble.empty() ? why : taken_->trouble});
  taken_.reset();
}

}  // namespace tenure::consuming
