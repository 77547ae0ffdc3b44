/// The messages that will be asked about next, and those that a look has found to have no key. A look is a hint: only
/// absence is remembered, and the commit, which makes the keys, decides. Where a look costs as much as finding out at
/// the commit, what is expected is assumed to be absent, but for a while after something was not. Pure.
#pragma once

#include <cstddef>
#include <deque>
#include <span>
#include <unordered_set>
#include <vector>

#include "tenure/message.hpp"

namespace tenure::storage {

/// How many of them one look asks about at most.
inline constexpr std::size_t furthestAhead = 512;

class Lookahead {
 public:
  explicit Lookahead(bool looksAreDear = false) : looksAreDear_(looksAreDear) {}

  /// The messages come after all that were expected before.
  void expect(std::vector<MessageId> ids);
  /// Messages that were taken come next all the same.
  void expectAgain(std::span<const MessageId> ids);
  bool expects(const MessageId& id) const;
  /// `id` and those expected right after it, at most `count`; neither they nor what lies before is expected any more.
  std::vector<MessageId> take(const MessageId& id, std::size_t count);
  /// The first expected messages, at most `count`, which are not expected any more. None before anything was seen
  /// absent: the consumer is not known yet.
  std::vector<MessageId> takeNext(std::size_t count);
  /// The consumer of the absent messages.
  const ConsumerName& consumer() const noexcept { return consumer_; }

  /// Whether `id` is to be taken for absent without a look. After assume(), neither it nor what lies before is
  /// expected any more, until expectAssumed() takes everything back that was assumed since forgetAssumed().
  bool assumes(const MessageId& id) const { return looksAreDear_ && pessimistic_ == 0 && expects(id); }
  bool assume(const MessageId& id);
  void forgetAssumed() noexcept;
  void expectAssumed() noexcept { assumed_ = 0; }
  void sawPresent() noexcept;
  void sawAbsent(const ConsumerName& consumer, const MessageId& id);
  bool isAbsent(const ConsumerName& consumer, const MessageId& id) const;
  /// The same; from here on it is not known any more.
  bool useAbsent(const ConsumerName& consumer, const MessageId& id);

  /// What was seen may be wrong.
  void distrust() noexcept;
  void clear() noexcept;

 private:
  auto next() const noexcept { return expected_.begin() + assumed_; }
  auto next() noexcept { return expected_.begin() + assumed_; }

  const bool looksAreDear_;
  std::size_t pessimistic_ = 0;  // for so many looks more nothing is assumed
  std::deque<MessageId> expected_;
  std::ptrdiff_t assumed_ = 0;  // so many of the first are not expected as long as they are assumed
  ConsumerName consumer_;
  std::unordered_set<MessageId> absent_;
};

}  // namespace tenure::storage
