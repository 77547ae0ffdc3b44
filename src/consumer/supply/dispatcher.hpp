/// Gives each lane its assignment of the messages that wait: within a group in order and one lane at a time, across
/// groups whatever is ready. Pure.
///
///     receive ─► intake ─► scheduler ─► take(lane) ─► finish ─► release
///                  ▲                        │              └ a successor: back to the front of its line
///                  └── clear, confirm       └► park: back to its line
///
/// The intake (intake.hpp) knows which messages are not done, which others they stand for and which are suspect; the
/// scheduler (group_scheduler.hpp) knows which are next. The dispatcher joins the two: until all suspects of a
/// predecessor are done, only they are handed out, in source order. A message that is given back as a suspect comes
/// alone as well; the others of its group wait behind it, and other groups go on.
///
/// With a coalescer one message may stand for others, which take no place here. Messages without a group that have a
/// key in common are one line then. A message that stands for others is the last of its lane's assignment: when it is
/// dropped, its successor takes its place here.
#pragma once

#include <cstddef>
#include <deque>
#include <optional>
#include <span>
#include <string>
#include <unordered_set>
#include <vector>

#include "consumer/supply/group_scheduler.hpp"
#include "consumer/supply/intake.hpp"
#include "consumer/supply/order.hpp"

namespace tenure::supply {

class Dispatcher final : public IOrder {
 public:
  using Limits = Intake::Limits;

  Dispatcher(const Limits& limits, std::size_t lanes, std::optional<Coalescer> coalescer = std::nullopt)
      : intake_(limits, std::move(coalescer)), scheduler_(lanes, intake_.coalesces()) {}

  std::size_t toRead(std::size_t) const noexcept override { return room(); }
  std::size_t room() const noexcept override { return intake_.room(scheduler_.waitingBytes()); }
  /// Messages of a group that waits for a time do not count.
  bool wantsMore() const noexcept override { return 2 * scheduler_.moving() < intake_.capacity() && room() > 0; }
  void receive(Arrivals arrivals, const std::optional<MessageId>& ran = {}) override;
  void clear() override;
  bool wantsLook() const noexcept override { return scheduler_.wantsLook(); }
  void beginLook() override { scheduler_.beginLook(); }
  void endLook() override { scheduler_.endLook(); }
  bool mustBeReadAgain() const noexcept override { return intake_.mustBeReadAgain(); }
  void limit(RateRules rules) override { scheduler_.limit(std::move(rules)); }
  bool limitsAnything() const noexcept override { return scheduler_.limitsAnything(); }
  void confirm(std::size_t count) override { intake_.confirm(count); }
  std::size_t window() const noexcept override { return intake_.window(); }

  void suspect(std::unordered_set<MessageId> ids, std::size_t front, std::size_t window) override {
    intake_.suspect(std::move(ids), front, window);
  }
  bool mustReadOn() const noexcept override { return intake_.suspectsAny() && !isDry_ && room() > 0; }
  bool hasSuspects() const noexcept override { return !suspects_.empty(); }
  void trust() override;
  Handout takeSuspects(std::size_t lane, std::size_t max) override;

  /// Up to `max` messages of one group; none when no group is ready.
  Handout take(std::size_t lane, std::size_t max, BootTime now) override;
  Handout sweep(std::size_t lane, std::size_t max, BootTime now) override;
  Handout spread(std::size_t lane, std::size_t max, BootTime now) override;
  std::vector<Message> begin(std::size_t lane, Place place, const GroupId&, BootTime) override {
    return intake_.begin(*scheduler_.held(lane, place));
  }
  Finished finish(std::size_t lane, const Report::Done& done, bool sourceKnows = true) override;
  void release(std::size_t lane) override { scheduler_.release(lane); }
  void park(std::size_t lane, std::span<const Item> items, BootTime until) override {
    scheduler_.park(lane, items, until);
  }
  BootTime takeTurn(const GroupId& group, bool isSuspect, BootTime now) override {
    return isSuspect ? scheduler_.takeSuspectsTurn(group, now) : scheduler_.takeTurn(group, now);
  }
  void giveBack(std::size_t lane, Place place, BootTime now) override {
    scheduler_.giveBack(scheduler_.held(lane, place)->group, 1, now);
  }
  bool holds(std::size_t lane) const noexcept override { return scheduler_.holds(lane); }
  bool isReady(BootTime now) const noexcept override { return !mustBeReadAgain() && scheduler_.isReady(now); }
  bool hasOthers() const noexcept override { return scheduler_.hasOthers(); }
  bool hasPlenty() const noexcept override { return !mustBeReadAgain() && scheduler_.hasPlenty(); }
  std::optional<BootTime> nextDue() const noexcept override { return scheduler_.nextDue(); }

 private:
  struct Suspect {
    GroupScheduler::Line* line;
    Window::Number number;
  };

  void give(std::vector<Entry> entries, Handout& to, bool areSuspects = false) const;

  Intake intake_;
  GroupScheduler scheduler_;
  std::deque<Suspect> suspects_;  // in source order
  bool isDry_ = false;            // at the last request the source had none
};

}  // namespace tenure::supply
