#include "consumer/lane.hpp"

#include <algorithm>

#include "consumer/delivery_actions.hpp"
#include "consumer/errors.hpp"

namespace tenure::consuming {

namespace {

using namespace std::chrono_literals;

/// A lease that is late comes back with the next probe, or not at all.
constexpr std::chrono::milliseconds softLimitPause{20};
constexpr std::size_t leastReadAhead = 32;
/// Messages of one group that are taken together where groups are handled at the same time, and no other waits.
constexpr std::size_t longestRun = 8;
/// Until a lane that found no other group looks again, if it has committed nothing.
constexpr std::chrono::milliseconds besidePause{20};

std::unique_ptr<Delivery> deliveryOf(LaneState& state, Random random) {
  if (state.takesFirst()) return std::make_unique<TakenDelivery>(state, random);
  return std::make_unique<Delivery>(state, random);
}

}  // namespace

Lane::Lane(const ConsumerOptions& options, Random random, const Setup& setup)
    : atOnce_(setup.atOnce),
      state_(options, setup.reads, setup.together, setup.token, setup.notes, setup.takesSkips, setup.answers),
      outages_(state_, random.fork()),
      sweeper_(state_),
      inWork_(state_),
      delivery_(deliveryOf(state_, random.fork())),
      committer_(state_) {
  if (state_.reads) return;
  termState_.attached = true;
  queue_.setStartable(state_.takesFirst() ? inWork_.limit() : 0);
}

// --- phases

Action Lane::inaugurate(const Now& now) {
  phase_ = Phase::inaugurating;
  return proceed(now);
}

Action Lane::execute(const Now& now) {
  phase_ = Phase::executing;
  sliceBegan_ = now.boot;
  return proceed(now);
}

Action Lane::handOver(const Now& now) {
  phase_ = Phase::leaving;
  forgoWhatMayBeTaken("its leader left before that was known");
  forgetTransaction();
  const bool storeIsSound = termState_.recalled && !over_ && !outages_.storeIsAway() && committer_.isOutcomeKnown();
  if (TakenDelivery* taken = delivery_->taken()) {
    constexpr auto why = "its leader left while it was in work";
    if (storeIsSound) return taken->isDone() ? settle(true, false, now) : decide(taken->failed(why, now), now);
    taken->forgo(why);
  }
  if (!storeIsSound || outages_.any() || inWork_.state() == InWorkRecord::State::closed) return over(false);
  if (inWork_.isUnread() && inWork_.expects()) return over(false);  // its suspects stay on record as they are
  if (delivery_->hasCharge())                                       // with a start that did not come
    delivery_->takeBackCharge();
  else if (queue_.suspects() > 0 && inWork_.isOwn() && !inWork_.isNarrow())
    return over(false);
  return commit(now);
}

Action Lane::proceed(const Now& now) {
  if (phase_ == Phase::inaugurating) return becomeLeader(now);
  if (phase_ == Phase::leaving) return over(false);
  if (!committer_.isOutcomeKnown()) return askAgain(now);
  if (queue_.joined() > 0) return joinOrRun(now);
  if (queue_.settled() > 0 && committer_.isOver(queue_, delivery_->lastRun(), now)) return takeAheadOrCommit(now);
  if (TakenDelivery* taken = delivery_->taken()) return decide(taken->goOn(headOf(now), notBefore(), now), now);
  if (parkUntil_) return park();
  if (now.stopAsked && finishesBegun(now)) return beginHead(now);
  if (now.stopAsked) return over(false);
  // A lost source is attached at once, also while the head waits.
  if (!termState_.attached && now.mayBegin && now.boot >= outages_.notBefore()) return Attach{};
  if (now.boot < notBefore()) return waitFor(notBefore(), now);
  if (!now.mayBegin && finishesBegun(now)) return beginHead(now);
  if (!now.mayBegin) return waitFor(now.boot + softLimitPause, now);
  if (!termState_.attached) return Attach{};
  if (inWork_.isUnread()) return take(room(), onlyLook);  // before the first message of a term begins
  const Duration slice = std::max<Duration>(state_.options.idleWait, 20ms);
  if (queue_.settled() == 0 && now.boot - sliceBegan_ >= slice) return over(true);
  if (auto step = sweepStep(now)) return *std::move(step);
  // Reading may write what comes early, in a transaction of its own.
  if (wantsMessages() && state_.reads && state_.options.followNumbers && queue_.settled() > 0) return commit(now);
  if (wantsMessages())
    return take(room(), queue_.size() == 0 && !sweeper_.hasSwept() ? now.boot + state_.options.idleWait : onlyLook);
  const bool isPastSuspects = queue_.settled() == 0 && queue_.suspects() == 0 && !state_.takesFirst();
  if (state_.isOneLine() && isPastSuspects && !inWork_.isDeclared()) return Declare{inWork_.own()};
  return beginHead(now);
}

Return Lane::over(bool again) const {
  const bool hasAny = queue_.size() > 0 || delivery_->hasTaken() || parkUntil_;
  const bool mayGoOn = termState_.attached && committer_.isOutcomeKnown() && !inWork_.isUnread() &&
                       inWork_.isDeclared() && inWork_.coversFront();
  return {.again = again, .isIdle = !hasAny && mayGoOn, .isClosed = !inWork_.isOpen(), .isAtRest = isAtRest()};
}

Action Lane::becomeLeader(const Now& now) {
  if (now.stopAsked) return over(false);
  if (now.boot < notBefore()) return Wait{notBefore()};
  if (!termState_.claimed) return Claim{};
  if (!termState_.recalled) return Recall{};
  if (!termState_.attached) return Attach{};
  return over(true);
}

/// While the commit's outcome is unknown, nothing else may happen; and to leave now is no clean end.
Action Lane::askAgain(const Now& now) {
  if (now.stopAsked) return quit(trouble_);
  if (now.boot < notBefore()) return waitFor(notBefore(), now);
  return Resolve{};
}

Action Lane::waitFor(BootTime until, const Now& now) {
  const BootTime sliceEnd = sliceBegan_ + std::max<Duration>(state_.options.idleWait, 20ms);
  if (now.boot >= sliceEnd) return over(true);
  if (!tendsMeanwhile(now)) return Wait{std::min(until, sliceEnd)};
  const bool tends = now.boot >= nextTend_;
  if (tends) nextTend_ = now.boot + tendingPace;
  return Wait{std::min({until, sliceEnd, nextTend_}), tends};
}

/// Whether the source is tended while the head waits: messages whose time has come get to the queue then. With lanes
/// the reader tends it.
bool Lane::tendsMeanwhile(const Now& now) const noexcept {
  const bool isThere = !outages_.storeIsAway() || trouble_.is(Errc::transactionConflict);
  return state_.reads && termState_.attached && !hasOpenWork() && now.mayBegin && isThere;
}

std::optional<Action> Lane::sweepStep(const Now& now) {
  if (queue_.settled() > 0) return std::nullopt;
  auto step = sweeper_.step(supply_.dry && queue_.size() == 0, now);
  if (!step) return std::nullopt;
  if (auto* prune = std::get_if<Prune>(&*step))
    for (const MessagePtr& message : queue_.messages()) prune->here.push_back(message->id);
  return Sweep{*std::move(step)};
}

// --- the term's first steps

Action Lane::onRecalled(const ConsumerState& left, const Now& now) {
  outages_.wentWell(Side::store, now);
  termState_.recalled = true;
  inWork_.restore(left);
  if (!state_.reads) return proceed(now);
  const ConsumerFacts& facts = left.facts;
  sweeper_.restore(facts.clock, now);
  state_.streak().restore(facts.streak);
  if (state_.streak().isStopped()) state_.tell(ConsumerStopped{facts.streak->deaths, facts.streak->lastReason});
  return proceed(now);
}

// --- what comes

bool Lane::wantsMessages() const noexcept {
  if (queue_.settled() == queue_.size()) return true;
  if (!state_.reads) return false;
  const bool isNew = queue_.settled() == 0 && !supply_.topped;
  if (state_.coalesces() && state_.isOneLine()) return supply_.mayReadOn && (!supply_.dry || isNew);
  return isNew && queue_.size() < 2 * inWork_.limit();
}

/// How many more messages to take. Those taken before a commit are named by it and share the next one: a commit for
/// each group's few would cost more than their handlers. Only if handlers are quick, as a message taken waits for those
/// before it, of other groups as well; and only plain messages.
std::size_t Lane::wantsAhead(const Now& now) const noexcept {
  constexpr std::size_t leastWorth = 4;
  if (state_.reads || !isPlain() || supply_.areCounted || isDry(now) || queue_.suspects() > 0) return 0;
  if (phase_ != Phase::executing || now.stopAsked || !now.mayBegin || outages_.any()) return 0;
  const std::size_t ahead = spreads() ? atOnce_ : committer_.ahead();
  return spreads() || ahead >= leastWorth ? ahead - std::min(ahead, queue_.size() - queue_.settled()) : 0;
}

bool Lane::isPlain() const noexcept {
  return !state_.takesFirst() && !state_.together && !state_.coalesces() && !state_.options.followNumbers;
}

/// The lane takes messages of several groups, as its handler handles them at the same time.
bool Lane::spreads() const noexcept { return atOnce_ > 1 && isPlain() && !supply_.areCounted; }

Action Lane::takeAheadOrCommit(const Now& now) {
  const std::size_t ahead = wantsAhead(now);
  return ahead > 0 ? takeAhead(ahead) : commit(now);
}

std::size_t Lane::room() const noexcept {
  const std::size_t limit = inWork_.limit();
  if (spreads()) return std::min(atOnce_, longestRun);
  if (!state_.reads) return limit - std::min(queue_.settled(), limit);
  const std::size_t room = limit + std::max(limit, leastReadAhead);
  return room - std::min(room - 1, queue_.size());
}

Action Lane::take(std::size_t max, BootTime until) {
  return Take{.max = max, .until = until, .ran = delivery_->whoseRunIsOver(), .spreads = spreads()};
}

Action Lane::takeAhead(std::size_t max) {
  return Take{.max = max, .until = onlyLook, .ahead = true, .spreads = spreads()};
}

Action Lane::onTaken(Supplied supplied, const Now& now) {
  if (supplied.asked) outages_.wentWell(Side::source, now);
  state_.histories.know(std::move(supplied.histories));
  for (MessageHeldBack& other : supplied.heldBack) state_.tell(std::move(other));
  const supply::Assignment& assignment = supplied.assignment;
  supply_.areCounted = supplied.areCounted;
  supply_.mayReadOn = supplied.mayReadOn;
  supply_.attachment = assignment.attachment;
  supply_.assignments = assignment.number;
  if (supplied.haveTokens) delivery_->bringTokens(supplied.messages);
  if (!state_.reads && queue_.startable() >= queue_.size())
    queue_.setStartable(std::max(queue_.startable(), queue_.size() + supplied.startable));
  if (supplied.asked) {
    supply_.topped = true;
    supply_.dry = supplied.dry;
    supply_.dryUntil = now.boot + besidePause;
    sweeper_.mayGoOn();
  }
  const auto suspects = static_cast<std::size_t>(std::ranges::count(assignment.items, true, &supply::Item::isSuspect));
  queue_.add(std::move(supplied.messages));
  inWork_.onArrived(queue_, assignment.items.size(), suspects);
  if (supplied.isScan && inWork_.isUnread()) return scanned(now);
  if (queue_.size() == 0 && !inWork_.isUnread()) return emptied(now);
  if (queue_.settled() > 0 && queue_.settled() == queue_.size()) state_.pendingWrites.ends = true;
  return proceed(now);
}

Action Lane::scanned(const Now& now) {
  inWork_.scanned(queue_);
  supply_.topped = supply_.topped && queue_.suspects() == 0;
  if (queue_.suspects() > 0) state_.tell(SuspectsFound{queue_.suspects(), inWork_.together(queue_)});
  if (state_.isOneLine()) sweeper_.start(now.boot);
  return proceed(now);
}

/// There is nothing left to do.
Action Lane::emptied(const Now& now) {
  const bool handsOverToLanes = state_.precedesLanes() && !now.stopAsked;
  if (handsOverToLanes) inWork_.recovered();
  if (handsOverToLanes && (sweeper_.toWrite() || !inWork_.coversFront() || inWork_.isOfSuspects()))
    return commit(now);  // before any key of theirs
  if (handsOverToLanes && !inWork_.isDeclared()) return Declare{inWork_.own()};
  return over(state_.options.idleWait > 0ms && !now.stopAsked);
}

// --- the head

Head Lane::headOf(const Now& now) const {
  Head head{.isFirst = queue_.settled() == 0,
            .isNamed = queue_.startable() > 0,
            .isCounted = state_.isOneLine() ? now.isLimited : supply_.areCounted,
            .storeIsAway = outages_.storeIsAway()};
  if (queue_.settled() + queue_.joined() >= queue_.size()) return head;
  head.message = queue_.head();
  head.mayHaveCome = delivery_->remembersAny() && isOfSource(head.message);
  if (head.mayHaveCome) head.place = queue_.settledOfSource();
  head.isFirstOfAll = queue_.isSuspect();
  // A message that a process has died of already is charged before it begins, however many suspects there are.
  head.isSuspect = queue_.isSuspect() && (!queue_.narrows() || state_.histories.hasDied(head.message->id));
  return head;
}

Action Lane::beginHead(const Now& now) {
  const bool mayBegin = !state_.streak().isStopped() && !state_.streak().isLeftOver();
  // A successor would not find it among its suspects.
  const bool isNamedFirst = !state_.reads || queue_.narrows();
  if (mayBegin && isNamedFirst && (!inWork_.mayBegin(queue_) || areUnnamed())) return takeAheadOrCommit(now);
  if (queue_.settled() == 0) committer_.begin(now.boot);
  if (mayBegin && joins(now)) return join(now);
  if (const Message& head = *queue_.head(); !toldOfHorizon_ && sweeper_.isBeyondHorizon(head, now.wall)) {
    toldOfHorizon_ = true;
    state_.tell(BeyondHorizon{head.id.value, now.wall - head.enqueuedAt});
  }
  return decide(delivery_->begin(headOf(now), now), now);
}

/// Messages of other groups would be given out now, if they were on record.
bool Lane::areUnnamed() const noexcept {
  const std::size_t named = std::min(queue_.size(), committer_.size() + ahead_);
  return spreads() && queue_.settled() == 0 && queue_.suspects() == 0 && queue_.apart() == 0 &&
         queue_.startable() < named;
}

Action Lane::decide(Delivery::Decision decision, const Now& now) {
  return std::visit(Each{[&](Delivery::Question& question) { return actionOf(std::move(question), delivery_->head()); },
                         [&](Delivery::Settled& settled) { return settle(settled.ran, false, now); },
                         [&](Delivery::CommitFirst&) { return commit(now); },
                         [&](Delivery::Waits& waits) { return waitFor(waits.until, now); },
                         [&](Delivery::GivesBack& how) { return giveBack(how, now); },
                         [&](Delivery::GoesOn&) { return proceed(now); },
                         [&](Delivery::Ends& ends) { return quit(ends.why.value_or(trouble_)); }},
                    decision);
}

/// First commits what the transaction says of other messages, or of this one.
Action Lane::giveBack(const Delivery::GivesBack& how, const Now& now) {
  parkUntil_ = how.until;
  const PendingWrites& pendingWrites = state_.pendingWrites;
  if (queue_.settled() > 0 || pendingWrites.record || pendingWrites.cleared || (how.ran && !state_.log.lines().empty()))
    return commit(now);
  return how.ran ? Abandon{} : proceed(now);
}

Action Lane::settle(bool ran, bool wasDeadLettered, const Now& now) {
  delivery_->settle(ran, wasDeadLettered);
  if (delivery_->hasTaken()) return commit(now);
  queue_.settle();
  return proceed(now);
}

Action Lane::onAdmitted(Admission admission, const Now& now) {
  if (!std::exchange(joining_, false)) return decide(delivery_->admitted(admission, now), now);
  if (admission == Admission::fresh) return joinHead(now);
  // The message is admitted again when the joined ones are done.
  if (queue_.joined() > 0) return HandleTogether{{queue_.joinedOnes().begin(), queue_.joinedOnes().end()}};
  return decide(delivery_->known(headOf(now), admission, now), now);
}

Action Lane::onGathered(const Gathered& gathered, const Now& now) {
  if (gathered.isHere || queue_.settled() == 0) begunBehind_ = gathered.behind;
  if (gathered.takesMore) return takeAhead(wantsAhead(now));
  const bool isOther = !gathered.first.empty() && queue_.bringForward({gathered.first.begin(), gathered.first.end()});
  if (isOther) return Abandon{};
  if (!gathered.isHere && queue_.settled() > 0) return takeAheadOrCommit(now);
  if (gathered.isHere) ahead_ = std::max<std::size_t>(gathered.ahead, 1);
  // No message begins any more, and others have begun: this one goes back to the supply, and they are finished.
  const bool goesBack = (now.stopAsked || !now.mayBegin) && !gathered.isHere && begunBehind_ > 0;
  if (goesBack) return giveBack({.until = now.boot}, now);
  if (gathered.isHere && queue_.settled() == 0) committer_.begin(now.boot);
  return decide(delivery_->gathered(gathered, now), now);
}

/// While no message may begin: whether some have begun before, which the lane finishes.
bool Lane::finishesBegun(const Now& now) noexcept {
  const bool isHeldUp = outages_.any() || delivery_->hasTaken() || state_.streak().isStopped();
  if (isHeldUp || !now.mayFinish || queue_.size() == 0) begunBehind_ = 0;
  return begunBehind_ > 0;
}

/// The head is handled without others.
bool Lane::isAlone(const Now& now) const {
  return delivery_->hasTaken() || state_.takesFirst() || state_.coalesces() || queue_.suspects() > 0 ||
         queue_.settled() > 0 || queue_.size() == 0 || queue_.apart() > 1 || headOf(now).isCounted || outages_.any() ||
         delivery_->remembersAny();
}

std::span<const MessagePtr> Lane::mayBegin(const Now& now) const {
  if (isAlone(now)) return {};
  return queue_.messages().first(std::min({queue_.startable(), committer_.size() + ahead_, queue_.size()}));
}

/// None that a death, a limit or a key of another message may keep from its turn.
std::vector<MessagePtr> Lane::startable(const Now& now) const { return delivery_->plainOnes(mayBegin(now)); }

Action Lane::onStale(const Now&) {
  state_.pendingWrites.news.clear();
  return Abandon{};
}

/// A handler does not start after a stop, or while the lease is late. What is taken has its start in any case.
std::optional<Action> Lane::reconsider(const Now& now) {
  const bool mayStart = !now.stopAsked && now.mayBegin;
  if (mayStart || queue_.settled() > 0 || delivery_->hasTaken() || state_.answers) return std::nullopt;
  return onStale(now);
}

Action Lane::onInquired(const ConsumerState& found, const Now& now) {
  delivery_->inquired(found);
  return wentWell(now);
}

// --- what is forgotten

Action Lane::onClockRead(const std::optional<WallTime>& storesClock, const Now& now) {
  outages_.wentWell(Side::store, now);
  sweeper_.lookedAt(storesClock, now);
  return queue_.settled() == 0 && queue_.size() == 0 ? commit(now) : proceed(now);
}

Action Lane::onPruned(const Pruned& pruned, const Now& now) {
  sweeper_.pruned(pruned, now);
  return wentWell(now);
}

Action Lane::onLogPruned(std::size_t removed, const Now& now) {
  sweeper_.logPruned(removed, now);
  return wentWell(now);
}

// The lane's answers without a value, and its failures: what is tried again, what a message has to answer for, and what
// ends the term.

/// An outage of the source is over when it delivers.
Action Lane::on(Done<Attach>, const Now& now) {
  termState_.attached = true;
  if (queue_.suspects() > 0) {
    inWork_.unread();
    inWork_.expectAgain();
    queue_.setSuspects(0);
  }
  queue_.drop();
  supply_ = {.areCounted = supply_.areCounted, .attachment = supply_.attachment, .assignments = supply_.assignments};
  return proceed(now);
}

Action Lane::on(Done<WriteDeadLetter>, const Now& now) {
  delivery_->deadLettered(now);
  return settle(false, true, now);
}

Action Lane::on(Done<Abandon>, const Now& now) {
  committer_.tellNews();
  forgetTransaction();
  return proceed(now);
}

/// The consequence of a failure that is the same for each action; nullopt: this failure has another for each.
std::optional<Action> Lane::beyondOneAction(const Error& error, bool mayHaveLanded, const Now& now) {
  if (!mayHaveLanded) parkUntil_.reset();
  if (phase_ == Phase::leaving) {
    if (TakenDelivery* taken = delivery_->taken()) taken->forgo(error.message());
    state_.tell(Warned{"what is in work could not be cleared: " + error.message()});
    return over(false);
  }
  if (isTermOver(error.code)) return quit(error);
  if (error.is(Errc::transactionConflict) && !delivery_->hasTaken()) return undoneByOthers(error, now);
  return std::nullopt;
}

Action Lane::handlerFailed(const Error& error, const Now& now) {
  const bool isTooMuch = error.is(Errc::heldTooLong) || isRefusal(error);
  return isTooMuch && !delivery_->hasTaken() ? overstrained(error, 0, now) : storeFailed(error, now);
}

Action Lane::goOn(const Failed<Admit>& failed, const Now& now) {
  const Error& error = failed.error;
  if (delivery_->hasTaken()) return storeFailed(error, now);
  if (error.is(Errc::heldTooLong)) return overstrained(error, 0, now);
  if (!isRefusal(error)) return storeFailed(error, now);
  return refusedByStore(queue_.head()->id, error, error.is(Errc::commitRefused), now);
}

Action Lane::goOn(const Failed<Commit>& failed, const Now& now) {
  const Error& error = failed.error;
  if (isOutcomeUnknown(error.code)) {
    trouble_ = error;
    committer_.outcomeIsUnknown();
    return Resolve{};
  }
  if (queue_.settled() == 0 || delivery_->hasTaken()) return storeFailed(error, now);
  if (error.is(Errc::heldTooLong)) return overstrained(error, 1, now);
  const bool isOfOne = isRefusal(error) || error.is(Errc::rowLocked);
  if (!isOfOne) return storeFailed(error, now);
  // Too much for one transaction, or against a rule that is checked at its end: its messages one at a time, and the one
  // whose fault it is, aside.
  if (queue_.settled() > 1) {
    queue_.separate();
    forgetTransaction();
    queue_.setStartable(1);
    return proceed(now);
  }
  if (isRefusal(error)) return refusedByStore(queue_.messages().front()->id, error, error.is(Errc::commitRefused), now);
  forgetTransaction();
  return decide(delivery_->heldUp(headOf(now), error.message(), now), now);
}

Action Lane::goOn(const Failed<Resolve>& failed, const Now& now) {
  return isTransient(failed.error) ? troubled(Side::store, failed.error, now) : quit(failed.error);
}

Action Lane::sideStepFailed(const Error& error, const Now& now) {
  if (!isOutcomeUnknown(error.code)) return storeFailed(error, now);
  trouble_ = error;
  committer_.outcomeIsUnknown();
  repeats_ = true;
  return Resolve{};
}

/// A conflict. The batch is handled again; after a second one its first message alone, while all other lanes wait. A
/// third conflict cannot come from a lane: it counts as an outage.
Action Lane::undoneByOthers(const Error& error, const Now& now) {
  const int times = committer_.undo();
  if (times > 1) queue_.separate();
  forgetTransaction();
  if (times > 2) return troubled(Side::store, error, now);
  if (times == 1) state_.tell(Warned{"a batch is handled again: " + error.message()});
  if (times > 1) queue_.setStartable(std::min<std::size_t>(queue_.startable(), 1));
  return proceed(now);
}

/// A handler asked more of its transaction, in time or in size, than the store allows. A message alone in it is the
/// cause. Else each message comes alone next time, when its handler may compute before it holds anything.
Action Lane::overstrained(const Error& error, std::size_t settledAlone, const Now& now) {
  const bool isAlone = queue_.joined() == 0 && queue_.settled() == settledAlone;
  queue_.separate();
  forgetTransaction();
  if (isAlone) return decide(delivery_->overstrained(headOf(now), error.message(), now), now);
  queue_.setStartable(1);
  return proceed(now);
}

Action Lane::storeFailed(const Error& error, const Now& now) {
  if (delivery_->hasTaken()) return takenRefused(error, now);
  forgetTransaction();
  return isTransient(error) ? troubled(Side::store, error, now) : quit(error);
}

Action Lane::refusedByStore(const MessageId& id, const Error& error, bool counts, const Now& now) {
  const bool goesOn = delivery_->refusedByStore(id, error.message(), counts);
  forgetTransaction();
  if (!goesOn) delivery_->rest(now);
  return proceed(now);
}

Action Lane::goOn(const Failed<Report>& failed, const Now& now) {
  if (!state_.dedups()) delivery_->remember(queue_.settledOnes());
  parkUntil_.reset();  // all of it comes again
  queue_.leave();
  forgetTransaction();
  return sourceFailed(failed.error, now);
}

/// Delivery starts again at the next attach, with what was not acknowledged; what is in hand is committed first.
Action Lane::sourceFailed(const Error& error, const Now& now) {
  termState_.attached = !state_.reads;
  state_.pendingWrites.ends = queue_.settled() > 0;
  return isTransient(error) ? troubled(Side::source, error, now) : quit(error);
}

/// The handler has had its one start: what the store did not take becomes a dead letter, where the store is away as
/// soon as it is back. What an external handler has done is done. After a conflict the lane keeps other lanes out.
Action Lane::takenRefused(const Error& error, const Now& now) {
  TakenDelivery& taken = *delivery_->taken();
  taken.refused(error);
  forgetTransaction();
  if (error.is(Errc::transactionConflict)) {
    if (!taken.isDone()) committer_.keepOut();
    return proceed(now);
  }
  if (isRefusal(error) || error.is(Errc::heldTooLong)) return refusedByStore(taken.id(), error, true, now);
  return isTransient(error) ? troubled(Side::store, error, now) : quit(error);
}

Action Lane::troubled(Side side, const Error& error, const Now& now) {
  trouble_ = error;
  return outages_.failed(side, error, now) ? proceed(now) : quit(error);
}

/// The commit that takes it may or may not have happened. If it has, no leader will see the message again.
void Lane::forgoWhatMayBeTaken(const std::string& why) {
  if (!state_.pendingWrites.takes || committer_.isOutcomeKnown()) return;
  state_.pendingWrites.takes = false;
  state_.tell(MessageForgone{queue_.messages().front()->id.value, "it may have been taken: " + why});
}

void Lane::lose(const std::string& why) {
  forgoWhatMayBeTaken(why);
  if (TakenDelivery* taken = delivery_->taken()) taken->forgo(why);
}

Action Lane::quit(const Error& error) {
  over_ = true;
  lose(error.message());
  const bool refusedByStore = isTermOver(error.code) && !error.is(Errc::leaseLost) && !error.is(Errc::placeReplaced);
  if (refusedByStore && phase_ == Phase::executing)
    state_.tell(CommitFenced{error.message(), std::max<std::size_t>(queue_.settled(), 1)});
  trouble_ =
      committer_.isOutcomeKnown() || isTermOver(error.code) ? error : Error{Errc::outcomeUnknown, error.message()};
  return Return{.ends = Return::Ending{reasonOf(trouble_), trouble_}};
}

// The lane's transaction: handlers of many at once, the commit, and what follows from it.

// --- many at once

/// May the head be handled with its neighbours?
bool Lane::joins(const Now& now) const {
  const std::size_t taken = queue_.settled() + queue_.joined();
  if (!state_.together || taken < queue_.apart() || queue_.areAlone() || taken >= queue_.size()) return false;
  if (queue_.head().standing().turn > supply::Turn::next) return false;
  const std::size_t most = std::min({queue_.startable(), committer_.size(), queue_.size()});
  if (taken >= most || now.transactionIsFull) return false;
  const bool lonely = queue_.joined() == 0 && most - taken < 2;
  if (lonely || state_.takesFirst() || outages_.storeIsAway() || delivery_->remembersAny() || delivery_->hasRun())
    return false;
  if (state_.precedesLanes()) return false;  // suspects are of any group, and the killer is looked for
  if (state_.coalesces() || headOf(now).isCounted) return false;  // both look at each message
  return delivery_->isPlain(*queue_.head());
}

Action Lane::join(const Now& now) {
  if (!state_.dedups()) return joinHead(now);
  joining_ = true;
  return Admit{queue_.head(), false};
}

Action Lane::joinHead(const Now& now) {
  queue_.join();
  state_.log.began(now.wall);
  return joinOrRun(now);
}

/// Nothing has happened yet but keys in the transaction: a leader that leaves gives them up.
Action Lane::joinOrRun(const Now& now) {
  if (now.stopAsked || !now.mayBegin) {
    state_.pendingWrites.news.clear();
    return Abandon{};
  }
  if (joins(now)) return join(now);
  return HandleTogether{{queue_.joinedOnes().begin(), queue_.joinedOnes().end()}};
}

Action Lane::onRanTogether(const Outcome& outcome, const Now& now) {
  if (outcome.kind == Outcome::Kind::done) {
    for (const MessagePtr& message : queue_.joinedOnes())
      state_.log.ended(message->id, 1, AttemptEnd::done, {}, now.wall);
    queue_.settleJoined();
    state_.pendingWrites.succeeded = state_.pendingWrites.ends = true;
    return proceed(now);
  }
  if (!now.stopAsked) state_.tell(BatchSplit{queue_.joined(), outcome.reason});
  queue_.separate();
  state_.pendingWrites.news.clear();
  return Abandon{};
}

// --- the transaction

/// A message that is waiting is not recorded as in work.
bool Lane::headWaits(const Now& now) const {
  if (!state_.namesEach()) return false;
  const bool failed = state_.pendingWrites.record && !state_.pendingWrites.charges;
  return failed || now.boot < notBefore() || (queue_.settled() > 0 && now.isLimited);
}

bool Lane::hasOpenWork() const noexcept {
  return queue_.settled() > 0 || queue_.joined() > 0 || !committer_.isOutcomeKnown();
}

Action Lane::commit(const Now& now) {
  sweeper_.glance(now);
  const PendingWrites& pendingWrites = state_.pendingWrites;
  const bool cameHome =
      queue_.settled() == 0 && !pendingWrites.charges && (pendingWrites.record || pendingWrites.cleared);
  const bool leaves = phase_ == Phase::leaving || (now.stopAsked && begunBehind_ == 0);
  Commit commit = committer_.close(queue_,
                                   inWork_.next(queue_, {.closes = leaves || state_.takesFirst() || headWaits(now),
                                                         .cameHome = cameHome,
                                                         .batch = committer_.size() + (state_.answers ? ahead_ : 0),
                                                         .elsewhere = pendingWrites.leavesSuccessors}),
                                   sweeper_.toWrite(), now);
  commit.undo = delivery_->leavesMark();
  return commit;
}

Action Lane::on(Done<Commit>, const Now& now) {
  outages_.wentWell(Side::store, now);
  const bool hasSettled = queue_.settled() > 0;
  committer_.committed(queue_, now);
  noteRecord(now);
  sweeper_.written();
  report(now);
  inWork_.committed(committer_.entry(), queue_);
  supply_.topped = false;
  if (hasSettled && spreads()) supply_.dry = false;
  const bool frees = !state_.isOneLine() && phase_ == Phase::executing && mayRelease();
  if (!hasSettled && !frees) return leaveQueue({}, now);
  supply::Report report = committer_.reportOf(queue_);
  report.releases = frees;
  for (const supply::Place place : delivery_->unbegun(queue_.settledOnes())) report.unbegun.push_back(place);
  return stamped(std::move(report));
}

void Lane::noteRecord(const Now& now) {
  PendingWrites& pendingWrites = state_.pendingWrites;
  if (pendingWrites.charges) return delivery_->chargeIsDurable(pendingWrites.record->id);
  if (pendingWrites.cleared || pendingWrites.record) delivery_->forgetCharge();
  if (!pendingWrites.record || pendingWrites.record->state != AttemptState::blocked || phase_ == Phase::leaving) return;
  auto news =
      state_.histories.block.raise(*queue_.head(), *pendingWrites.record, now.boot, longestRetryDelay(state_.options));
  if (news) pendingWrites.news.push_back(*std::move(news));
}

void Lane::report(const Now& now) {
  if (queue_.settled() > 0) delivery_->runIsDurable();
  if (state_.pendingWrites.takes) {
    delivery_->take(queue_.messages().front());
  } else if (TakenDelivery* taken = delivery_->taken()) {
    const MessagePtr done = taken->close();
    delivery_->takeTokens({&done->id, 1});
    committer_.report(1, done->position, 1, now);
  } else if (queue_.settled() > 0) {
    committer_.report(queue_.settled(), queue_.settledOnes().back()->position, committer_.size(), now);
  }
  committer_.tellNews();
}

Report Lane::stamped(supply::Report of) const {
  of.attachment = supply_.attachment;
  of.number = supply_.assignments;
  return {std::move(of)};
}

Action Lane::onReported(const Receipt& receipt, const Now& now) {
  supply_.mayReadOn = receipt.mayReadOn;
  return leaveQueue(receipt, now);
}

Action Lane::leaveQueue(const Receipt& receipt, const Now& now) {
  if (delivery_->remembersAny()) delivery_->acknowledged(queue_.settledOfSource());
  if (!state_.pendingWrites.takes)
    for (const MessagePtr& message : queue_.settledOnes()) delivery_->takeTokens({&message->id, 1});
  queue_.leave();
  forgetTransaction();
  // Where each message is named when it begins, a record that names none does not mean that the term is over.
  const bool goesOn = inWork_.isOpen() || state_.namesEach();
  if (receipt.readAgain && goesOn) {
    termState_.attached = !state_.reads;
  } else if (receipt.hasSuccessors && goesOn && queue_.size() > 0) {
    parkUntil_ = now.boot;  // the messages that a dropped one stood for come first
  }
  return proceed(now);
}

/// The group of a taken message waits until its handler is done.
bool Lane::mayRelease() const noexcept { return !delivery_->hasTaken(); }

Report Lane::park() {
  Report report = stamped({.until = *std::exchange(parkUntil_, std::nullopt)});
  report.group = queue_.head()->group;
  // Before the lanes begin, a suspect that has failed in good order is handed out as any other message.
  const std::size_t suspects = state_.precedesLanes() ? 0 : queue_.suspects();
  for (const MessagePtr& message : state_.isOneLine() ? queue_.takeAll() : queue_.takeGroup()) {
    report.of.parked.push_back({message.place(), report.of.parked.size() < suspects});
    report.histories.push_back(state_.histories.take(message->id));
    if (delivery_->takeTokens({&message->id, 1}) > 0) report.of.unbegun.push_back(message.place());
  }
  delivery_->forgetCharge();
  return report;
}

/// Forgets the open transaction. Its messages are the first in hand again.
void Lane::forgetTransaction() noexcept {
  queue_.undo();
  joining_ = false;
  delivery_->forgetTransaction();
  committer_.forget();
}

Action Lane::onResolved(CommitFate fate, const Now& now) {
  if (std::exchange(repeats_, false)) {  // either way
    committer_.outcomeIsKnown();
    outages_.wentWell(Side::store, now);
    return proceed(now);
  }
  if (fate == CommitFate::committed) return on(Done<Commit>{}, now);
  committer_.outcomeIsKnown();
  parkUntil_.reset();
  if (delivery_->hasTaken()) return takenRefused(trouble_, now);
  forgetTransaction();
  return troubled(Side::store, trouble_, now);
}

}  // namespace tenure::consuming
