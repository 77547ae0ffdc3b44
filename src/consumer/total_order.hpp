/// Intake and scheduler of total order, which is one group on one lane: all goes on as it comes. Pure.
///
///     source ─► receive: sift (pipeline/coalescer.hpp) ─► take ─► done ─► a successor comes next, at its place
///                  └ scan, before the first of a term: as far as a predecessor can have gone
///
/// A source delivers again in order, so what was in work is at its front; who may be suspect is said with the first
/// share, and is the lane's to know from then on.
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

  /// What earlier terms left in work, and how far theirs went.
  void recalled(const InWork& left, const RecoveryWindow& theirs);
  /// The source delivers from the first that is not acknowledged. Nullopt: who is suspect is as it was recalled.
  void attached(const std::optional<std::vector<MessageId>>& suspects);

  /// How many to ask the source for; 0: none, for now. `atMost`: as many as the lane wants.
  std::size_t wants(std::size_t atMost) const noexcept;
  /// No messages: the source has none. `ran`: whose run is over already.
  void receive(std::vector<Message> messages, const std::optional<MessageId>& ran);
  /// The next assignment is the first since it was attached: it says who may be suspect, and has to hold so many.
  bool mustScan() const noexcept { return !isScanned_; }
  bool mustReadOn() const noexcept;
  Assignment take();

  /// It begins: for whom it stands from now on. It takes its token.
  std::vector<Message> begin(const Message& message, BootTime now);
  Receipt done(const Acknowledge& done);

  void limit(RateRules rules) { throttle_.apply(std::move(rules)); }
  bool limitsAnything() const noexcept { return throttle_.limitsAnything(); }
  /// Not after `now`: it may begin.
  BootTime mayBegin(const GroupId& group, BootTime now) { return throttle_.mayGo(group, now); }

 private:
  const bool looks_;  // for suspects
  std::optional<supply::Coalescer> coalescer_;
  supply::Throttle throttle_;
  SuspectScan scan_;
  std::size_t horizon_ = 0;
  bool isScanned_ = false;
  std::vector<Message> waiting_;
  bool asked_ = false;  // since the last share
  bool dry_ = false;    // the last time
};

}  // namespace tenure::consuming
