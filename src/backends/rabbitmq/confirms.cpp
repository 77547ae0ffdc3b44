#include "backends/rabbitmq/confirms.hpp"

#include <algorithm>

#include "backends/rabbitmq/publication.hpp"
#include "base/text.hpp"

namespace tenure::rabbitmq {

void Confirms::on(const Confirmed& confirmed, BootTime now) {
  if (confirmed.tag < first_) return;
  deadline_ = now + limit_;
  const std::size_t last = std::min<std::size_t>(confirmed.tag - first_, fates_.size() - 1);
  const std::size_t from = confirmed.multiple ? lowestOpen_ : last;
  for (std::size_t i = from; i <= last && i < fates_.size(); ++i) settle(i, confirmed.stored);
  while (lowestOpen_ < fates_.size() && fates_[lowestOpen_] != Fate::open) ++lowestOpen_;
}

void Confirms::on(const Returned& returned) {
  // Returns come in the order of publishing, so that the next one is behind the last.
  const std::size_t behindLast = returned_.empty() ? 0 : returned_.rbegin()->first + 1;
  for (const std::size_t from : {std::max(behindLast, lowestOpen_), lowestOpen_})
    for (std::size_t i = from; i < messages_.size(); ++i)
      if (isMeant(i, returned)) {
        returned_.emplace(i, returned.reason);
        return;
      }
}

bool Confirms::isMeant(std::size_t index, const Returned& returned) const {
  const Published& message = messages_[index];
  return fates_[index] == Fate::open && message.id == returned.messageId && message.exchange == returned.exchange &&
         message.routingKey == returned.routingKey && !returned_.contains(index);
}

void Confirms::settle(std::size_t index, bool stored) noexcept {
  if (fates_[index] != Fate::open) return;
  fates_[index] = stored ? Fate::stored : Fate::refused;
  --openCount_;
}

Result<void> Confirms::resultOf(std::size_t index, bool sent, const std::string& why) const {
  const Published& message = messages_[index];
  const std::string which = "message \"" + escaped(message.id) + "\": ";
  if (const auto returned = returned_.find(index); returned != returned_.end())
    return Error{Errc::notFound, which + "no queue took it from " + exchangeInWords(std::string(message.exchange)) +
                                     " with routing key \"" + escaped(message.routingKey) + "\": " + returned->second};
  switch (fates_[index]) {
    case Fate::stored: return {};
    case Fate::refused:
      return Error{Errc::storeFull, which + "the broker refused it: a queue is full and rejects what is published"};
    case Fate::open: break;
  }
  if (sent) return Error{Errc::outcomeUnknown, which + "sent and not confirmed: " + why};
  return Error{Errc::unavailable, which + "not sent: " + why};
}

std::vector<Result<void>> Confirms::results(std::size_t sent, const std::string& why) const {
  std::vector<Result<void>> results;
  results.reserve(messages_.size());
  for (std::size_t i = 0; i < messages_.size(); ++i) results.push_back(resultOf(i, i < sent, why));
  return results;
}

Result<void> judgementOf(std::span<const Result<void>> results) {
  const auto count = [&](Errc code) {
    return std::ranges::count_if(results, [&](const auto& each) { return !each && each.error().is(code); });
  };
  const auto firstOf = [&](Errc code) {
    return std::ranges::find_if(results, [&](const auto& each) { return !each && each.error().is(code); })->error();
  };
  const auto stored = std::ranges::count_if(results, [](const auto& each) { return each.has_value(); });
  if (stored == std::ssize(results)) return {};
  const auto unknown = count(Errc::outcomeUnknown);
  if (stored + unknown == 0)
    for (const Errc code : {Errc::unavailable, Errc::notFound, Errc::storeFull})
      if (count(code) > 0) return firstOf(code);
  std::string detail = "of " + std::to_string(results.size()) + " messages the broker stored " +
                       std::to_string(stored) + ", refused " + std::to_string(count(Errc::storeFull)) +
                       " and found no queue for " + std::to_string(count(Errc::notFound)) +
                       "; append them again under the same ids";
  for (const Errc code : {Errc::outcomeUnknown, Errc::unavailable, Errc::notFound, Errc::storeFull})
    if (count(code) > 0) return Error{Errc::outcomeUnknown, detail + "; " + firstOf(code).detail};
  return Error{Errc::outcomeUnknown, detail};
}

}  // namespace tenure::rabbitmq
