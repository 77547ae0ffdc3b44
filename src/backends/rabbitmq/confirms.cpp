#include "backends/rabbitmq/confirms.hpp"

#include <algorithm>

namespace tenure::rabbitmq {

void Confirms::on(const Confirmed& confirmed, BootTime now) {
  if (confirmed.tag < first_) return;
  deadline_ = now + limit_;
  const std::size_t last = std::min<std::size_t>(confirmed.tag - first_, open_.size() - 1);
  const std::size_t from = confirmed.multiple ? lowestOpen_ : last;
  for (std::size_t i = from; i <= last && i < open_.size(); ++i) settle(i, confirmed.stored);
  while (lowestOpen_ < open_.size() && !open_[lowestOpen_]) ++lowestOpen_;
}

void Confirms::on(const Returned& returned) {
  ++returned_;
  reason_ = returned.reason;
}

void Confirms::settle(std::size_t index, bool stored) noexcept {
  if (!open_[index]) return;
  open_[index] = false;
  --openCount_;
  if (!stored) ++refused_;
}

Result<void> Confirms::judgement() const {
  const std::size_t count = open_.size();
  if (refused_ + returned_ == 0) return {};
  if (refused_ + returned_ < count)
    return Error{Errc::outcomeUnknown, "the broker stored some of " + std::to_string(count) + " messages, refused " +
                                           std::to_string(refused_) + " and found no queue for " +
                                           std::to_string(returned_) + "; append them again under the same ids"};
  if (returned_ > 0) return Error{Errc::notFound, "the broker found no queue to put it into: " + reason_};
  return Error{Errc::storeFull, "the broker refused it: the queue is full and rejects what is published"};
}

}  // namespace tenure::rabbitmq
