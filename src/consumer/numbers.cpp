#include "consumer/numbers.hpp"

#include <algorithm>

#include "base/text.hpp"

namespace tenure::consuming {
namespace {

using namespace std::chrono_literals;
using supply::Turn;

std::string named(const GroupId& group) { return "group \"" + escaped(group.value) + "\""; }

}  // namespace

Numbers::Numbers(LaneState& at) : state_(at) {
  if (at.options.followNumbers) sequencer_.emplace(at.options.name, at.options.gapLimit, at.options.maxKept);
}

void Numbers::restore(std::vector<NumberedGroup> groups) {
  if (sequencer_) sequencer_->restore(std::move(groups));
}

Turn Numbers::turnOf(const Message& message) const { return sequencer_ ? sequencer_->turnOf(message) : Turn::any; }

void Numbers::keep(const Message& message, const Now& now) {
  sequencer_->keep(message, now.wall);
  state_.pendingWrites.news.push_back(MessageKept{message.id.value, message.group.value, *supply::numberOf(message),
                                                  sequencer_->expected(message.group)});
}

void Numbers::settle(const Message& message, const Now& now) {
  if (sequencer_) sequencer_->settle(message, now.wall);
}

supply::NumberWrites Numbers::writes() const { return sequencer_ ? sequencer_->writes() : supply::NumberWrites{}; }

void Numbers::committed() {
  if (sequencer_) sequencer_->committed();
}

void Numbers::undone() noexcept {
  if (sequencer_) sequencer_->undone();
}

std::optional<supply::Gap> Numbers::gapOf(const GroupId& group, const Now& now) const {
  const supply::Gap gap = sequencer_->gapOf(group, now.wall);
  return gap.first > gap.last ? std::nullopt : std::optional(gap);
}

Error Numbers::tooMany(const GroupId& group) const {
  return {Errc::gapTooOld, std::to_string(state_.options.maxKept) + " messages of " + named(group) +
                               " wait for number " + std::to_string(sequencer_->expected(group))};
}

void Numbers::tellOf(const supply::Gap& gap) {
  state_.tell(GapFound{gap.group.value, gap.first, gap.waiting, gap.age});
  sequencer_->told(gap);
}

void Numbers::skip(const supply::Gap& gap, const Now& now) {
  sequencer_->skip(gap, now.wall);
  state_.pendingWrites.news.push_back(GapSkipped{gap.group.value, gap.first, gap.last});
}

Numbers::Tending Numbers::tend(const Situation& situation, const Now& now) {
  if (!sequencer_) return {};
  if (state_.role == Role::lane) return tendVisited(situation, now);
  if (state_.role == Role::recovery && !situation.expects) return {};
  // A kept message that was ready when a predecessor died may have been in work, on the record of a lane.
  if (auto ready = sequencer_->ready(situation.atMost)) return Load{*std::move(ready)};
  if (state_.role == Role::recovery || !situation.isScanned || now.boot < nextGapCheck_) return {};
  tellOfGaps(now);
  if (const auto gap = sequencer_->overdue(now.wall); gap && !situation.mayStillCome)
    if (Tending tending = tendGap(*gap); tending.index() != 0) return tending;
  nextGapCheck_ = now.boot + std::clamp<Duration>(state_.options.gapLimit / 10, 10ms, 1s);
  return {};
}

/// The engine's check for gaps has seen that no message of the group is on its way. The check skips busy groups.
Numbers::Tending Numbers::tendVisited(const Situation& situation, const Now& now) {
  tellOfGaps(now);
  if (!visit_) return {};
  const Visit visit = *std::exchange(visit_, std::nullopt);
  if (visit.allowed > 0) {
    auto ready = sequencer_->ready(std::min(situation.atMost, visit.allowed));
    return ready ? Tending(Load{*std::move(ready)}) : Tending();
  }
  const auto gap = sequencer_->overdue(now.wall);
  return gap && gap->group == visit.group ? tendGap(*gap) : Tending();
}

void Numbers::tellOfGaps(const Now& now) {
  while (const auto gap = sequencer_->untold(now.wall)) tellOf(*gap);
}

Numbers::Tending Numbers::tendGap(const supply::Gap& gap) const {
  switch (state_.options.whenGapIsOld) {
    case GapPolicy::wait: return {};
    case GapPolicy::stop:
      return Error{Errc::gapTooOld, named(gap.group) + " waits for number " + std::to_string(gap.first)};
    case GapPolicy::skip: break;
  }
  return GiveUp{gap};
}

void Numbers::onTaken(Assignment& assignment) {
  if (!sequencer_) return;
  if (assignment.sequence) sequencer_->adopt(*std::move(assignment.sequence));
  visit_ = std::move(assignment.visit);
}

std::optional<supply::SequenceState> Numbers::giveUp(const GroupId& group) {
  return sequencer_ ? sequencer_->giveUp(group) : std::nullopt;
}

std::vector<supply::SequenceState> Numbers::giveUpAll(const std::function<bool(const GroupId&)>& but) {
  return sequencer_ ? sequencer_->giveUpAll(but) : std::vector<supply::SequenceState>{};
}

}  // namespace tenure::consuming
