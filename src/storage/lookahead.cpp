#include "storage/lookahead.hpp"

#include <algorithm>
#include <iterator>

namespace tenure::storage {
namespace {

constexpr std::size_t furthest = 8192;  // more than any consumer reads ahead

/// Where one message comes again, others do.
constexpr std::size_t pessimisticFor = 256;

}  // namespace

void Lookahead::expect(std::vector<MessageId> ids) {
  expected_.insert(expected_.end(), std::move_iterator(ids.begin()), std::move_iterator(ids.end()));
  if (expected_.size() <= furthest) return;
  const auto tooMany = static_cast<std::ptrdiff_t>(expected_.size() - furthest);
  expected_.erase(expected_.begin(), expected_.begin() + tooMany);
  assumed_ = std::max<std::ptrdiff_t>(assumed_ - tooMany, 0);
}

void Lookahead::expectAgain(std::span<const MessageId> ids) {
  if (ids.empty()) return;  // a deque that gets nothing in its midst moves each of its strings onto itself, and away
  expected_.insert(next(), ids.begin(), ids.end());
}

bool Lookahead::expects(const MessageId& id) const { return std::find(next(), expected_.end(), id) != expected_.end(); }

std::vector<MessageId> Lookahead::take(const MessageId& id, std::size_t count) {
  const auto first = std::find(next(), expected_.end(), id);
  if (first == expected_.end()) return {id};
  const auto last = first + std::min(expected_.end() - first, static_cast<std::ptrdiff_t>(count));
  std::vector<MessageId> taken{std::move_iterator(first), std::move_iterator(last)};
  expected_.erase(next(), last);
  return taken;
}

std::vector<MessageId> Lookahead::takeNext(std::size_t count) {
  if (consumer_.value.empty() || next() == expected_.end()) return {};
  return take(*next(), count);
}

bool Lookahead::assume(const MessageId& id) {
  if (!looksAreDear_ || pessimistic_ > 0) return false;
  const auto found = std::find(next(), expected_.end(), id);
  if (found == expected_.end()) return false;
  expected_.erase(next(), found);
  ++assumed_;
  return true;
}

void Lookahead::forgetAssumed() noexcept {
  expected_.erase(expected_.begin(), next());
  assumed_ = 0;
}

void Lookahead::sawPresent() noexcept { pessimistic_ = pessimisticFor; }

void Lookahead::sawAbsent(const ConsumerName& consumer, const MessageId& id) {
  if (pessimistic_ > 0) --pessimistic_;
  if (consumer != consumer_ || absent_.size() >= furthest) absent_.clear();
  consumer_ = consumer;
  absent_.insert(id);
}

bool Lookahead::isAbsent(const ConsumerName& consumer, const MessageId& id) const {
  return consumer == consumer_ && absent_.contains(id);
}

bool Lookahead::useAbsent(const ConsumerName& consumer, const MessageId& id) {
  return consumer == consumer_ && absent_.erase(id) > 0;
}

void Lookahead::distrust() noexcept {
  absent_.clear();
  pessimistic_ = pessimisticFor;
}

void Lookahead::clear() noexcept {
  expected_.clear();
  assumed_ = 0;
  absent_.clear();
}

}  // namespace tenure::storage
