#include "consumer/delivery.hpp"

#include <algorithm>

#include "base/backoff.hpp"
#include "base/text.hpp"
#include "consumer/charges.hpp"
#include "consumer/limits.hpp"

namespace tenure::consuming {

using namespace std::chrono_literals;
using Decision = Delivery::Decision;

// --- before it starts

Decision Delivery::begin(const Head& head, const Now& now) {
  takeUp(head);
  if (state_.streak().isStopped()) return standDown(now);
  if (state_.streak().isLeftOver()) return CommitFirst{};  // before anything new is recorded in its place
  if (head_.mayHaveCome && wasCommitted()) return dropRepeat();
  if (const std::string_view why = brokenLimit(message()); !why.empty()) return refuse(why, now);
  if (isRefused() && !state_.histories.isReleased(message().id)) return cannotBeStored(now);
  if (auto turn = findTurn(now)) return *std::move(turn);
  if (state_.histories.isReleased(message().id)) return deadLetterReleased(now);
  const HeadOfLineBlock& block = state_.histories.block;
  if (block.any() && block.holds(message().id) && !block.mayGo(message().id, now.boot)) return standStill(now);
  return atItsTurn(now);
}

Decision Delivery::atItsTurn(const Now& now) {
  if (state_.namesEach() && !head_.isNamed && !hasRunBefore())  // it is named with a commit, when it waits for nothing
    return needsTurn() ? askForTurn() : CommitFirst{};
  if (!state_.dedups()) return beginWithoutKey(now);
  if (beginsUnlocked() && !key_.isLookedUp) return Question{LooksUpKey{}};
  const bool onlyItsKeyIsLeft = key_.isKnown || hasRunBefore() || repeat_ == message().id;
  if (onlyItsKeyIsLeft) return admit();
  if (needsTurn()) return askForTurn();
  if (needsCharge()) return charge(now);
  if (needsAnswer() && !isHeard()) return gather();
  if (needsAnswer() && !head_.isFirst) return CommitFirst{};  // it is given out after it has begun
  return beginsUnlocked() ? run(now) : admit();
}

void Delivery::takeUp(const Head& head) {
  head_ = head;
  hasBegun_ = false;
  logged_.reset();
  isDying_ = false;
}

/// A store that was away is asked for something first, or the handler would be run in vain. Not once a transaction is
/// open: lanes that share a store would wait for their own turn in it.
Decision Delivery::beginWithoutKey(const Now& now) {
  if (head_.isFirst && head_.storeIsAway && !key_.isLookedUp) return Question{LooksUpKey{}};
  if (hasRunBefore()) return Settled{};
  if (needsTurn()) return askForTurn();
  if (needsCharge()) return charge(now);
  return run(now);
}

/// A key that is already part of it, or a handler that has run, waits for nothing.
bool Delivery::needsTurn() const {
  return head_.isCounted && turn_ != message().id && !hasRunBefore() && !tokens_.contains(message().id) && !isSkip();
}

void Delivery::bringTokens(std::span<const MessagePtr> messages) {
  for (const MessagePtr& message : messages) tokens_.insert(message->id);
}

std::vector<supply::Place> Delivery::unbegun(std::span<const MessagePtr> settled) const {
  std::vector<supply::Place> places;
  if (tokens_.empty() || state_.pendingWrites.takes) return places;
  for (const MessagePtr& message : settled)
    if (tokens_.contains(message->id)) places.push_back(message.place());
  return places;
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
  return heldBack(*heldUntil);
}

/// A message waits at the supply, with its group. A suspect waits here: no message overtakes it.
Decision Delivery::heldBack(BootTime until) {
  return head_.isFirstOfAll || state_.isOneLine() ? Decision(Waits{until}) : GivesBack{until};
}

/// The message may be a dead letter already: a foreign source delivers it again if its acknowledgement was lost.
Decision Delivery::refuse(std::string_view why, const Now& now) {
  const bool hasKey = state_.dedups() && isWithinLimits(message().id);
  if (hasKey && !head_.isFirst) return CommitFirst{};
  if (hasKey && !key_.isLookedUp) return Question{LooksUpKey{}};
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
  const Turn turn = head_.message.standing().turn;
  const bool hasCome = turn == Turn::behind || turn == Turn::conflicting || turn == Turn::reused;
  if (hasCome && isSkip()) return dropRepeat();
  switch (turn) {
    case Turn::any:
    case Turn::next: return std::nullopt;
    case Turn::early: return refuse("it comes before its turn, and the store refused to keep it until then", now);
    case Turn::waiting: return dropRepeat();
    case Turn::crowded: return tooManyWait();
    case Turn::unreadable: return refuse("its number is not a whole number from 1 to 10^15", now);
    case Turn::conflicting: return refuse("another message waits under its number", now);
    case Turn::reused: return deadLetter("its id waits already, with another body", attemptNumber() - 1, false, now);
    case Turn::behind: break;
  }
  if (!state_.dedups()) return dropRepeat();
  return refuse("its number is past: it comes too late, or another message had it", now);
}

Decision Delivery::dropRepeat() {
  state_.pendingWrites.news.push_back(DuplicateDropped{message().id.value});
  return Settled{false};
}

Decision Delivery::tooManyWait() {
  if (!head_.isFirst) return CommitFirst{};
  return Ends{Error{Errc::gapTooOld, std::to_string(state_.options.maxKept) + " messages of group \"" +
                                         escaped(message().group.value) + "\" wait for number " +
                                         std::to_string(head_.message.standing().number)}};
}

/// The key is looked up separately: it may have been stored meanwhile.
Decision Delivery::deadLetterReleased(const Now& now) {
  if (!head_.isFirst) return CommitFirst{};
  if (state_.dedups() && !key_.isLookedUp) return Question{LooksUpKey{}};
  if (key_.isKnown) return admit();
  const AttemptRecord& record = *state_.histories.attemptsOf(message().id);
  return deadLetter("released: " + record.lastError, record.attempts, true, now);
}

/// The message waits for its next attempt, or until an operator releases it.
Decision Delivery::standStill(const Now& now) {
  if (!head_.isFirst) return CommitFirst{};
  HeadOfLineBlock& block = state_.histories.block;
  const MessageId& id = message().id;
  if (block.isQuestionDue(id, now.boot)) {
    block.asked(id, now.boot);
    return Question{AsksOperator{}};
  }
  const BootTime until = block.nextStep(id);
  return state_.isOneLine() ? Decision(Waits{until}) : GivesBack{until};
}

/// Until an operator lets us go on.
Decision Delivery::standDown(const Now& now) {
  if (!head_.isFirst) return CommitFirst{};
  if (now.boot < nextWord_) return Waits{nextWord_};
  nextWord_ = now.boot + 1s;
  return Question{AsksOperator{}};
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
  if (died) {  // its leader died before it could tell
    state_.pendingWrites.news.push_back(AttemptFailed{message().id.value, before->attempts, before->lastError, 0ms});
    state_.log.died(*before);
  }
  before_ = before != nullptr ? std::optional(*before) : std::nullopt;
  record(attempt, {}, now).begunBy = state_.token;
  state_.pendingWrites.charges = true;
  state_.pendingWrites.news.push_back(MessageSuspected{message().id.value, attempt});
  return CommitFirst{};
}

void Delivery::takeBackCharge() {
  if (before_ && (before_->attempts > 0 || before_->postponements.times > 0))
    state_.pendingWrites.record = before_;
  else
    state_.pendingWrites.cleared = charged_;
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
  return keyIsNew(ranInTransaction, now);
}

Decision Delivery::keyIsNew(bool ranInTransaction, const Now& now) {
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
  state_.pendingWrites.news.clear();
  return Question{StartsOver{}};
}

/// The key is stored already, with the same body or another one.
Decision Delivery::dropKnown(Admission admission, const Now& now) {
  if (admission == Admission::reused)
    return deadLetter("its id was used before with another body", attemptNumber() - 1, false, now);
  return dropRepeat();
}

// --- from the start of its handler to its end in the transaction

Decision Delivery::run(const Now& now) {
  if (const std::string* why = state_.skipReasonOf(message())) return letPass(*why, now);
  runBegan_ = now.boot;
  state_.log.began(answered_ == message().id ? answerBegan_ : now.wall);
  turn_.reset();
  if (!tokens_.empty()) tokens_.erase(message().id);
  skipped_.reset();
  handlerStarts();
  return isHeard() ? Decision(Question{Begins{}}) : start();
}

/// Nothing of it is to be undone, and whatever token it came with goes back.
Decision Delivery::letPass(const std::string& why, const Now& now) {
  skipped_ = MessageSkipped{message().id.value, shortened(why, longestReason)};
  state_.log.began(now.wall);
  logEnd(AttemptEnd::skipped, skipped_->reason, now);
  return handled();
}

Decision Delivery::begun(std::vector<Message> others) {
  state_.coalesced.begins(head_.message, std::move(others));
  return start();
}

/// A coalesced message, and one that a rate counts, begins before it is given out: it stands for what has come until
/// then, or takes its token.
Decision Delivery::start() {
  hasBegun_ = true;
  if (needsAnswer()) return gather();
  const bool marks = !state_.options.handlerIsExternal && !key_.marked;
  key_.marked = key_.marked || marks;
  return Question{Runs{attemptNumber(), marks}};
}

Decision Delivery::gathered(const Gathered& gathered, const Now& now) {
  if (!gathered.isHere && !head_.isFirst) return CommitFirst{};
  if (gathered.wasLost) turn_.reset(), tokens_.erase(message().id);  // each start takes a token
  if (!gathered.isHere) return startOver();
  answered_ = message().id;
  answerBegan_ = gathered.began;
  isWithoutEffects_ = !gathered.hasEffects;
  if (!hasBegun_) return beginsUnlocked() ? run(now) : admit();
  runBegan_ = now.boot;
  state_.log.began(answerBegan_);
  return start();
}

Decision Delivery::ran(const Outcome& outcome, const Now& now) {
  lastRun_ = now.boot - runBegan_;
  switch (outcome.kind) {
    case Outcome::Kind::done: logEnd(AttemptEnd::done, {}, now); return handled();
    case Outcome::Kind::skip: return skip(outcome, now);
    case Outcome::Kind::retryLater: return postpone(outcome, now);
    case Outcome::Kind::failed: return attemptFailed(outcome, now);
    case Outcome::Kind::reject: break;
  }
  return rejected(outcome, now);
}

Decision Delivery::rejected(const Outcome& outcome, const Now& now) {
  logEnd(AttemptEnd::rejected, outcome.reason, now);
  return deadLetter(outcome.reason, attemptNumber(), true, now);
}

Decision Delivery::handled() {
  if (key_.isAdmitted) return Settled{};
  if (state_.options.handlerIsExternal) ran_ = message().id;
  return state_.dedups() ? admit() : Decision(Settled{});
}

Decision Delivery::skip(const Outcome& outcome, const Now& now) {
  skipped_ = MessageSkipped{message().id.value, outcome.reason};
  logEnd(AttemptEnd::skipped, outcome.reason, now);
  return key_.marked ? Decision(Question{Undoes{}}) : handled();
}

Decision Delivery::undone(const Now&) {
  key_.isAdmitted = false;
  return handled();
}

Decision Delivery::overstrained(const Head& head, const std::string& why, const Now& now) {
  takeUp(head);
  return attemptFailed(Outcome::failed(shortened(why, longestReason)), now);
}

Decision Delivery::heldUp(const Head& head, const std::string& why, const Now& now) {
  takeUp(head);
  return postpone(Outcome::retryLater(shortened(why, longestReason)), now);
}

Decision Delivery::known(const Head& head, Admission admission, const Now& now) {
  takeUp(head);
  return dropKnown(admission, now);  // no mark stands before it: what it would undo belongs to those before
}

Decision Delivery::attemptFailed(const Outcome& outcome, const Now& now) {
  const int attempt = attemptNumber();
  const bool last = attempt >= state_.options.attempts();
  logEnd(AttemptEnd::failed, outcome.reason, now);
  if (last && !state_.blocks()) return deadLetter(outcome.reason, attempt, true, now);
  const auto wait = last ? longestRetryDelay(state_.options) : retryDelays_.after(attempt);
  AttemptRecord& failed = record(attempt, outcome.reason, now);
  failed.nextAt = now.wall + wait;
  state_.pendingWrites.news.push_back(AttemptFailed{message().id.value, attempt, outcome.reason, wait});
  if (last) {
    failed.state = AttemptState::blocked;
    return CommitFirst{};
  }
  tellWhoHoldsUp(wait, outcome.reason, now);
  if (waitsElsewhere()) return GivesBack{now.boot + wait};
  notBefore_ = now.boot + wait;
  return CommitFirst{};
}

/// As soon as it is certain, before its next attempt begins.
void Delivery::tellWhoHoldsUp(std::chrono::milliseconds wait, const std::string& why, const Now& now) {
  if (!state_.isOneLine()) return;
  if (heldUp_.id != message().id) heldUp_ = {message().id, now.boot, BootTime::min()};
  const Duration held = now.boot - heldUp_.since;
  if (held + wait < 10s || now.boot < heldUp_.nextWord) return;
  heldUp_.nextWord = now.boot + 1min;
  state_.pendingWrites.news.push_back(
      QueueHeldUp{message().id.value, std::chrono::floor<std::chrono::milliseconds>(held), wait, why});
}

Decision Delivery::postpone(const Outcome& outcome, const Now& now) {
  const auto& after = outcome.retryAfter;
  const Postponements& so = state_.histories.postpone(message().id, now.wall);
  const auto wait = after > 0ms ? after : retryDelays_.after(so.times);
  state_.pendingWrites.news.push_back(MessagePostponed{message().id.value, outcome.reason, wait});
  tellWhoHoldsUp(wait, outcome.reason, now);
  if (auto stuck = state_.notes->stuck.postponed(message().id, so, outcome.reason, now.wall, now.boot))
    state_.pendingWrites.news.push_back(*std::move(stuck));
  notePostponed(outcome.reason, so, wait, now);
  logEnd(AttemptEnd::postponed, outcome.reason, now);
  const bool givesBack = waitsElsewhere();
  if (!givesBack) notBefore_ = now.boot + wait;
  const PendingWrites& pendingWrites = state_.pendingWrites;
  const bool saysAnything =
      !head_.isFirst || pendingWrites.record || pendingWrites.cleared || !state_.log.lines().empty();
  if (givesBack) return GivesBack{now.boot + wait, true};
  if (saysAnything || state_.namesEach()) return CommitFirst{};
  return Question{StartsOver{}};
}

void Delivery::notePostponed(const std::string& why, const Postponements& so, std::chrono::milliseconds wait,
                             const Now& now) {
  if (!now.stopAsked)  // else it may be its leader's word
    recordPostponed(why, so, wait, now);
  else if (isCharged())
    takeBackCharge();
}

// --- its end

Decision Delivery::deadLetter(std::string_view reason, int attempts, bool withKey, const Now& now) {
  death_ = {message().id, std::string(reason), attempts, withKey, logged_};
  isDying_ = true;
  const AttemptRecord* before = state_.histories.attemptsOf(message().id);
  return Question{Dies{.reason = death_.reason,
                       .attempts = attempts,
                       .firstAt = before != nullptr ? before->firstAt : now.wall,
                       .undo = key_.marked,
                       .withKey = withKey && state_.dedups(),
                       .withoutBody = isRefused() && refused_->death && refused_->times > 1}};
}

/// Releasing a message does not count towards `deadLetterLimit`.
void Delivery::deadLettered(const Now& now) {
  PendingWrites& pendingWrites = state_.pendingWrites;
  pendingWrites.news.push_back(MessageDeadLettered{message().id.value, death_.reason, death_.attempts});
  pendingWrites.ends = true;
  if (!hasTaken() && state_.histories.isReleased(message().id)) return;
  if (std::exchange(pendingWrites.succeeded, false)) state_.streak().broken();
  const DeadLetterStreak::Death death = state_.streak().died(message().id, death_.reason, now.wall);
  if (death.counted) ++pendingWrites.deaths;
  if (death.stops) pendingWrites.news.push_back(ConsumerStopped{state_.streak().record().deaths, death_.reason});
}

void Delivery::settle(bool hadTurn, bool wasDeadLettered) {
  PendingWrites& pendingWrites = state_.pendingWrites;
  const bool ran = hadTurn && !isSkip();
  pendingWrites.succeeded = pendingWrites.succeeded || (ran && !pendingWrites.takes);
  if (state_.coalesces()) {
    if (!ran) state_.coalesced.dropped(head_.message);
    if (!ran && state_.isOneLine()) pendingWrites.ends = pendingWrites.leavesSuccessors = true;  // they would come next
    if (const std::size_t others = ran ? state_.coalesced.ran(head_.message) : 0; others > 0)
      pendingWrites.news.push_back(RequestsCoalesced{message().id.value, others});
  }
  if (const AttemptRecord* before = state_.histories.attemptsOf(message().id)) {
    if (before->state != AttemptState::retrying)
      pendingWrites.news.push_back(QueueUnblocked{message().id.value, wasDeadLettered ? "dead_lettered" : "done"});
    pendingWrites.cleared = message().id;
    pendingWrites.ends = true;
  }
  if (turn_ == message().id && !pendingWrites.takes) {  // it did not need it
    pendingWrites.unbegun.push_back(head_.message.place());
    turn_.reset();
  }
  if (state_.histories.settle(message().id)) state_.notes->stuck.over(message().id);
  if (skipped_ && skipped_->message == message().id.value && !wasDeadLettered) pendingWrites.news.push_back(*skipped_);
  forgetTransaction();
}

bool Delivery::isPlain(const Message& message) const {
  return brokenLimit(message).empty() && state_.histories.attemptsOf(message.id) == nullptr &&
         !(refused_ && refused_->id == message.id) && state_.skipReasonOf(message) == nullptr;
}

std::vector<MessagePtr> Delivery::plainOnes(std::span<const MessagePtr> messages) const {
  const auto isNext = [this](const MessagePtr& message) {
    return isPlain(*message) && message.standing().turn <= supply::Turn::next;
  };
  const auto end = messages.empty() ? messages.end() : std::find_if_not(messages.begin() + 1, messages.end(), isNext);
  return {messages.begin(), end};
}

int Delivery::attemptNumber() const {
  const AttemptRecord* before = state_.histories.attemptsOf(message().id);
  if (before == nullptr) return 1;
  return isCharged() ? before->attempts : before->attempts + 1;
}

AttemptRecord& Delivery::record(int attempts, const std::string& error, const Now& now) {
  const AttemptRecord* before = state_.histories.attemptsOf(message().id);
  AttemptRecord& made =
      state_.pendingWrites.record.emplace(AttemptRecord{message().id, attempts, error, now.wall, now.wall});
  if (before != nullptr) {
    made.firstAt = before->firstAt;
    made.state = before->state;
    made.postponements = before->postponements;
  }
  return made;
}

void Delivery::recordPostponed(const std::string& why, const Postponements& so, std::chrono::milliseconds wait,
                               const Now& now) {
  AttemptRecord& postponed = record(attemptNumber() - 1, why, now);
  postponed.postponements = so;
  postponed.nextAt = now.wall + wait;
}

void Delivery::logEnd(AttemptEnd end, const std::string& why, const Now& now) {
  logged_ = end;
  if (state_.log.isKept()) state_.log.ended(message().id, attemptNumber(), end, why, now.wall);
}

// --- what comes again where there are no keys

void Delivery::remember(std::span<const MessagePtr> committed) {
  std::size_t place = 0;
  for (const MessagePtr& message : committed)
    if (!message.standing().isKept && place++ >= unacknowledged_.size())
      unacknowledged_.emplace_back(message->id, digestOf(message->body));
}

void Delivery::acknowledged(std::size_t count) {
  const auto known = static_cast<std::ptrdiff_t>(std::min(count, unacknowledged_.size()));
  unacknowledged_.erase(unacknowledged_.begin(), unacknowledged_.begin() + known);
}

/// The first that is another one says that the rest was acknowledged after all.
bool Delivery::wasCommitted() {
  if (head_.place >= unacknowledged_.size()) return false;
  const auto& [id, digest] = unacknowledged_[head_.place];
  if (message().id == id && digestOf(message().body) == digest) return true;
  unacknowledged_.resize(head_.place);
  return false;
}

std::chrono::milliseconds RetryDelays::after(int failures) noexcept {
  if (const auto& delays = options_.retryDelays; !delays.empty())
    return delays[std::min(static_cast<std::size_t>(std::max(failures - 1, 0)), delays.size() - 1)];
  const std::chrono::milliseconds bound = doubled(options_.retryBase, options_.retryMax, failures);
  const auto jitter = random_.below(static_cast<std::uint64_t>(bound.count() / 2) + 1);
  return bound - std::chrono::milliseconds{jitter};
}

std::chrono::milliseconds longestRetryDelay(const ConsumerOptions& options) noexcept {
  const auto& delays = options.retryDelays;
  return delays.empty() ? options.retryMax : *std::max_element(delays.begin(), delays.end());
}

}  // namespace tenure::consuming
