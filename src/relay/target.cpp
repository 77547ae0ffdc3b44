#include "relay/target.hpp"

#include <algorithm>

#include "relay/publications.hpp"

namespace tenure::relaying {
namespace {

bool meansAway(const Result<void>& result) noexcept { return answerOf(result) == Answer::away; }

}  // namespace

Result<void> Target::prepare() {
  auto sink = take();
  if (!sink) return sink.error();
  giveBack(*std::move(sink));
  return {};
}

std::vector<Result<void>> Target::append(std::span<const NewMessage> messages, const Term& term) {
  auto sink = take();
  std::vector<Result<void>> results;
  const BootTime began = clock_.now();
  if (sink)
    results = (*sink)->appendEach(messages);
  else  // an exchange that is gone, a changed password: never the fault of these messages
    results.assign(messages.size(), Error{Errc::unavailable, sink.error().message()});
  if (sink && std::ranges::none_of(results, meansAway)) giveBack(*std::move(sink));
  if (sink) tellPublished(results, clock_.now() - began, term);
  tell(results, term);
  return results;
}

void Target::close() {
  const std::lock_guard lock(mutex_);
  idle_.clear();
  awaySince_.reset();
}

Result<Target::Sink> Target::take() {
  {
    const std::lock_guard lock(mutex_);
    if (!idle_.empty()) {
      Sink sink = std::move(idle_.back());
      idle_.pop_back();
      return sink;
    }
  }
  const std::lock_guard lock(opening_);
  return open_();
}

void Target::giveBack(Sink sink) {
  const std::lock_guard lock(mutex_);
  idle_.push_back(std::move(sink));
}

/// Not where the target is away, or of a message whose turn comes later.
void Target::tellPublished(const std::vector<Result<void>>& results, Duration took, const Term& term) {
  MessagesPublished published{.took = std::chrono::duration_cast<std::chrono::microseconds>(took)};
  for (const Result<void>& result : results) {
    const Answer answer = answerOf(result);
    published.messages += answer == Answer::stored ? 1 : 0;
    published.refused += answer == Answer::refused || answer == Answer::hopeless ? 1 : 0;
  }
  if (published.messages + published.refused == 0) return;
  Emitter(events_, clock_, term.identity().election)(std::move(published), term.token());
}

void Target::tell(const std::vector<Result<void>>& results, const Term& term) {
  const auto failed = std::ranges::find_if(results, meansAway);
  const bool isWell = failed == results.end();
  const Emitter emit(events_, clock_, term.identity().election);
  const std::lock_guard lock(mutex_);
  if (isWell && awaySince_)
    emit(OutageEnded{std::chrono::duration_cast<std::chrono::milliseconds>(clock_.now() - *awaySince_)}, term.token());
  if (!isWell && !awaySince_) emit(OutageBegan{"publishing: " + failed->error().message()}, term.token());
  if (isWell)
    awaySince_.reset();
  else if (!awaySince_)
    awaySince_ = clock_.now();
}

}  // namespace tenure::relaying
