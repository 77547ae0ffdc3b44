#include "consumer/delivery.hpp"

#include "consumer/charges.hpp"
#include "consumer/fitness.hpp"

namespace tenure::consuming {

using namespace std::chrono_literals;
using Decision = Delivery::Decision;

// --- before it starts

Decision Delivery::begin(const Head& head, const Moment& moment) {
  head_ = head;
  if (at_.streak().isStopped()) return standDown(moment);
  if (at_.streak().isLeftOver()) return CommitFirst{};  // before anything new is recorded in its place
  if (head_.mayHaveCome && wasCommitted()) return dropRepeat();
  if (const std::string_view why = unfitness(message()); !why.empty()) {
    if (numbers_.isUnknown(message())) return Action{numbers_.question(message())};  // its number is past with it
    return refuse(why, moment);
  }
  if (refused_ && refused_->id == message().id) return cannotBeStored(moment);
  if (auto turn = findTurn(moment)) return *std::move(turn);
  if (at_.histories.isReleased(message().id)) return letGo(moment);
  const Blockade& blockade = at_.histories.blockade;
  if (blockade.any() && blockade.holds(message().id) && !blockade.mayGo(message().id, moment.now))
    return standStill(moment);
  if (at_.namesEach() && !head_.isNamed && !hasRunBefore())  // it is named with a commit, when it waits for nothing
    return needsTurn() ? askForTurn() : CommitFirst{};
  if (at_.takesFirst()) return needsTurn() ? askForTurn() : admit();
  if (!at_.dedups()) return beginWithoutKey(moment);
  if (beginsUnlocked() && !key_.isLookedUp) return Action{Look{head_.message}};
  const bool onlyItsKeyIsLeft = key_.isKnown || hasRunBefore();
  if (onlyItsKeyIsLeft) return admit();
  if (needsTurn()) return askForTurn();
  if (head_.isSuspect && !isCharged()) return charge(moment);
  return beginsUnlocked() ? run(moment) : admit();
}

/// A store that was away is asked for something first, or the handler would be run in vain.
Decision Delivery::beginWithoutKey(const Moment& moment) {
  if (head_.storeIsAway && !key_.isLookedUp) return Action{Look{head_.message}};
  if (hasRunBefore()) return Settled{};
  if (needsTurn()) return askForTurn();
  if (head_.isSuspect && !isCharged()) return charge(moment);
  return run(moment);
}

/// A key that is already part of it, or a handler that has run, waits for nothing.
bool Delivery::needsTurn() const {
  return head_.isCounted && turn_ != message().id && !hasRunBefore() && !tokens_.contains(message().id);
}

void Delivery::bringTokens(std::span<const Message> messages) {
  for (const Message& message : messages) tokens_.insert(message.id);
}

std::vector<GroupId> Delivery::unbegun(std::span<const Letter> settled) const {
  std::vector<GroupId> groups;
  if (tokens_.empty() || at_.booking.takes) return groups;
  for (const Letter& letter : settled)
    if (tokens_.contains(letter->id)) groups.push_back(letter->group);
  return groups;
}

std::size_t Delivery::takeTokens(std::span<const MessageId> of) {
  std::size_t taken = 0;
  if (!tokens_.empty())
    for (const MessageId& id : of) taken += tokens_.erase(id);
  return taken;
}

Decision Delivery::turned(BootTime turn, const Moment& moment) {
  if (turn <= moment.now) {
    turn_ = message().id;
    return GoesOn{};
  }
  if (heldBack_ != message().id) {
    heldBack_ = message().id;
    at_.tell(MessageHeldBack{message().id.value, message().group.value,
                             std::chrono::ceil<std::chrono::milliseconds>(turn - moment.now)});
  }
  if (!head_.isFirst) return CommitFirst{};
  if (taken_) {  // it stays, and its lane waits
    notBefore_ = turn;
    return GoesOn{};
  }
  // With lanes it waits at the scheduler, and its group with it; nobody overtakes a suspect.
  return at_.role == Role::lane ? Decision(GivesBack{turn}) : Waits{turn};
}

/// It was buried before when its acknowledgement did not get through: a foreign source delivers it again.
Decision Delivery::refuse(std::string_view why, const Moment& moment) {
  const bool hasKey = at_.dedups() && isFit(message().id);
  if (hasKey && !head_.isFirst) return CommitFirst{};
  if (hasKey && !key_.isLookedUp) return Action{Look{head_.message}};
  return key_.isKnown ? admit() : bury(why, 0, hasKey, moment);
}

/// What it holds against a message need not last, but only who blocks waits to see.
Decision Delivery::cannotBeStored(const Moment& moment) {
  const std::string why = refused_->lastError;
  if (!at_.blocks()) return bury(why, attemptNumber() - 1, false, moment);
  refused_.reset();
  return attemptFailed(Outcome::failed(why), moment);
}

void Delivery::refusedByStore(const MessageId& id, const std::string& why) {
  refused_ = AttemptRecord{.id = id, .lastError = "the store refused it: " + why};
}

/// Nullopt: it is handled like any other.
std::optional<Decision> Delivery::findTurn(const Moment& moment) {
  using pipeline::Turn;
  switch (numbers_.turnOf(message())) {
    case Turn::any:
    case Turn::next: return std::nullopt;
    case Turn::unknown: return Action{numbers_.question(message())};
    case Turn::early: numbers_.keep(message(), moment); return Settled{false};
    case Turn::waiting: return dropRepeat();
    case Turn::crowded: return tooManyWait(moment);
    case Turn::unreadable: return refuse("its number is not a whole number from 1 to 10^15", moment);
    case Turn::conflicting: return refuse("another message waits under its number", moment);
    case Turn::reused: return bury("its id waits already, with another body", attemptNumber() - 1, false, moment);
    case Turn::behind: break;
  }
  if (!at_.dedups()) return dropRepeat();
  return refuse("its number is past: it comes too late, or another message had it", moment);
}

Decision Delivery::dropRepeat() {
  at_.booking.news.push_back(DuplicateDropped{message().id.value});
  return Settled{false};
}

/// What they wait for may stand behind them all: whoever gives numbers up gives these up before their time.
Decision Delivery::tooManyWait(const Moment& moment) {
  if (!head_.isFirst) return CommitFirst{};
  const auto gap = numbers_.gapOf(message().group, moment);
  if (!gap && at_.role != Role::total) return GivesBack{moment.now};  // those go before what is left of the group
  if (!gap) {                                                         // behind suspects they cannot: one more is kept
    numbers_.keep(message(), moment);
    return Settled{false};
  }
  numbers_.tellOf(*gap);
  if (at_.options.whenGapIsOld == GapPolicy::skip) return GivesUp{*gap};
  return Ends{numbers_.tooMany(message().group)};
}

/// Its key is asked for by itself: it may have come meanwhile.
Decision Delivery::letGo(const Moment& moment) {
  if (!head_.isFirst) return CommitFirst{};
  if (at_.dedups() && !key_.isLookedUp) return Action{Look{head_.message}};
  if (key_.isKnown) return admit();
  const AttemptRecord& record = *at_.histories.attemptsOf(message().id);
  return bury("released: " + record.lastError, record.attempts, true, moment);
}

/// It waits for its next attempt, or for an operator's word.
Decision Delivery::standStill(const Moment& moment) {
  if (!head_.isFirst) return CommitFirst{};
  Blockade& blockade = at_.histories.blockade;
  const MessageId& id = message().id;
  if (blockade.isQuestionDue(id, moment.now)) {
    blockade.asked(id, moment.now);
    return Action{Inquire{}};
  }
  const BootTime until = blockade.nextStep(id);
  if (at_.role == Role::total) return Waits{until};
  return GivesBack{until};
}

/// Until an operator lets us go on.
Decision Delivery::standDown(const Moment& moment) {
  if (!head_.isFirst) return CommitFirst{};
  if (moment.now < nextWord_) return Waits{nextWord_};
  nextWord_ = moment.now + 1s;
  return Action{Inquire{}};
}

void Delivery::inquired(const ConsumerState& found) {
  if (at_.streak().isStopped()) {
    if (at_.streak().heard(noteIn(found.attempts, deadInARow()))) at_.tell(ConsumerResumed{});
    return;
  }
  for (const AttemptRecord& attempt : found.attempts)
    if (attempt.id == message().id && attempt.standing == Standing::released) at_.histories.release(attempt.id);
}

Decision Delivery::looked(bool known) {
  key_.isLookedUp = true;
  key_.isKnown = known && at_.dedups();
  return GoesOn{};
}

/// Makes the attempt at a suspect durable before its handler starts.
Decision Delivery::charge(const Moment& moment) {
  const int attempt = attemptNumber();
  const AttemptRecord* before = at_.histories.attemptsOf(message().id);
  const bool died = before != nullptr && before->lastError == processDied;
  if (attempt > at_.options.maxAttempts) {
    if (!at_.blocks()) {
      if (died) at_.log.died(*before);
      const std::string why = died ? std::string(processDied) + " during its last attempt" : before->lastError;
      return bury(why, attempt - 1, true, moment);
    }
    if (!at_.histories.blockade.holds(message().id)) {  // each attempt costs a process: the next comes as late as any
      record(attempt - 1, before->lastError, moment);
      at_.booking.record->standing = Standing::blocked;
      return CommitFirst{};
    }
  }
  if (died) {  // and nobody was left to tell
    at_.booking.news.push_back(AttemptFailed{message().id.value, before->attempts, before->lastError, 0ms});
    at_.log.died(*before);
  }
  before_ = before != nullptr ? std::optional(*before) : std::nullopt;
  record(attempt, begunBy(at_.token), moment);
  at_.booking.charges = true;
  at_.booking.news.push_back(MessageSuspected{message().id.value, attempt});
  return CommitFirst{};
}

void Delivery::takeBackCharge() {
  if (before_ && (before_->attempts > 0 || postponedIn(*before_)))
    at_.booking.record = before_;
  else
    at_.booking.forgiven = charged_;
}

// --- its key

Decision Delivery::admitted(Admission admission, const Moment& moment) {
  const bool ranInTransaction = key_.marked;
  key_.marked = key_.isAdmitted = true;
  if (admission == Admission::duplicate && ranInTransaction) return startOver();
  if (admission != Admission::fresh) return dropKnown(admission, moment);
  if (at_.takesFirst()) {
    at_.booking.takes = true;
    return Settled{};
  }
  if (ranInTransaction || hasRunBefore()) return Settled{};
  return at_.options.handlerIsExternal ? startOver() : run(moment);
}

/// The head's key came or went after it was looked up: once more, without the store's lock.
Decision Delivery::startOver() {
  at_.booking.news.clear();
  return Action{Abandon{}};
}

/// Its key is there already, and says that its body is the same, or another one.
Decision Delivery::dropKnown(Admission admission, const Moment& moment) {
  if (admission == Admission::reused)
    return bury("its id was used before with another body", attemptNumber() - 1, false, moment);
  return dropRepeat();
}

}  // namespace tenure::consuming
