// The machine's way with numbered messages. The sequencer knows whose turn it is; what it wants written is part of each
// commit, so a group's position is as durable as its effects, and a message is acknowledged with the commit that keeps
// it. Kept messages whose turn has come are loaded to the window's front: they fail, are retried, suspected and buried
// as any other, and the transaction that settles one erases what was kept of it.
//
// The commit that makes them ready says that more may be in work: what is loaded after it is covered by its record.
#include <algorithm>

#include "base/assert.hpp"
#include "base/text.hpp"
#include "consumer/consumer_machine.hpp"

namespace tenure::consuming {
namespace {

using namespace std::chrono_literals;
using pipeline::Turn;

std::string named(const GroupId& group) { return "group \"" + escaped(group.value) + "\""; }

}  // namespace

Action ConsumerMachine::reopened(const std::vector<std::string>& places, const Moment& moment) {
  endOutage(false, moment);
  if (const Result<void> restored = sequencer_->restore(places); !restored) return quit(restored.error());
  reopened_ = true;
  return proceed(moment);
}

Action ConsumerMachine::consulted(const std::optional<std::string>& place, const Moment& moment) {
  endOutage(false, moment);
  if (const Result<void> loaded = sequencer_->load(head().group, place); !loaded) return quit(loaded.error());
  return proceed(moment);
}

bool ConsumerMachine::hasUnknownTurn() const { return sequencer_ && sequencer_->turnOf(head()) == Turn::unknown; }

/// Nullopt: it is handled like any other.
std::optional<Action> ConsumerMachine::findTurn(const Moment& moment) {
  if (!sequencer_) return std::nullopt;
  switch (sequencer_->turnOf(head())) {
    case Turn::any:
    case Turn::next: return std::nullopt;
    case Turn::unknown: return ask(Step::consult, Consult{});
    case Turn::early: return keep(moment);
    case Turn::waiting: return dropRepeat(moment);
    case Turn::crowded: return tooManyWait(moment);
    case Turn::unreadable: return refuse("its number is not a whole number from 1 to 10^15", moment);
    case Turn::conflicting: return refuse("another message waits under its number", moment);
    case Turn::reused: return bury("its id waits already, with another body", attemptNumber() - 1, false, moment);
    case Turn::behind: break;
  }
  if (!dedups()) return dropRepeat(moment);
  return refuse("its number is past: it comes too late, or another message had it", moment);
}

Action ConsumerMachine::keep(const Moment& moment) {
  const Message& message = head();
  sequencer_->keep(message, moment.wall);
  pending_.push_back(MessageKept{message.id.value, message.group.value, *pipeline::numberOf(message),
                                 sequencer_->expected(message.group)});
  return settle(moment, false);
}

Action ConsumerMachine::dropRepeat(const Moment& moment) {
  pending_.push_back(DuplicateDropped{head().id.value});
  return settle(moment, false);
}

/// What they wait for may stand behind them all: whoever gives numbers up gives these up before their time.
Action ConsumerMachine::tooManyWait(const Moment& moment) {
  if (settled_ > 0) return commit(moment);
  const pipeline::Gap gap = sequencer_->gapOf(head().group, moment.wall);
  const bool areReady = gap.first > gap.last;
  // At the desk those go before what is left of the group. Behind suspects they cannot: one more is kept.
  if (areReady && !parks()) return keep(moment);
  if (areReady) {
    parkUntil_ = moment.now;
    return proceed(moment);
  }
  tellOf(gap);
  if (options_.whenGapIsOld == GapPolicy::skip) return giveUp(gap, moment);
  return quit(Error{Errc::gapTooOld, std::to_string(options_.maxKept) + " messages of " + named(head().group) +
                                         " wait for number " + std::to_string(sequencer_->expected(head().group))});
}

/// Between two transactions: what has come to its turn, and what does not come. Suspects are dealt with before: they
/// are the window's first, and nothing may come to stand before them.
std::optional<Action> ConsumerMachine::tendGroups(const Moment& moment) {
  if (!sequencer_ || settled_ > 0 || suspects_ > 0) return std::nullopt;
  if (role_ == Role::recovery) return tendKeptSuspects();
  if (role_ == Role::lane) return tendVisited(moment);
  if (auto ready = sequencer_->ready(limit_)) return ask(Step::load, Load{*std::move(ready)});
  if (ledger_ == Ledger::unread || moment.now < nextGapCheck_) return std::nullopt;
  tellOfGaps(moment);
  const bool mayStillCome = !dry_ || remaining() > 0;
  if (const auto gap = sequencer_->overdue(moment.wall); gap && !mayStillCome)
    if (auto action = tend(*gap, moment)) return action;
  nextGapCheck_ = moment.now + std::clamp<Duration>(options_.gapLimit / 10, 10ms, 1s);
  return std::nullopt;
}

/// What was ready when a predecessor died may have been in work, on the record of a lane.
std::optional<Action> ConsumerMachine::tendKeptSuspects() {
  if (!expects_) return std::nullopt;
  auto ready = sequencer_->ready(limit_);
  if (!ready) return std::nullopt;
  return ask(Step::load, Load{*std::move(ready)});
}

/// Who watches the gaps has seen that nothing of the group is on its way. He does not see a group that is busy.
std::optional<Action> ConsumerMachine::tendVisited(const Moment& moment) {
  tellOfGaps(moment);
  if (!visit_) return std::nullopt;
  const Visit visit = *std::exchange(visit_, std::nullopt);
  if (visit.allowed > 0) {
    auto ready = sequencer_->ready(std::min(limit_, visit.allowed));
    return ready ? std::optional<Action>(ask(Step::load, Load{*std::move(ready)})) : std::nullopt;
  }
  const auto gap = sequencer_->overdue(moment.wall);
  return gap && gap->group == visit.group ? tend(*gap, moment) : std::nullopt;
}

void ConsumerMachine::tellOfGaps(const Moment& moment) {
  while (const auto gap = sequencer_->untold(moment.wall)) tellOf(*gap);
}

void ConsumerMachine::tellOf(const pipeline::Gap& gap) {
  news_.push_back(GapFound{gap.group.value, gap.first, gap.waiting, gap.age});
  sequencer_->told(gap);
}

std::optional<Action> ConsumerMachine::tend(const pipeline::Gap& gap, const Moment& moment) {
  switch (options_.whenGapIsOld) {
    case GapPolicy::wait: return std::nullopt;
    case GapPolicy::stop:
      return quit(Error{Errc::gapTooOld, named(gap.group) + " waits for number " + std::to_string(gap.first)});
    case GapPolicy::skip: break;
  }
  return giveUp(gap, moment);
}

Action ConsumerMachine::giveUp(const pipeline::Gap& gap, const Moment& moment) {
  sequencer_->skip(gap, moment.wall);
  pending_.push_back(GapSkipped{gap.group.value, gap.first, gap.last});
  return commit(moment);
}

Action ConsumerMachine::loaded(const pipeline::Ready& ready, std::vector<Message> messages, const Moment& moment) {
  endOutage(false, moment);
  TENURE_ASSERT(settled_ == 0 && joined_ == 0);
  sequencer_->took(ready);
  bringTokens(messages);
  const auto place = window_.begin() + static_cast<std::ptrdiff_t>(first_ + held_);
  held_ += messages.size();
  window_.insert(place, std::move_iterator(messages.begin()), std::move_iterator(messages.end()));
  if (role_ == Role::lane && !takesFirst()) granted_ = 0;  // they are on no record
  if (role_ == Role::recovery && ledger_ == Ledger::open) suspects_ = granted_ = remaining();
  return proceed(moment);
}

}  // namespace tenure::consuming
