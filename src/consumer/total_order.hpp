/// Intake and scheduler of total order, which is one group on one lane: all goes on as it comes. Pure.
///
///     source ─► receive: sift (supply/coalescer.hpp) ─► take ─► done ─► a successor comes next, at its place
///                  └ scan, before the first of a term: as far as a predecessor can have gone
///
/// A source delivers again in order, so messages that were in work are at its front. The first assignment names the
/// suspects; from then on the lane keeps track of them.
#pragma once

#include <optional>
#include <unordered_set>
#include <vector>

#include "consumer/actions.hpp"
#include "consumer/supply/coalescer.hpp"
#include "consumer/supply/throttle.hpp"
#include "consumer/values.hpp"
#include "tenure/consumer.hpp"
#include "tenure/spi/store.hpp"

namespace tenure::consuming {

class TotalOrder {
 public:
  explicit TotalOrder(const ConsumerOptions& options);

  /// Takes the in-work record that earlier terms left, and their recovery window.
  void recalled(const InWork& left, const RecoveryWindow& theirs);
  /// The source delivers from the first unacknowledged message. Nullopt: the suspects are as recalled.
  void attached(const std::optional<std::vector<MessageId>>& suspects);

  /// How many to ask the source for; 0: none, for now. `atMost`: as many as the lane wants.
  std::size_t wants(std::size_t atMost) const noexcept;
  /// `ran`: the message whose run is over already.
  void receive(supply::Arrivals arrivals, const std::optional<MessageId>& ran);
  /// The source had no message, and the lane has none in hand.
  bool isEmpty() const noexcept { return dry_ && waiting_.messages.empty() && inHand_ == 0; }
  /// The next assignment is the first since attached(): it names the suspects, and has to reach as far as they may be.
  bool mustScan() const noexcept { return !isScanned_; }
  bool mustReadOn() const noexcept;
  Assignment take();

  /// The message begins and takes its token. Returns the others that it stands for from now on.
  std::vector<Message> begin(const Message& message, BootTime now);
  Receipt done(const Acknowledge& done);

  void limit(RateRules rules) { throttle_.apply(std::move(rules)); }
  bool limitsAnything() const noexcept { return throttle_.limitsAnything(); }
  /// When a message of the group may begin; not after `now`: at once.
  BootTime mayBegin(const GroupId& group, BootTime now) { return throttle_.mayGo(group, now); }

 private:
  const bool looks_;  // for suspects
  std::optional<supply::Coalescer> coalescer_;
  supply::Throttle throttle_;
  SuspectScan scan_;
  std::size_t horizon_ = 0;
  bool isScanned_ = false;
  supply::Arrivals waiting_;
  std::size_t read_ = 0;    // of the source's messages, since attached()
  std::size_t inHand_ = 0;  // of the lane
  bool asked_ = false;      // since the last assignment
  bool dry_ = false;        // at the last request the source had none
};

}  // namespace tenure::consuming
