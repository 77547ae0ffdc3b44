/// All messages in the order of the source, for one lane. Pure.
///
///     done ── ● ── ● ── ● ── ● ── ●      received
///             ├ in hand ┤
///
/// A source delivers again in order, so messages that were in work are at its front: all that stands before a suspect
/// is one as well. The lane keeps a message that has to wait in its hand. It gives all back where one that was dropped
/// without a run leaves a successor, whose place may be between them. Each message takes its token when it begins.
#pragma once

#include <deque>
#include <optional>
#include <unordered_set>
#include <vector>

#include "consumer/supply/coalescer.hpp"
#include "consumer/supply/order.hpp"
#include "consumer/supply/throttle.hpp"

namespace tenure::supply {

class SingleLine final : public IOrder {
 public:
  explicit SingleLine(std::optional<Coalescer> coalescer) : coalescer_(std::move(coalescer)) {}

  std::size_t toRead(std::size_t wanted) const noexcept override;
  void receive(Arrivals arrivals, const std::optional<MessageId>& ran) override;
  void clear() override;
  bool mayReadOn() const noexcept override { return !coalescer_ || coalescer_->mayReadOn(); }
  bool mustBeReadAgain() const noexcept override { return mustBeReadAgain_; }
  void limit(RateRules rules) override { throttle_.apply(std::move(rules)); }
  bool limitsAnything() const noexcept override { return throttle_.limitsAnything(); }
  std::size_t window() const noexcept override { return line_.size(); }

  void suspect(std::unordered_set<MessageId> ids, std::size_t front, std::size_t window) override;
  bool mustReadOn() const noexcept override;
  bool hasSuspects() const noexcept override { return suspects_ > 0; }
  Handout takeSuspects(std::size_t lane, std::size_t max) override;

  Handout take(std::size_t lane, std::size_t max, BootTime now) override;
  std::vector<Message> begin(std::size_t lane, Place place, const GroupId& group, BootTime now) override;
  Finished finish(std::size_t lane, const Report::Done& done, bool sourceKnows) override;
  bool hasSuccessor() const noexcept override { return hasSuccessor_; }
  void park(std::size_t lane, std::span<const Item> items, BootTime until) override;
  BootTime takeTurn(const GroupId& group, bool, BootTime now) override { return throttle_.mayGo(group, now); }
  bool holds(std::size_t) const noexcept override { return inHand_ > 0; }
  bool isReady(BootTime) const noexcept override { return !mustBeReadAgain_ && line_.size() > inHand_; }

 private:
  void findSuspects();
  void sift(std::vector<Message>& messages, const std::optional<MessageId>& ran);
  Handout handOut(std::size_t count);
  MessagePtr seal(Message message, const Standing& standing = {}) {
    return sealed(std::move(message), standing, ++places_);
  }

  std::optional<Coalescer> coalescer_;
  Throttle throttle_;
  std::deque<MessagePtr> line_;  // what the lane holds, and what waits
  std::size_t inHand_ = 0;
  Place places_ = 0;
  std::size_t read_ = 0;  // of the source's messages, since it was attached
  bool isDry_ = false;    // at the last request the source had none
  bool mustBeReadAgain_ = false;
  bool hasSuccessor_ = false;

  std::unordered_set<MessageId> named_;  // suspects that are to be found,
  std::size_t front_ = 0;                // with the first messages of the source
  std::size_t horizon_ = 0;              // among so many
  bool isScanned_ = false;
  std::size_t found_ = 0;                    // suspects, when they were looked for
  std::size_t suspects_ = 0;                 // of those that wait, the first ones
  std::unordered_set<MessageId> handedOut_;  // suspects, not done
};

}  // namespace tenure::supply
