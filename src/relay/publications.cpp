#include "relay/publications.hpp"

#include "base/refusal.hpp"

namespace tenure::relaying {
namespace {

/// Of a target that is away. Not the growing wait of failed attempts: its end is to be seen soon.
constexpr std::chrono::milliseconds nextLook{500};
constexpr std::size_t mostStored = 32'768;

}  // namespace

Answer answerOf(const Result<void>& result) noexcept {
  if (result) return Answer::stored;
  const Error& error = result.error();
  if (error.is(Errc::notFound)) return Answer::refused;
  if (error.is(Errc::cancelled)) return Answer::untried;
  return isMessageRefused(error) ? Answer::hopeless : Answer::away;
}

Outcome outcomeOf(const Result<void>& result) {
  if (result) return Outcome::done();
  const std::string why = result.error().message();
  switch (answerOf(result)) {
    case Answer::refused: return Outcome::failed(why);
    case Answer::hopeless: return Outcome::reject(why);
    default: return Outcome::retryLater(why, nextLook);
  }
}

std::vector<std::optional<Result<void>>> Publications::take(std::span<const Message> messages) {
  std::vector<std::optional<Result<void>>> known(messages.size());
  const std::lock_guard lock(mutex_);
  for (std::size_t i = 0; i < messages.size(); ++i) {
    const auto found = results_.find({messages[i].position, messages[i].id.value});
    if (found == results_.end()) continue;
    known[i] = found->second;
    if (!*known[i]) results_.erase(found);
  }
  return known;
}

void Publications::remember(std::span<const Message> messages, std::span<const Result<void>> results) {
  const std::lock_guard lock(mutex_);
  for (std::size_t i = 0; i < messages.size(); ++i) {
    const Answer answer = answerOf(results[i]);
    if (answer == Answer::untried || answer == Answer::away) continue;
    Key key{messages[i].position, messages[i].id.value};
    const bool isNew = results_.insert_or_assign(key, results[i]).second;
    if (isNew && results[i]) stored_.push_back(std::move(key));
  }
  for (; stored_.size() > mostStored; stored_.pop_front()) results_.erase(stored_.front());
}

void Publications::clear() {
  const std::lock_guard lock(mutex_);
  results_.clear();
  stored_.clear();
}

}  // namespace tenure::relaying
