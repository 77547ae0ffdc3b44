#include "ghost.hpp"

#include <algorithm>

#include "tenure/spi/source.hpp"

namespace tenure::simulation {
namespace {

constexpr std::string_view copyHeader = "copy";

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

int copyOf(const NewMessage& message) {
  const auto found = std::ranges::find(message.headers, copyHeader, &Headers::value_type::first);
  return found == message.headers.end() ? 0 : std::stoi(found->second);
}

MessageId withCopyMark(const MessageId& id, std::int64_t position) {
  return MessageId{id.value + '#' + std::to_string(position)};
}
MessageId withoutCopyMark(const MessageId& id) { return MessageId{id.value.substr(0, id.value.find('#'))}; }

Ghost::Instance Ghost::instanceOf(const NewMessage& message) const {
  return {message.id.value, message.body, isKeyless() ? copyOf(message) : 0};
}

Ghost::Instance Ghost::instanceOf(const Message& message) const {
  if (const int copy = copyOf(message); copy != 0 && !message.lacks.empty()) return copies_.at(copy);
  return instanceOf(static_cast<const NewMessage&>(message));
}

int Ghost::mark(NewMessage& message) {
  const int copy = static_cast<int>(copies_.size()) + 1;
  message.headers.emplace_back(copyHeader, std::to_string(copy));
  copies_.emplace(copy, instanceOf(message));
  return copy;
}

void Ghost::produced(NewMessage& message, bool skipped) {
  mark(message);
  came(message, skipped);
}

void Ghost::came(const NewMessage& message, bool skipped) {
  const int copy = copyOf(message);
  places_.try_emplace(copy, static_cast<int>(places_.size()) + 1);
  coalescing_.produced(copy, message);
  const auto [place, isNew] = messages_.try_emplace(instanceOf(message));
  if (!isNew) return;
  place->second.copy = copy;
  place->second.message = message;
  place->second.skipped = skipped;
  ++open_;
}

void Ghost::close(Known& known) {
  if (!std::exchange(known.closed, true)) --open_;
}

void Ghost::claimed(FencingToken token, const CandidateUuid& by) {
  ++claims_;
  if (token < highest_ || (token == highest_ && by != holder_))
    violated("S7: token " + name(token) + " has claimed after " + name(highest_));
  if (claims_ > 1 && token != highest_) ended(highest_, false);
  highest_ = token;
  holder_ = by;
  attempts_.claimed();
}

void Ghost::ended(FencingToken token, bool clean) {
  if (clean && closed_.contains(token))
    clean_.insert(token);
  else if (!clean_.contains(token))
    unclean_.insert(token);
}

void Ghost::stateRead(FencingToken token) { readAt_.try_emplace(token, commits_.size()); }

void Ghost::committed(FencingToken token, const PendingWrites& booking, BootTime now) {
  now_ = now;
  if (clean_.contains(token)) violated("S1: term " + name(token) + " has committed after it has handed over");
  if (token < highest_) violated("S1: term " + name(token) + " has committed after the claim of " + name(highest_));
  for (std::size_t i = readAt_[token]; i < commits_.size(); ++i)
    if (commits_[i] != token)
      violated("S4: term " + name(token) + " has committed on what it read before a commit of " + name(commits_[i]));
  commits_.push_back(token);
  for (const PendingWrites::Effect& one : booking.effects) effect(token, one);
  checkHistory(booking);
  for (const PendingWrites::Attempt& one : booking.attempts)
    attempts_.recorded(one.id, one.attempts, one.charge, one.blocks);
  for (const Times::Change& one : booking.times) complain(times_.changed(one));
  complain(numbers_.committed(booking.numbers));
  if (const auto& inWork = booking.inWork) {
    const bool closes = inWork->ids.empty() && !inWork->more;
    closes ? void(closed_.insert(token)) : void(closed_.erase(token));
    attempts_.named(*inWork);
  }
  for (const Message& message : booking.acknowledged) acknowledged(message);
}

void Ghost::effect(FencingToken token, const PendingWrites::Effect& effect) {
  if (effect.noted && takesFirst()) return ran(effect);
  attempts_.settled(effect.id);
  const auto found = messages_.find({effect.id.value, effect.body, isKeyless() ? effect.copy : 0});
  if (found == messages_.end()) return violated("S2: an effect of " + effect.id.value + ", which nobody produced");
  Known& known = found->second;
  const int before = known.copy;
  if (effect.copy != 0) known.copy = effect.copy;
  if (known.fate) return repeated(token, effect, known, known.copy == before);
  if (effect.keyed && keys_.contains(effect.id)) return violated("S2: a second effect of the id " + effect.id.value);
  if (effect.keyed) keys_.made(effect.id, now_);
  known.fate = effect.fate;
  known.by = token;
  if (!isKeyless()) close(known);
  checkOrder(known);
  if (effect.fate == MessageFate::dead) return checkDeath(effect, known);
  if (takesFirst()) return;
  if (!known.well) violated("B1: " + effect.id.value + " has its effect, and its handler was not done with it");
  if (!known.skipped) extendChain(known);
}

/// What has no key of its own (its id is another message's, or there are none) becomes a dead letter again if its
/// acknowledgement did not get through. Without keys it may have its effect again as well, but not by the same line of
/// work.
void Ghost::repeated(FencingToken token, const PendingWrites::Effect& effect, Known& known, bool sameCopy) {
  const bool letters = known.fate == MessageFate::dead && effect.fate == MessageFate::dead;
  const bool mayComeAgain = !known.acknowledged || known.returned;
  const bool isAcknowledged = effect.copy != 0 ? acknowledged_.contains(effect.copy) : known.acknowledged;
  if (letters && !effect.keyed && (!isAcknowledged || known.returned || !sameCopy)) return;
  if (takesFirst() && effect.fate == MessageFate::dead && !effect.keyed && !known.ran) return void(known.ran = true);
  if (!isKeyless() || !mayComeAgain)
    return violated("S2: a second effect of " + effect.id.value + " by term " + name(token) + ": " +
                    (effect.fate == MessageFate::dead ? "dead" : "done") + " after " +
                    (known.fate == MessageFate::dead ? "dead" : "done") + " by term " + name(known.by) + ", " +
                    (effect.keyed ? "keyed" : "not keyed") + (sameCopy ? ", the same copy" : ", another copy") +
                    (mayComeAgain ? ", may come again" : ""));
  if (known.by == token && lanes_ == 0 && !known.returned && !ordersByDelivery_)
    violated("G2: " + effect.id.value + " has two runs in term " + name(token));
  known.by = token;
  known.fate = effect.fate;
  if (effect.fate == MessageFate::done && !known.skipped) extendChain(known);
}

/// At most once: its key was its end, as far as the queue goes.
void Ghost::ran(const PendingWrites::Effect& effect) {
  const Instance& instance = copies_.at(effect.copy);
  Known& known = messages_.at(instance);
  if (std::exchange(known.ran, true)) violated("G3: " + instance.id + " has a second effect");
  if (!known.well) violated("B1: " + instance.id + " has its effect, and its handler was not done with it");
  if (!known.skipped) extendChain(known);
}

void Ghost::extendChain(const Known& known) {
  std::string& chain = chains_[known.message.group.value];
  chain = link(chain, known.message.id.value);
  sent_.insert(known.message.id.value);
}

void Ghost::refused(int process, bool inLane, const PendingWrites& booking, BootTime now) {
  constexpr std::size_t most = 16;
  Refused of{process, {}};
  for (const PendingWrites::Effect& effect : booking.effects) {
    of.second.push_back(effect.id);
    if (effect.fate != MessageFate::done) continue;
    history_.ended(effect.id, Outcome::failed("refused"));
    const auto known = messages_.find({effect.id.value, effect.body, isKeyless() ? effect.copy : 0});
    if (!inLane && known != messages_.end()) parked(known->second.message.group);
  }
  std::deque<BootTime>& times = refusals_[of];
  times.push_back(now);
  while (times.front() + std::chrono::seconds{1} < now) times.pop_front();
  if (times.size() > most) violated("busy: a commit is refused again and again, without a wait between");
}

void Ghost::wentOn(int process, const PendingWrites& booking) {
  const auto isOf = [&](const MessageId& id) {
    return std::ranges::count(booking.effects, id, &PendingWrites::Effect::id) +
               std::ranges::count(booking.attempts, id, &PendingWrites::Attempt::id) >
           0;
  };
  std::erase_if(refusals_, [&](const auto& each) {
    return each.first.first == process && std::ranges::any_of(each.first.second, isOf);
  });
}

void Ghost::keysForgotten(std::span<const MessageId> ids, BootTime now) {
  complain(keys_.forgotten(ids, now));
  for (auto& [instance, known] : messages_) {
    if (std::ranges::find(ids, MessageId{instance.id}) == ids.end()) continue;
    known.fate.reset();
    known.ran = false;
    known.forgotten = true;
    known.chances = 1;
  }
}

void Ghost::checkHistory(const PendingWrites& booking) {
  std::vector<MessageId> effects;
  for (const PendingWrites::Effect& effect : booking.effects)
    if (effect.fate == MessageFate::done) effects.push_back(effect.id);
  complain(history_.committed(booking.log, effects));
}

void Ghost::checkOrder(const Known& known) {
  complain(numbers_.effect(known.message, *known.fate));
  *known.fate == MessageFate::done ? coalescing_.ran(known.copy) : coalescing_.ended(known.copy);
  if (!takesFirst()) checkPlace(known.message, known.copy, hasHadItsPlace(known));
}

/// With the run that stood for it. Nothing in the store says so of each, so where its acknowledgement was lost it comes
/// again and has a run of its own, after whatever came between.
bool Ghost::hasHadItsPlace(const Known& known) const {
  return options_.coalesce == Coalesce::byKey && !known.acknowledged && coalescing_.hasRunFor(known.copy);
}

void Ghost::checkPlace(const NewMessage& message, int copy, bool mayBeLate) {
  if (supply::numberOf(message) || (lanes_ > 0 && message.group.value.empty())) return;
  int& last = lastPlaces_[lanes_ > 0 ? message.group : GroupId{}];
  const int place = placeOf(copy);
  if (place < last && !mayBeLate) violated("S3: " + message.id.value + " comes after a later message");
  last = std::max(last, place);
}

int Ghost::placeOf(int copy) const {
  const auto delivered = ordersByDelivery_ ? deliveries_.find(copy) : deliveries_.end();
  return delivered == deliveries_.end() ? places_.at(copy) : delivered->second;
}

/// Nobody dies for nothing: each attempt that counts against a message was one, or the end of a term that had it in
/// work.
void Ghost::checkDeath(const PendingWrites::Effect& effect, const Known& known) {
  if (effect.attempts > known.starts + uncleanEnds())
    violated("S9: " + effect.id.value + " is dead after " + std::to_string(effect.attempts) + " attempts, but had " +
             std::to_string(known.starts) + " and " + std::to_string(uncleanEnds()) + " terms ended uncleanly");
}

void Ghost::acknowledged(const Message& message) {
  const auto found = messages_.find(instanceOf(message));
  if (found == messages_.end())
    return violated("S5: " + message.id.value + ", which nobody produced, was acknowledged");
  Known& known = found->second;
  const bool again = std::exchange(known.acknowledged, true);
  acknowledged_.insert(copyOf(message));
  const bool ranWithoutAKey = isKeyless() && known.ran;
  if (known.fate || ranWithoutAKey || again || known.forgotten || numbers_.keeps(message)) return close(known);
  if (options_.coalesce == Coalesce::byKey) {
    complain(coalescing_.stoodFor(copyOf(message)));
    return close(known);
  }
  const char* promise = isKeyless() ? "G1: " : supply::numberOf(message) ? "N3: " : "S5: ";
  violated(promise + message.id.value + " was acknowledged before its effect was durable");
}

void Ghost::checkLetters(const std::vector<DeadLetter>& letters) {
  std::set<Instance> dead;
  for (const DeadLetter& letter : letters) dead.insert(instanceOf(letter.message));
  for (const auto& [instance, known] : messages_) {
    const bool isDead = dead.contains(instance);
    const bool mayBe = isDead && (takesFirst() || isKeyless() || known.forgotten);  // before or after another run
    if (known.fate && isDead != (known.fate == MessageFate::dead) && !mayBe)
      violated("S9: " + instance.id + (isDead ? " is done, and dead" : " is dead without a letter"));
  }
}

void Ghost::checkTaken(const std::vector<DeadLetter>& letters) {
  if (!takesFirst()) return;
  std::set<Instance> dead;
  for (const DeadLetter& letter : letters) dead.insert(instanceOf(letter.message));
  for (const auto& [instance, known] : messages_) {
    if (known.fate != MessageFate::done || known.ran || dead.contains(instance)) continue;
    if (!forgone_.contains(MessageId{instance.id}) && !dead_.contains(known.by))
      violated("G4: " + instance.id + " was taken, and nobody says what became of it");
  }
}

void Ghost::handlerBegan(const Start& start) {
  const Message& message = start.message;
  for (auto& [instance, known] : messages_)
    if (instance.id == message.id.value) ++known.starts;
  Known& known = messages_.at(instanceOf(message));
  const GroupId group = known.message.group;
  handling_.push_back({start.process, start.token, message.id, group, start.call});
  checkStart(start, known);
  checkOverlap(handling_.back());
  if (start.token == highest_) complain(attempts_.began(start.token, message.id, start.attempt, start.at));
  const bool isSuspect = lanes_ > 0 && !start.inLane;
  complain(pace_.began(start.token, isSuspect ? GroupId{} : group, start.at));
}

void Ghost::checkStart(const Start& start, Known& known) {
  if (start.token < known.caller) return;  // whatever it comes to, the fence is in its way
  known.caller = start.token;
  known.well = false;
  known.call = start.call;
  if (const int copy = copyOf(start.message); copy != 0) {
    if (!takesFirst()) known.copy = copy;
    coalescing_.began(copy);
  }
  if (!takesFirst()) return;
  if (start.token == highest_) checkPlace(start.message, copyOf(start.message));
  if (!known.fate) violated("G3: " + start.message.id.value + " starts before its id is durable");
  if (--known.chances < 0) violated("G3: " + start.message.id.value + " starts again");
}

void Ghost::checkOverlap(const Handling& start) {
  std::set<int> here;
  for (const Handling& other : handling_) {
    if (other.process == start.process)
      here.insert(other.call);
    else if (other.token < start.token && other.token > announced_)
      violated("S6: term " + name(start.token) + " handles " + start.id.value + " while term " + name(other.token) +
               " still does, and no barrier has reached its limit");
    if (other.call != start.call && other.process == start.process && other.id == start.id)
      violated("S6: copies: one process handles " + start.id.value + " twice at once");
    const bool isOneLine = other.group == start.group && (lanes_ == 0 || !start.group.value.empty());
    if (other.call != start.call && other.process == start.process && isOneLine)
      violated("S6: one process handles two messages of group " + start.group.value);
  }
  if (here.size() > std::max(lanes_, std::size_t{1}) * handledInLane_)
    violated("S6: one process handles more messages at a time than it may");
}

void Ghost::handlerEnded(const Start& start, const Outcome& outcome, BootTime now) {
  const auto ended = std::ranges::find_if(
      handling_, [&](const Handling& one) { return one.call == start.call && one.id == start.message.id; });
  if (ended != handling_.end() && !ended->orphaned) {  // not of a process that has died
    handling_.erase(ended);
    heard(start, outcome);
  }
  attempts_.ended(start.token, start.message.id, outcome, now);
  const bool mayComeAgain = outcome.kind == Outcome::Kind::failed || outcome.kind == Outcome::Kind::retryLater;
  if (!start.inLane && mayComeAgain) parked(start.message.group);
}

void Ghost::handlerDropped(const Start& start) {
  std::erase_if(handling_, [&](const Handling& one) { return one.call == start.call && one.id == start.message.id; });
}

void Ghost::mayBeRefused(const MessageId& id) {
  history_.ended(id, Outcome::failed({}));
  history_.ended(id, Outcome::retryLater({}));
}

void Ghost::heard(const Start& start, const Outcome& outcome) {
  Known& known = messages_.at(instanceOf(start.message));
  if (known.call != start.call) return;
  const bool isSkipped = outcome.kind == Outcome::Kind::skip;
  known.well = isSkipped || outcome.kind == Outcome::Kind::done;
  history_.ended(start.message.id, outcome);
  if (outcome.kind == Outcome::Kind::retryLater) ++known.chances;
  if (!known.well || options_.delivery == Guarantee::exactlyOnceEffect) return;
  if (!isSkipped && !options_.handlerIsExternal) return;  // its effect says so
  known.ran = true;
  if (isKeyless()) coalescing_.ran(copyOf(start.message));
}

void Ghost::handlerLost(int process, bool orphans) {
  for (Handling& lost : handling_) {
    if (lost.process != process) continue;
    if (lost.token == highest_) attempts_.died(lost.id, lost.group);
    lost.orphaned = true;
  }
  if (!orphans) orphanEnded(process);
}

/// What had been in work may be behind it now, where nobody looks for it.
void Ghost::returned(const Message& message) {
  messages_.at(instanceOf(message)).returned = true;
  attempts_.loseSight();
}

void Ghost::orphanEnded(int process) {
  std::erase_if(handling_, [&](const Handling& one) { return one.process == process && one.orphaned; });
}

bool Ghost::isHandling(int process) const {
  return std::ranges::any_of(handling_, [&](const Handling& one) { return one.process == process; });
}

void Ghost::attemptFailed(FencingToken token, const AttemptFailed& event) {
  if (event.retryIn.count() > 0) complain(history_.failed(MessageId{event.message}, event.attempt));
  complain(attempts_.failed(token, MessageId{event.message}, event.attempt, event.retryIn));
}

void Ghost::postponed(FencingToken token, const MessagePostponed& event) {
  attempts_.postponed(token, MessageId{event.message}, event.retryIn);
}

void Ghost::parked(const GroupId& group) {
  if (lanes_ > 0) attempts_.parked(group);
}

std::string Ghost::openMessages() const {
  std::string open;
  for (const auto& [instance, known] : messages_)
    if (!known.closed) open += ' ' + instance.id;
  return open;
}

}  // namespace tenure::simulation
