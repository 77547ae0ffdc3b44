// The machine as one lane of several. What it holds is what its desk gave it; what has to wait goes back there.
#include <algorithm>

#include "base/assert.hpp"
#include "consumer/consumer_machine.hpp"

namespace tenure::consuming {

Action ConsumerMachine::assigned(Assignment assignment, const Moment& moment) {
  know(std::move(assignment.pasts));
  for (MessageHeldBack& other : assignment.heldBack) news_.push_back(std::move(other));
  if (assignment.standing) sequencer_->adopt(*std::move(assignment.standing));
  visit_ = std::move(assignment.visit);
  areCounted_ = assignment.areCounted;
  bringTokens(assignment.messages);
  if (granted_ >= remaining()) granted_ = std::max(granted_, remaining() + assignment.covered);
  // Whatever comes before the lanes is suspect; its record leaves open how many are to come.
  if (role_ == Role::recovery && ledger_ == Ledger::open)
    suspects_ = granted_ = remaining() + assignment.messages.size();
  return fetched(std::move(assignment.messages), moment);
}

void ConsumerMachine::know(std::vector<Past> pasts) {
  for (Past& past : pasts) {
    if (past.postponements.times > 0) postponements_.insert_or_assign(past.id, past.postponements);
    if (past.blockade) blockade_.put(past.id, *past.blockade);
    if (past.attempt) attempts_.insert_or_assign(past.id, std::move(*past.attempt));
  }
}

/// What is kept and loaded is its group's, whatever the desk knows of it.
bool ConsumerMachine::mayRelease() const noexcept {
  if (taken_) return false;  // its group waits until its handler is done
  return !sequencer_ || role_ == Role::recovery || (settled_ == 0 && held_ == 0 && !visit_);
}

std::vector<pipeline::Standing> ConsumerMachine::takeStandings() {
  if (!sequencer_ || role_ != Role::lane) return {};
  return sequencer_->giveUpAll(
      [this](const GroupId& group) { return std::ranges::find(window(), group, &Message::group) != window().end(); });
}

/// And the lanes may begin: that they do is on record.
bool ConsumerMachine::isIdle() const {
  const bool hasAny = remaining() > 0 || taken_ || parkUntil_ || (sequencer_ && expects_ && sequencer_->ready(1));
  return !hasAny && attached_ && outcomeKnown_ && ledger_ != Ledger::unread && declared_ == own_;
}

std::vector<pipeline::Standing> ConsumerMachine::takeAllStandings() {
  if (!sequencer_) return {};
  return sequencer_->giveUpAll([](const GroupId&) { return false; });
}

/// A successor would not find it among its suspects.
bool ConsumerMachine::mustBeRecorded() const noexcept { return role_ == Role::lane && !taken_ && settled_ >= granted_; }

/// The desk has counted what a lane gets of it; a suspect is counted when it begins.
void ConsumerMachine::bringTokens(std::span<const Message> messages) {
  if (!areCounted_ || role_ != Role::lane) return;
  for (const Message& message : messages) unusedTokens_.insert(message.id);
}

bool ConsumerMachine::needsTurn() const {
  if (!parks() || !areCounted_ || turn_ == head().id || ran_ == head().id) return false;
  return !unusedTokens_.contains(head().id);
}

/// Of what is settled: duplicates, and what comes before its turn.
std::vector<GroupId> ConsumerMachine::unbegun() const {
  std::vector<GroupId> groups;
  if (unusedTokens_.empty() || taking_) return groups;
  for (const Message& message : window().first(settled_))
    if (unusedTokens_.contains(message.id)) groups.push_back(message.group);
  return groups;
}

Action ConsumerMachine::turned(BootTime turn, const Moment& moment) {
  if (turn <= moment.now) {
    turn_ = head().id;
    return proceed(moment);
  }
  tellHeldBack(turn, moment);
  if (settled_ > 0) return commit(moment);
  if (role_ == Role::recovery && !taken_) return waitFor(turn, moment);  // nobody overtakes a suspect
  holdBack(turn);
  return proceed(moment);
}

/// With lanes it waits at the desk, and its group with it. What is taken already stays, and its lane waits.
void ConsumerMachine::holdBack(BootTime until) {
  if (parks() && !taken_)
    parkUntil_ = until;
  else
    notBefore_ = until;
}

Parked ConsumerMachine::takeParked() {
  TENURE_ASSERT(settled_ == 0);
  const GroupId group = head().group;
  Parked parked{.messages = {}, .group = group};
  const auto leaves = [&](const Message& message, bool isHead) {
    return group.value.empty() ? isHead : message.group == group;
  };
  std::vector<Message> stays;
  std::size_t stillGranted = 0;
  std::size_t stillSuspect = 0;
  std::size_t stillApart = 0;
  std::size_t stillHeld = 0;
  for (std::size_t i = 0; i < remaining(); ++i) {
    Message& message = window_[first_ + i];
    if (leaves(message, i == 0)) {
      parked.unbegun += unusedTokens_.erase(message.id);
      parked.pasts.push_back(pastOf(message.id));
      if (i >= held_) parked.messages.push_back(std::move(message));
      continue;
    }
    if (i < held_) ++stillHeld;
    if (i < granted_) ++stillGranted;
    if (i < suspects_) ++stillSuspect;
    if (i < apart_) ++stillApart;
    stays.push_back(std::move(message));
  }
  granted_ = granted_ > remaining() ? granted_ : stillGranted;
  suspects_ = stillSuspect;
  apart_ = stillApart;
  held_ = stillHeld;
  if (sequencer_) parked.standing = sequencer_->giveUp(group);
  window_ = std::move(stays);
  first_ = 0;
  parkUntil_.reset();
  charged_.reset();
  return parked;
}

/// Which whoever gets it next has to know: here it is forgotten.
Past ConsumerMachine::pastOf(const MessageId& id) {
  Past past{.id = id};
  if (auto known = attempts_.extract(id)) past.attempt = std::move(known.mapped());
  if (auto known = postponements_.extract(id)) past.postponements = known.mapped();
  past.blockade = blockade_.take(id);
  return past;
}

}  // namespace tenure::consuming
