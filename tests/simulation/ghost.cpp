#include "ghost.hpp"

#include <algorithm>

namespace tenure::simulation {
namespace {

std::string name(FencingToken token) { return std::to_string(token.value); }

}  // namespace

std::string link(const std::string& before, const std::string& id) {
  std::uint64_t hash = 0xcbf29ce484222325U;
  for (const char c : before + '/' + id) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3U;
  return std::to_string(hash);
}

void Ghost::violated(std::string promise) {
  if (!violation_) violation_ = std::move(promise);
}

void Ghost::complain(Complaint complaint) {
  if (complaint) violated(*std::move(complaint));
}

void Ghost::produced(const NewMessage& message, bool skipped) {
  const auto [place, isNew] = messages_.try_emplace({message.id.value, message.body});
  if (!isNew) return;
  place->second.place = ++places_;
  place->second.message = message;
  place->second.skipped = skipped;
  numbers_.produced(message);
  ++open_;
}

void Ghost::claimed(FencingToken token, const CandidateUuid& by) {
  ++claims_;
  if (token < highest_ || (token == highest_ && by != holder_))
    violated("S7: token " + name(token) + " has claimed after " + name(highest_));
  if (claims_ > 1 && token != highest_) ended(highest_, false);
  highest_ = token;
  holder_ = by;
}

void Ghost::ended(FencingToken token, bool clean) {
  if (clean && closed_.contains(token))
    clean_.insert(token);
  else if (!clean_.contains(token))
    unclean_.insert(token);
}

void Ghost::stateRead(FencingToken token) { readAt_.try_emplace(token, commits_.size()); }

void Ghost::committed(FencingToken token, const Booking& booking) {
  if (clean_.contains(token)) violated("S1: term " + name(token) + " has committed after it has handed over");
  if (token < highest_) violated("S1: term " + name(token) + " has committed after the claim of " + name(highest_));
  for (std::size_t i = readAt_[token]; i < commits_.size(); ++i)
    if (commits_[i] != token)
      violated("S4: term " + name(token) + " has committed on what it read before a commit of " + name(commits_[i]));
  commits_.push_back(token);
  for (const Booking::Effect& one : booking.effects) effect(token, one);
  for (const Booking::Attempt& one : booking.attempts) attempts_.recorded(one.id, one.attempts, one.charge, one.blocks);
  complain(numbers_.committed(booking.numbers));
  if (booking.closes) *booking.closes ? void(closed_.insert(token)) : void(closed_.erase(token));
  for (const Message& message : booking.acknowledged) acknowledged(message);
}

void Ghost::effect(FencingToken token, const Booking::Effect& effect) {
  const auto found = messages_.find({effect.id.value, effect.body});
  if (found == messages_.end()) return violated("S2: an effect of " + effect.id.value + ", which nobody produced");
  Known& known = found->second;
  // What has no key of its own (its id is another message's) is buried again if its acknowledgement did not get
  // through.
  if (known.fate == MessageFate::dead && !effect.keyed && effect.fate == MessageFate::dead && !known.acknowledged)
    return;
  if (known.fate) return violated("S2: a second effect of " + effect.id.value + " by term " + name(token));
  if (effect.keyed && !keys_.insert(effect.id.value).second)
    return violated("S2: a second effect of the id " + effect.id.value);
  known.fate = effect.fate;
  --open_;
  checkOrder(known);
  if (effect.fate == MessageFate::dead) return checkBurial(effect, known);
  if (known.skipped) return;
  std::string& chain = chains_[known.message.group.value];
  chain = link(chain, effect.id.value);
}

void Ghost::checkOrder(const Known& known) {
  complain(numbers_.effect(known.message, *known.fate));
  if (pipeline::numberOf(known.message)) return;
  std::size_t& last = lastPlaces_[lanes_ > 0 ? known.message.group : GroupId{}];
  if (known.place < last) violated("S3: " + known.message.id.value + " has its effect after a later message");
  last = known.place;
}

/// Nobody dies for nothing: each attempt that counts against a message was one, or the end of a term that had it in
/// work.
void Ghost::checkBurial(const Booking::Effect& effect, const Known& known) {
  if (effect.attempts > known.starts + uncleanEnds())
    violated("S9: " + effect.id.value + " is dead after " + std::to_string(effect.attempts) + " attempts, but had " +
             std::to_string(known.starts) + " and " + std::to_string(uncleanEnds()) + " terms ended uncleanly");
}

void Ghost::acknowledged(const Message& message) {
  const auto found = messages_.find({message.id.value, message.body});
  if (found != messages_.end()) found->second.acknowledged = true;
  if (found != messages_.end() && (found->second.fate || numbers_.keeps(message))) return;
  violated((pipeline::numberOf(message) ? "N3: " : "S5: ") + message.id.value +
           " was acknowledged before its effect was durable");
}

void Ghost::checkLetters(const std::vector<DeadLetter>& letters) {
  std::set<Instance> dead;
  for (const DeadLetter& letter : letters) dead.emplace(letter.message.id.value, letter.message.body);
  for (const auto& [instance, known] : messages_)
    if (known.fate && dead.contains(instance) != (known.fate == MessageFate::dead))
      violated("S9: " + instance.first +
               (dead.contains(instance) ? " is done, and dead" : " is dead without a letter"));
}

void Ghost::handlerBegan(const Start& start) {
  const Message& message = start.message;
  for (auto& [instance, known] : messages_)
    if (instance.first == message.id.value) ++known.starts;
  const GroupId group = messages_.at({message.id.value, message.body}).message.group;
  handling_.push_back({start.process, start.token, message.id, group});
  checkOverlap(handling_.back());
  if (start.token == highest_) complain(attempts_.began(start.token, message.id, start.attempt, start.at));
  const bool isSuspect = lanes_ > 0 && !start.inLane;
  complain(pace_.began(start.token, isSuspect ? GroupId{} : group, start.at));
}

void Ghost::checkOverlap(const Handling& start) {
  std::size_t here = 0;
  for (const Handling& other : handling_) {
    if (other.process == start.process)
      ++here;
    else if (other.token < start.token && other.token > announced_)
      violated("S6: term " + name(start.token) + " handles " + start.id.value + " while term " + name(other.token) +
               " still does, and no barrier has reached its limit");
    if (&other != &start && other.process == start.process && other.group == start.group)
      violated("S6: one process handles two messages of group " + start.group.value);
  }
  if (here > std::max(lanes_, std::size_t{1})) violated("S6: one process handles more messages than it has lanes");
}

void Ghost::handlerEnded(const Start& start, const Outcome& outcome, BootTime now) {
  const auto ended = std::ranges::find_if(
      handling_, [&](const Handling& one) { return one.process == start.process && one.id == start.message.id; });
  if (ended != handling_.end()) handling_.erase(ended);
  attempts_.ended(start.token, start.message.id, outcome, now);
  const bool mayComeAgain = outcome.kind == Outcome::Kind::failed || outcome.kind == Outcome::Kind::retryLater;
  if (lanes_ > 0 && !start.inLane && mayComeAgain) attempts_.parked(start.message.group);
}

void Ghost::handlerLost(int process) {
  for (const Handling& lost : handling_)
    if (lost.process == process && lost.token == highest_) attempts_.died(lost.id, lost.group);
  std::erase_if(handling_, [&](const Handling& one) { return one.process == process; });
}

void Ghost::attemptFailed(FencingToken token, const AttemptFailed& event) {
  complain(attempts_.failed(token, MessageId{event.message}, event.attempt, event.retryIn));
}

void Ghost::postponed(FencingToken token, const MessagePostponed& event) {
  attempts_.postponed(token, MessageId{event.message}, event.retryIn);
}

std::string Ghost::openMessages() const {
  std::string open;
  for (const auto& [instance, known] : messages_)
    if (!known.fate) open += ' ' + instance.first;
  return open;
}

}  // namespace tenure::simulation
