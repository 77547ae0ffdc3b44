#include "consumer/delivery.hpp"

#include "base/text.hpp"
#include "consumer/charges.hpp"
#include "consumer/message_limits.hpp"

namespace tenure::consuming {

using namespace std::chrono_literals;
using Decision = Delivery::Decision;

// --- before it starts

Decision Delivery::begin(const Head& head, const Now& now) {
  takeUp(head);
  if (state_.streak().isStopped()) return standDown(now);
  if (state_.streak().isLeftOver()) return CommitFirst{};  // before anything new is recorded in its place
  if (head_.mayHaveCome && wasCommitted()) return dropRepeat();
  if (const std::string_view why = brokenLimit(message()); !why.empty()) {
    if (numbers_.isUnknown(message())) return Action{Consult{message().group}};  // its number is past with it
    return refuse(why, now);
  }
  if (isRefused() && !state_.histories.isReleased(message().id)) return cannotBeStored(now);
  if (auto turn = findTurn(now)) return *std::move(turn);
  if (state_.histories.isReleased(message().id)) return letGo(now);
  const HeadOfLineBlock& block = state_.histories.block;
  if (block.any() && block.holds(message().id) && !block.mayGo(message().id, now.boot)) return standStill(now);
  if (state_.namesEach() && !head_.isNamed && !hasRunBefore())  // it is named with a commit, when it waits for nothing
    return needsTurn() ? askForTurn() : CommitFirst{};
  if (state_.takesFirst()) return needsTurn() ? askForTurn() : admit();
  if (!state_.dedups()) return beginWithoutKey(now);
  if (beginsUnlocked() && !key_.isLookedUp) return Action{Look{head_.message}};
  const bool onlyItsKeyIsLeft = key_.isKnown || hasRunBefore() || repeat_ == message().id;
  if (onlyItsKeyIsLeft) return admit();
  if (needsTurn()) return askForTurn();
  if (needsCharge()) return charge(now);
  return beginsUnlocked() ? run(now) : admit();
}

void Delivery::takeUp(const Head& head) {
  head_ = head;
  logged_.reset();
  isDying_ = false;
}

/// A store that was away is asked for something first, or the handler would be run in vain. Not once a transaction is
/// open: lanes that share a store would wait for their own turn in it.
Decision Delivery::beginWithoutKey(const Now& now) {
  if (head_.isFirst && head_.storeIsAway && !key_.isLookedUp) return Action{Look{head_.message}};
  if (hasRunBefore()) return Settled{};
  if (needsTurn()) return askForTurn();
  if (needsCharge()) return charge(now);
  return run(now);
}

/// A key that is already part of it, or a handler that has run, waits for nothing.
bool Delivery::needsTurn() const {
  return head_.isCounted && turn_ != message().id && !hasRunBefore() && !tokens_.contains(message().id) && !isSkip();
}

void Delivery::bringTokens(std::span<const Message> messages) {
  for (const Message& message : messages) tokens_.insert(message.id);
}

std::vector<GroupId> Delivery::unbegun(std::span<const Letter> settled) const {
  std::vector<GroupId> groups;
  if (tokens_.empty() || state_.booking.takes) return groups;
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

Decision Delivery::turned(std::optional<BootTime> heldUntil, const Now& now) {
  if (!heldUntil) {
    turn_ = message().id;
    return GoesOn{};
  }
  if (heldBack_ != message().id) {
    heldBack_ = message().id;
    state_.tell(MessageHeldBack{
        message().id.value, message().group.value,
        std::chrono::ceil<std::chrono::milliseconds>(std::max(*heldUntil - now.boot, Duration::zero()))});
  }
  if (!head_.isFirst) return CommitFirst{};
  if (taken_) {  // it stays, and its lane waits
    notBefore_ = *heldUntil;
    return GoesOn{};
  }
  // With lanes it waits at the scheduler, and its group with it; nobody overtakes a suspect.
  return state_.role == Role::lane ? Decision(GivesBack{*heldUntil}) : Waits{*heldUntil};
}

/// It became a dead letter before when its acknowledgement did not get through: a foreign source delivers it again.
Decision Delivery::refuse(std::string_view why, const Now& now) {
  const bool hasKey = state_.dedups() && isWithinLimits(message().id);
  if (hasKey && !head_.isFirst) return CommitFirst{};
  if (hasKey && !key_.isLookedUp) return Action{Look{head_.message}};
  return key_.isKnown ? admit() : deadLetter(why, 0, hasKey, now);
}

/// A message that is too large becomes a dead letter; under OnDead::block it is a failed attempt. A refused dead letter
/// is written once more, and then without its body.
Decision Delivery::cannotBeStored(const Now& now) {
  if (const std::optional<Death> death = refused_->death) {
    if (death->end && !state_.options.handlerIsExternal) logEnd(*death->end, death->reason, now);
    logged_ = death->end;
    return deadLetter(death->reason, death->attempts, death->withKey, now);
  }
  const std::string why = refused_->why;
  if (!refused_->counts && !state_.blocks()) return deadLetter(why, attemptNumber() - 1, false, now);
  refused_.reset();
  return attemptFailed(Outcome::failed(why), now);
}

bool Delivery::refusedByStore(const MessageId& id, const std::string& why, bool counts) {
  const bool isNew = !refused_ || refused_->id != id;
  if (isNew) refused_ = Refused{id, shortened("the store refused it: " + why, longestReason), counts, std::nullopt};
  if (isDying_ && death_.id == id) refused_->death = death_;
  return ++refused_->times <= 3;
}

/// Nullopt: it is handled like any other. A number that is skipped and has come all the same needs no skip.
std::optional<Decision> Delivery::findTurn(const Now& now) {
  using supply::Turn;
  const Turn turn = numbers_.turnOf(message());
  const bool hasCome = turn == Turn::behind || turn == Turn::conflicting || turn == Turn::reused;
  if (hasCome && isSkip()) return dropRepeat();
  switch (turn) {
    case Turn::any:
    case Turn::next: return std::nullopt;
    case Turn::unknown: return Action{Consult{message().group}};
    case Turn::early: numbers_.keep(message(), now); return Settled{false};
    case Turn::waiting: return dropRepeat();
    case Turn::crowded: return tooManyWait(now);
    case Turn::unreadable: return refuse("its number is not a whole number from 1 to 10^15", now);
    case Turn::conflicting: return refuse("another message waits under its number", now);
    case Turn::reused: return deadLetter("its id waits already, with another body", attemptNumber() - 1, false, now);
    case Turn::behind: break;
  }
  if (!state_.dedups()) return dropRepeat();
  return refuse("its number is past: it comes too late, or another message had it", now);
}

Decision Delivery::dropRepeat() {
  state_.booking.news.push_back(DuplicateDropped{message().id.value});
  return Settled{false};
}

/// What they wait for may stand behind them all: whoever gives numbers up gives these up before their time.
Decision Delivery::tooManyWait(const Now& now) {
  if (!head_.isFirst) return CommitFirst{};
  const auto gap = numbers_.gapOf(message().group, now);
  if (!gap && state_.role != Role::total) return GivesBack{now.boot};  // those go before what is left of the group
  if (!gap) {                                                          // behind suspects they cannot: one more is kept
    numbers_.keep(message(), now);
    return Settled{false};
  }
  numbers_.tellOf(*gap);
  if (state_.options.whenGapIsOld == GapPolicy::skip) return GivesUp{*gap};
  return Ends{numbers_.tooMany(message().group)};
}

/// Its key is asked for by itself: it may have come meanwhile.
Decision Delivery::letGo(const Now& now) {
  if (!head_.isFirst) return CommitFirst{};
  if (state_.dedups() && !key_.isLookedUp) return Action{Look{head_.message}};
  if (key_.isKnown) return admit();
  const AttemptRecord& record = *state_.histories.attemptsOf(message().id);
  return deadLetter("released: " + record.lastError, record.attempts, true, now);
}

/// It waits for its next attempt, or for an operator's word.
Decision Delivery::standStill(const Now& now) {
  if (!head_.isFirst) return CommitFirst{};
  HeadOfLineBlock& block = state_.histories.block;
  const MessageId& id = message().id;
  if (block.isQuestionDue(id, now.boot)) {
    block.asked(id, now.boot);
    return Action{Inquire{}};
  }
  const BootTime until = block.nextStep(id);
  if (state_.role == Role::total) return Waits{until};
  return GivesBack{until};
}

/// Until an operator lets us go on.
Decision Delivery::standDown(const Now& now) {
  if (!head_.isFirst) return CommitFirst{};
  if (now.boot < nextWord_) return Waits{nextWord_};
  nextWord_ = now.boot + 1s;
  return Action{Inquire{}};
}

void Delivery::inquired(const ConsumerState& found) {
  if (state_.streak().isStopped()) {
    if (state_.streak().heard(found.facts.streak)) state_.tell(ConsumerResumed{});
    return;
  }
  for (const AttemptRecord& attempt : found.attempts)
    if (attempt.id == message().id && attempt.state == AttemptState::released) state_.histories.release(attempt.id);
}

Decision Delivery::looked(bool known) {
  key_.isLookedUp = true;
  key_.isKnown = known && state_.dedups();
  return GoesOn{};
}

/// Makes the attempt at a suspect durable before its handler starts.
Decision Delivery::charge(const Now& now) {
  if (!head_.isFirst) return CommitFirst{};  // among many it has neighbours
  const int attempt = attemptNumber();
  const AttemptRecord* before = state_.histories.attemptsOf(message().id);
  const bool died = state_.histories.hasDied(message().id);
  if (attempt > state_.options.attempts()) {
    if (!state_.blocks()) {
      if (died) state_.log.died(*before);
      const std::string why = died ? std::string(processDied) + " during its last attempt" : before->lastError;
      return deadLetter(why, attempt - 1, true, now);
    }
    if (!state_.histories.block.holds(message().id)) {  // each attempt costs a process: the next comes as late as any
      AttemptRecord& blocked = record(attempt - 1, before->lastError, now);
      blocked.state = AttemptState::blocked;
      blocked.processDied = died;
      return CommitFirst{};
    }
  }
  if (died) {  // and nobody was left to tell
    state_.booking.news.push_back(AttemptFailed{message().id.value, before->attempts, before->lastError, 0ms});
    state_.log.died(*before);
  }
  before_ = before != nullptr ? std::optional(*before) : std::nullopt;
  record(attempt, {}, now).begunBy = state_.token;
  state_.booking.charges = true;
  state_.booking.news.push_back(MessageSuspected{message().id.value, attempt});
  return CommitFirst{};
}

void Delivery::takeBackCharge() {
  if (before_ && (before_->attempts > 0 || before_->postponements.times > 0))
    state_.booking.record = before_;
  else
    state_.booking.cleared = charged_;
}

void Delivery::rest(const Now& now) {
  const auto wait = retryDelays_.after(refused_->times);
  notBefore_ = now.boot + wait;
  state_.tell(Warned{"message \"" + escaped(refused_->id.value) +
                     "\" is neither done nor a dead letter, and is tried again in " + formatDuration(wait) + ": " +
                     refused_->why});
}

// --- its key

Decision Delivery::admitted(Admission admission, const Now& now) {
  const bool ranInTransaction = key_.marked;
  key_.marked = key_.isAdmitted = true;
  if (admission == Admission::duplicate && ranInTransaction) return startOver();
  if (admission != Admission::fresh) return dropKnown(admission, now);
  if (state_.takesFirst()) {
    state_.booking.takes = true;
    return Settled{};
  }
  if (ranInTransaction || hasRunBefore()) return Settled{};
  return state_.options.handlerIsExternal ? startOver() : run(now);
}

Decision Delivery::foundKey() {
  refused_.reset();
  repeat_ = message().id;
  return startOver();
}

/// The head's key came or went after it was looked up: once more, without the store's lock.
Decision Delivery::startOver() {
  state_.booking.news.clear();
  return Action{Abandon{}};
}

/// Its key is there already, and says that its body is the same, or another one.
Decision Delivery::dropKnown(Admission admission, const Now& now) {
  if (admission == Admission::reused)
    return deadLetter("its id was used before with another body", attemptNumber() - 1, false, now);
  return dropRepeat();
}

}  // namespace tenure::consuming
