// What the runner does in the open transaction: keys, handlers, the commit, and numbers.
#include <exception>

#include "base/text.hpp"
#include "consumer/lane_runner.hpp"
#include "consumer/message_limits.hpp"
#include "messages/left_out.hpp"

namespace tenure::consuming {
namespace {

/// The one place that catches what a handler throws.
template <class Callee, class Of>
Outcome called(const Callee& handler, const Of& delivery) {
  try {
    return handler(delivery);
  } catch (const EndTerm&) {
    throw;  // not the message's fault; handOver undoes what is open
  } catch (const std::exception& thrown) {
    return Outcome::failed(thrown.what());
  } catch (...) {
    return Outcome::failed("the handler threw something that is not a std::exception");
  }
}

/// As a dead letter that the store has not taken whole.
Message withoutBody(Message message) {
  leaveOut(message, 0, "the store refused all of it");
  return message;
}

}  // namespace

Result<void> LaneRunner::begin() {
  if (transaction_) return {};
  turn_ = context_.enter(lane_->company());
  if (turn_.hasWaited() && !term_->valid()) {
    turn_.release();
    return Error{Errc::leaseLost, "while other lanes were waited for"};
  }
  Result<std::unique_ptr<IFencedTransaction>> begun = store_.begin(*term_);
  if (!begun) turn_.release();
  if (!begun) return begun.error();
  transaction_ = std::move(*begun);
  return {};
}

void LaneRunner::abandon() noexcept {
  if (transaction_) transaction_->rollback();
  end();
}

void LaneRunner::end() noexcept {
  transaction_.reset();
  turn_.release();
}

/// The store refused: nothing of the transaction may stay.
Action LaneRunner::refused(const Error& error) {
  abandon();
  return lane_->failed(error, now());
}

Action LaneRunner::did(const Result<void>& result) {
  return result ? lane_->did(now()) : lane_->failed(result.error(), now());
}

void LaneRunner::letGo() noexcept { abandon(); }

Action LaneRunner::perform(Abandon&) {
  abandon();
  return lane_->did(now());
}

Action LaneRunner::perform(Admit& asked) {
  const Message& message = *asked.message;
  Result<void> ready = begin();
  if (ready && asked.mark) ready = transaction_->mark();
  if (!ready) return refused(ready.error());
  const Result<Admission> admission = transaction_->admit(name_, message.id, digestOf(message.body), MessageFate::done);
  return admission ? lane_->admitted(*admission, now()) : refused(admission.error());
}

Action LaneRunner::perform(Undo&) {
  const Result<void> undone = transaction_->rollbackToMark();
  return undone ? lane_->did(now()) : refused(undone.error());
}

Action LaneRunner::perform(WriteDeadLetter& deadLetter) {
  const Result<bool> deadLettered = book(deadLetter);
  if (!deadLettered) return refused(deadLettered.error());
  return *deadLettered ? lane_->did(now()) : lane_->foundKey(now());
}

Result<bool> LaneRunner::book(const WriteDeadLetter& deadLetter) {
  const Message& message = *deadLetter.message;
  Result<void> done = begin();
  if (done && deadLetter.undo) done = transaction_->rollbackToMark();
  if (done)
    done = transaction_->deadLetter(name_, {.message = deadLetter.withoutBody ? withoutBody(message) : message,
                                            .reason = deadLetter.reason,
                                            .attempts = deadLetter.attempts,
                                            .firstAt = deadLetter.firstAt,
                                            .diedAt = now().wall});
  if (!done) return done.error();
  if (!deadLetter.withKey) return true;
  const auto admission = transaction_->admit(name_, message.id, digestOf(message.body), MessageFate::dead);
  if (!admission) return admission.error();
  return *admission == Admission::fresh;
}

Action LaneRunner::perform(Commit& commit) {
  context_.reportProgress();
  const Result<void> committed = book(commit);
  if (committed) end();
  return committed ? lane_->did(now()) : refused(committed.error());
}

Result<void> LaneRunner::book(const Commit& commit) {
  Result<void> done = begin();
  if (done && commit.undo) done = transaction_->rollbackToMark();
  for (const MessageId& id : commit.cleared)
    if (done) done = transaction_->clearAttempt(name_, id);
  for (const AttemptRecord& record : commit.records)
    if (done) done = transaction_->recordAttempt(name_, record);
  for (const ConsumerFact& fact : commit.facts)
    if (done) done = transaction_->recordFact(name_, fact);
  if (done && !commit.log.empty()) done = transaction_->logAttempts(name_, commit.log);
  for (std::size_t lane = 1; lane <= commit.voids; ++lane)
    if (done) done = transaction_->recordInWork(name_, lane, {});
  if (done) done = transaction_->recordInWork(name_, context_.lane(), commit.inWork);
  if (done && shares_ && !commit.settled.empty()) done = context_.acknowledge(*transaction_, stubsOf(commit.settled));
  if (done && shares_ && !commit.others.empty()) done = context_.acknowledge(*transaction_, commit.others);
  if (done) done = book(commit.numbers);
  // The last look at the lease; whatever passes between here and the store is the fence's to stop.
  if (done && !term_->valid()) done = Error{Errc::leaseLost, "before a commit"};
  return done ? transaction_->commit() : done;
}

Result<void> LaneRunner::book(const supply::NumberWrites& numbers) {
  Result<void> done;
  for (const KeptMessage& message : numbers.kept)
    if (done) done = transaction_->keep(name_, message);
  for (const auto& [group, number] : numbers.dropped)
    if (done) done = transaction_->dropKept(name_, group, number);
  for (const auto& [group, turn] : numbers.turns)
    if (done) done = transaction_->recordTurn(name_, group, turn);
  for (const DeadLetter& note : numbers.notes)
    if (done) done = transaction_->deadLetter(name_, note);
  return done;
}

// --- the handler

Action LaneRunner::perform(Handle& asked) {
  context_.reportProgress();
  Result<void> ready = begin();
  if (ready && asked.mark) ready = transaction_->mark();
  if (!ready) return refused(ready.error());
  if (auto other = reconsider()) return *std::move(other);
  return ran(called(handlers_.one, tenure::Delivery{*asked.message, handed(), *term_, asked.attempt}));
}

Action LaneRunner::perform(HandleTogether& asked) {
  context_.reportProgress();
  if (const Result<void> ready = begin(); !ready) return refused(ready.error());
  if (auto other = reconsider()) return *std::move(other);
  std::vector<Message> messages;
  messages.reserve(asked.messages.size());
  for (const Letter& letter : asked.messages) messages.push_back(*letter);
  return ran(called(handlers_.many, BatchDelivery{messages, handed(), *term_, 1}));
}

/// After a wait for its turn, a lane looks at lease and stop again before it calls its handler.
std::optional<Action> LaneRunner::reconsider() { return turn_.hasWaited() ? lane_->reconsider(now()) : std::nullopt; }

/// What the store refused is not the message's fault, whatever the handler makes of it.
Action LaneRunner::ran(Outcome outcome) {
  if (const Result<void> sound = transaction_->status(); !sound) return refused(sound.error());
  if (outcome.kind == Outcome::Kind::done && guarded_->failure())
    outcome = Outcome::failed("done, though a call has failed: " + guarded_->failure()->message());
  outcome.reason = shortened(std::move(outcome.reason), longestReason);
  Now heard = now();
  if (isCut(outcome)) {
    outcome = Outcome::retryLater("cut, as its leader was asked to leave: " + outcome.reason);
    heard.stopAsked = true;  // a lane hears of it a moment after its handler
  }
  return lane_->ran(outcome, heard);
}

bool LaneRunner::isCut(const Outcome& outcome) const noexcept {
  const EndReason ends = term_->endReason();
  const bool isUndone = outcome.kind == Outcome::Kind::failed || outcome.kind == Outcome::Kind::retryLater;
  const bool isAsked = ends == EndReason::handoverAsked || ends == EndReason::stopAsked;
  return isUndone && isAsked && options_.whenAsked == WhenAsked::cut;
}

/// What a handler may write to.
Transaction& LaneRunner::handed() noexcept {
  return guarded_.emplace(*transaction_, GuardedTransaction::Rules{.namesQueues = !shares_});
}

// --- numbers

/// Without an open transaction it reads in one of its own, and rolls that back.
Action LaneRunner::perform(Consult& consult) {
  const bool alone = transaction_ == nullptr;
  if (const Result<void> ready = begin(); !ready) return refused(ready.error());
  const Result<GroupTurn> turn = transaction_->turnOf(name_, consult.group);
  if (alone) abandon();
  return turn ? lane_->consulted(consult, *turn, now()) : refused(turn.error());
}

Action LaneRunner::perform(Load& load) {
  context_.reportProgress();
  Result<std::vector<Message>> messages = keptMessages(load.ready);
  abandon();
  if (!messages) return lane_->failed(messages.error(), now());
  foretell(*messages);
  std::vector<MessageHistory> histories = context_.historiesOf(*messages);
  return lane_->loaded(load.ready, *std::move(messages), std::move(histories), now());
}

Result<std::vector<Message>> LaneRunner::keptMessages(const supply::Ready& ready) {
  std::vector<Message> messages;
  if (const Result<void> begun = begin(); !begun) return begun.error();
  for (const std::int64_t number : ready.numbers) {
    Result<std::optional<KeptMessage>> found = transaction_->kept(name_, ready.group, number);
    if (!found) return found.error();
    if (!*found)
      return Error{Errc::storeFailed, "a kept message is missing: number " + std::to_string(number) + " of group \"" +
                                          escaped(ready.group.value) + "\""};
    messages.push_back(std::move((*found)->message));
  }
  return messages;
}

}  // namespace tenure::consuming
