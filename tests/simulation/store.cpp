#include "store.hpp"

#include <algorithm>

#include "consumer/errors.hpp"
#include "consumer/values.hpp"
#include "process.hpp"
#include "simulation.hpp"
#include "storage/waiting_rows.hpp"
#include "testing/memory/memory_state.hpp"

namespace tenure::simulation {

namespace {

/// As the consumer has it: why an attempt counts that did not come home, and whose dead letter stands for a gap.

Error storeIsDown() { return {Errc::unavailable, std::string(downText)}; }
Error rowIsLocked() { return {Errc::rowLocked, std::string(lockedText)}; }

}  // namespace

template <class Find>
auto Store::read(const Find& find) -> decltype(find()) {
  using Found = decltype(find());
  const Plan& plan = process_.simulation().plan();
  return process_.remotely<Found>(plan.storeLatency, plan.embeddedStore, [&]() -> Found {
    if (process_.simulation().storeDown()) return storeIsDown();
    process_.simulation().ghost().stateRead(process_.token());
    return find();
  });
}

/// A session that is dead is noticed, and opened anew.
Result<void> Store::prepare(const std::stop_token&) {
  const Plan& plan = process_.simulation().plan();
  Result<void> answered = process_.remotely<Result<void>>(plan.storeLatency, plan.embeddedStore, [&]() -> Result<void> {
    return process_.simulation().storeDown() ? Result<void>(storeIsDown()) : Result<void>{};
  });
  isKept_ = answered.has_value();
  keptDeadSince_.reset();
  return answered;
}

void Store::forgetKept() noexcept {
  if (isKept_ && !keptDeadSince_) keptDeadSince_ = process_.simulation().loop().now();
}

///   R3 a leadership that was accepted is not begun on a session that was dead already when it was offered
void Store::takeKept() {
  const std::optional<BootTime> offeredAt = process_.followsOffer();
  if (isKept_ && keptDeadSince_ && offeredAt && *keptDeadSince_ < *offeredAt)
    process_.simulation().ghost().violated("R3: a leadership was accepted on a session that was dead");
  isKept_ = false;
  keptDeadSince_.reset();
}

Result<void> Store::claim(const Term& term) {
  Simulation& simulation = process_.simulation();
  if (lane_) return join(term);
  takeKept();
  if (simulation.mutant() == Mutant::readBeforeClaim) {
    Result<ConsumerState> early = read(
        [&]() -> Result<ConsumerState> { return simulation.store().consumerState(simulation.plan().consumer.name); });
    if (!early) return early.error();
    readEarly_ = std::move(*early);
  }
  const BootTime begun = simulation.loop().now();
  const Plan& plan = simulation.plan();
  return process_.remotely<Result<void>>(plan.commitLatency, plan.embeddedStore, [&] { return claimNow(term, begun); });
}

Result<void> Store::join(const Term& term) {
  const Plan& plan = process_.simulation().plan();
  return process_.remotely<Result<void>>(plan.commitLatency, plan.embeddedStore, [&]() -> Result<void> {
    if (process_.simulation().storeDown()) return storeIsDown();
    Result<void> joined = inner_.claim(term);
    process_.trace("join", joined ? 0 : joined.error().code.value());
    return joined;
  });
}

/// What breaks the store breaks it for all that goes through the one.
std::unique_ptr<IFencedStore> Store::openLane(std::int64_t number) {
  std::unique_ptr<IFencedStore> lane = inner_.openLane(number);
  return lane ? std::make_unique<Store>(process_, std::move(lane)) : nullptr;
}

Result<void> Store::claimNow(const Term& term, BootTime begun) {
  Simulation& simulation = process_.simulation();
  if (simulation.storeDown()) return storeIsDown();
  // A holder that stands still is waited for, a while; then it is evicted.
  if (simulation.store().isWriting() && simulation.loop().now() - begun < simulation.plan().lockLimit &&
      simulation.drawOneIn(2))
    return Error{Errc::storeBusy, "another transaction writes"};
  Result<void> claimed = inner_.claim(term);
  process_.trace("claim", claimed ? 0 : claimed.error().code.value());
  if (!claimed) {
    const bool isHeard = !process_.dead() && !process_.excused() && !simulation.putBack();
    if (isFatal(claimed.error().code) && isHeard)
      simulation.ghost().violated("S7: a claim met " + claimed.error().message());
    return claimed;
  }
  simulation.ghost().claimed(term.token(), term.identity().candidate);
  process_.enter(Stage::recovering);
  if (std::exchange(process_.armed.loseClaim, false)) return Error{Errc::outcomeUnknown, "the claim's reply is lost"};
  return claimed;
}

Result<std::unique_ptr<IFencedTransaction>> Store::begin(const Term& term) {
  auto begun = inner_.begin(term);
  if (!begun) return begun.error();
  return std::unique_ptr<IFencedTransaction>{
      std::make_unique<StoreTransaction>(process_, term.token(), std::move(*begun))};
}

Result<CommitFate> Store::resolve(const Term& term) {
  const Plan& plan = process_.simulation().plan();
  return process_.remotely<Result<CommitFate>>(plan.storeLatency, plan.embeddedStore, [&]() -> Result<CommitFate> {
    if (process_.simulation().storeDown()) return storeIsDown();
    Result<CommitFate> fate = inner_.resolve(term);
    process_.trace("resolve", fate ? static_cast<std::int64_t>(*fate) : -1);
    return fate;
  });
}

Result<ConsumerState> Store::consumerState(const ConsumerName& consumer) {
  if (readEarly_) return *std::exchange(readEarly_, std::nullopt);
  Result<ConsumerState> found = read([&] { return inner_.consumerState(consumer); });
  if (found && process_.simulation().mutant() == Mutant::inWorkForgotten) {
    found->inWork.ids.clear();
    found->inWork.more = false;
  }
  return found;
}

Result<InWork> Store::inWorkOf(const ConsumerName& consumer, std::size_t lane) {
  Result<InWork> found = read([&] { return inner_.inWorkOf(consumer, lane); });
  if (found && process_.simulation().mutant() == Mutant::inWorkForgotten) found->ids.clear();
  return found;
}

Result<std::vector<NumberedGroup>> Store::openGroups(const ConsumerName& consumer) {
  return read([&] { return inner_.openGroups(consumer); });
}

Result<std::vector<Admission>> Store::known(const ConsumerName& consumer, std::span<const Message> messages) {
  const Plan& plan = process_.simulation().plan();
  using Known = Result<std::vector<Admission>>;
  return process_.remotely<Known>(plan.storeLatency, plan.embeddedStore, [&]() -> Known {
    if (process_.simulation().storeDown()) return storeIsDown();
    std::vector<Message> whole(messages.begin(), messages.end());
    for (Message& message : whole) message.id = withoutCopyMark(message.id);
    return inner_.known(consumer, whole);
  });
}

/// A server has its own.
Result<std::optional<WallTime>> Store::clock() {
  const Plan& plan = process_.simulation().plan();
  if (plan.embeddedStore) return std::optional<WallTime>{};
  using Clock = Result<std::optional<WallTime>>;
  return process_.remotely<Clock>(plan.storeLatency, false, [&]() -> Clock {
    if (process_.simulation().storeDown()) return storeIsDown();
    return std::optional{process_.simulation().serverClock().wallNow()};
  });
}

Result<Pruned> Store::prune(const Term& term, const Pruning& step) {
  const Plan& plan = process_.simulation().plan();
  return process_.remotely<Result<Pruned>>(plan.commitLatency, plan.embeddedStore,
                                           [&] { return pruneNow(term, step); });
}

/// Which keys are gone only the keys say.
Result<Pruned> Store::pruneNow(const Term& term, const Pruning& step) {
  Simulation& simulation = process_.simulation();
  if (simulation.storeDown()) return storeIsDown();
  Pruning taken = step;
  if (simulation.mutant() == Mutant::forgetsEarly) taken.before += std::chrono::minutes{58};
  Result<Pruned> pruned = inner_.prune(term, taken);
  process_.trace("prune", pruned ? static_cast<std::int64_t>(pruned->removed) : -1);
  if (!pruned || pruned->removed == 0) return pruned;
  std::vector<MessageId> gone;
  for (const MessageId& id : simulation.ghost().keys())
    if (!simulation.store().isKnown(step.consumer, id)) gone.push_back(id);
  simulation.ghost().keysForgotten(gone, simulation.loop().now());
  return pruned;
}

Result<std::size_t> Store::pruneLog(const Term& term, const LogPruning& step) {
  Simulation& simulation = process_.simulation();
  const Plan& plan = simulation.plan();
  using Removed = Result<std::size_t>;
  return process_.remotely<Removed>(plan.commitLatency, plan.embeddedStore, [&]() -> Removed {
    if (simulation.storeDown()) return storeIsDown();
    const std::vector<LoggedAttempt> before = simulation.store().log();
    Removed removed = inner_.pruneLog(term, step);
    process_.trace("prune log", removed ? static_cast<std::int64_t>(*removed) : -1);
    if (removed) simulation.ghost().logPruned(std::span{before}.first(*removed), before.size(), step);
    if (removed && *removed > 0) simulation.coverage().saw("log_pruned");
    return removed;
  });
}

// --- the transaction

StoreTransaction::StoreTransaction(Process& process, FencingToken token, std::unique_ptr<IFencedTransaction> inner)
    : ForwardingTransaction(std::move(inner)),
      process_(process),
      token_(token),
      begun_(process.storeClock().wallNow()) {}

Result<void> StoreTransaction::pass(Step step) {
  if (broken_) return *broken_;
  const Plan& plan = process_.simulation().plan();
  Result<void> written = process_.remotely<Result<void>>(plan.storeLatency, plan.embeddedStore, [&]() -> Result<void> {
    if (process_.simulation().storeDown()) return storeIsDown();
    if (const auto failure = std::exchange(process_.armed.failWrite, std::nullopt))
      return Error{*failure, "as the plan has it"};
    return step(inner());
  });
  if (!written) {
    broken_ = written.error();
    rollback();
  }
  return written;
}

Result<std::optional<std::string>> StoreTransaction::get(std::string_view key) {
  if (broken_) return *broken_;
  if (process_.simulation().mutant() == Mutant::readsForgotten && !written_.contains(std::string(key)))
    return process_.simulation().store().value(key);
  return ForwardingTransaction::get(key);
}

/// A mutant leaves out what its queue does not take, and writes the rest.
Result<void> StoreTransaction::enqueue(const NewMessage& message, std::string_view queue) {
  const bool isClosed = memory::StateOf::in(process_.simulation().store()).closedQueues.contains(std::string(queue));
  if (isClosed && process_.simulation().mutant() == Mutant::halfApplied) return {};
  Result<void> written = ForwardingTransaction::enqueue(message, queue);
  if (written && message.deliverAt)
    pending_.times.push_back({Times::Change::Kind::added, message.id, std::max(*message.deliverAt, begun_)});
  return written;
}

Result<Admission> StoreTransaction::admit(const ConsumerName& consumer, const MessageId& id, const BodyDigest& digest,
                                          MessageFate fate) {
  if (const MessageId whole = withoutCopyMark(id); whole != id) return admit(consumer, whole, digest, fate);
  Result<Admission> admission = ForwardingTransaction::admit(consumer, id, digest, fate);
  if (!admission || *admission != Admission::fresh) return admission;
  if (fate == MessageFate::done)
    pending_.effects.push_back({.id = id, .body = process_.simulation().bodyOf(id, digest)});
  else if (!pending_.effects.empty())
    pending_.effects.back().keyed = true;
  return admission;
}

Result<void> StoreTransaction::mark() {
  mark_ = pending_.effects.size();
  timesAtMark_ = pending_.times;
  return ForwardingTransaction::mark();
}

Result<void> StoreTransaction::rollbackToMark() {
  if (broken_) return *broken_;
  pending_.effects.resize(std::min(mark_, pending_.effects.size()));
  pending_.times = timesAtMark_;
  return ForwardingTransaction::rollbackToMark();
}

Result<void> StoreTransaction::put(std::string_view key, std::string_view value) {
  if (key.starts_with(ranPrefix)) return noteRun(std::stoi(std::string(key.substr(ranPrefix.size()))), value);
  if (!broken_ && process_.simulation().isLocked(key)) {
    process_.simulation().coverage().saw("row_locked");
    if (process_.simulation().mutant() != Mutant::lockEndsWork) return rowIsLocked();
    broken_ = Error{Errc::storeBusy, rowIsLocked().detail};
    rollback();
    return *broken_;
  }
  Result<void> written = ForwardingTransaction::put(key, value);
  written_.emplace(key);
  return written;
}

Result<void> StoreTransaction::noteRun(int copy, std::string_view message) {
  if (broken_) return *broken_;
  const std::size_t end = message.find('/');
  pending_.effects.push_back({.id = MessageId{std::string(message.substr(0, end))},
                              .body = std::string(message.substr(end + 1)),
                              .keyed = false,
                              .copy = copy,
                              .noted = true});
  return {};
}

Result<void> StoreTransaction::recordTurn(const ConsumerName& consumer, const GroupId& group, const GroupTurn& turn) {
  if (process_.simulation().mutant() == Mutant::positionLost) return {};
  Result<void> written = ForwardingTransaction::recordTurn(consumer, group, turn);
  if (written) pending_.numbers.turns.emplace_back(group, turn);
  return written;
}

Result<void> StoreTransaction::keep(const ConsumerName& consumer, const KeptMessage& message) {
  if (process_.simulation().mutant() == Mutant::earlyLost) return {};
  Result<void> written = ForwardingTransaction::keep(consumer, message);
  if (written) pending_.numbers.kept.push_back(message);
  return written;
}

Result<void> StoreTransaction::dropKept(const ConsumerName& consumer, const GroupId& group, std::int64_t number) {
  Result<void> written = ForwardingTransaction::dropKept(consumer, group, number);
  if (written) pending_.numbers.dropped.emplace_back(group, number);
  return written;
}

Result<void> StoreTransaction::recordInWork(const ConsumerName& consumer, std::size_t lane, const InWork& inWork) {
  const bool isMain = lane == 0 && consumer == process_.simulation().plan().consumer.name;
  const bool narrows = isMain && inWork.ids.size() == consuming::fewSuspects && !inWork.more;
  if (narrows && process_.simulation().mutant() == Mutant::narrowedUnrecorded) return {};
  Result<void> written = ForwardingTransaction::recordInWork(consumer, lane, inWork);
  if (written && isMain) pending_.inWork = Attempts::InWork{inWork.ids, inWork.more, inWork.suspectsOf.value != 0};
  return written;
}

Result<void> StoreTransaction::recordAttempt(const ConsumerName& consumer, const AttemptRecord& record) {
  const bool charge = record.begunBy.value != 0;
  if (charge && process_.simulation().mutant() == Mutant::uncharged) return {};
  Result<void> written = ForwardingTransaction::recordAttempt(consumer, record);
  if (written)
    pending_.attempts.push_back({record.id, record.attempts, charge, record.state != AttemptState::retrying});
  return written;
}

Result<void> StoreTransaction::clearAttempt(const ConsumerName& consumer, const MessageId& id) {
  Result<void> written = ForwardingTransaction::clearAttempt(consumer, id);
  if (written) pending_.attempts.push_back({.id = id});
  return written;
}

Result<void> StoreTransaction::deadLetter(const ConsumerName& consumer, const DeadLetter& letter) {
  if (process_.simulation().mutant() == Mutant::lettersWhole && !letter.message.lacks.empty()) {
    DeadLetter whole = letter;
    whole.message.body = process_.simulation().ghost().bodyOf(copyOf(letter.message));
    return ForwardingTransaction::deadLetter(consumer, whole);
  }
  if (const MessageId whole = withoutCopyMark(letter.message.id); whole != letter.message.id) {
    DeadLetter plain = letter;
    plain.message.id = whole;
    return deadLetter(consumer, plain);
  }
  const Message& message = letter.message;
  const bool ofGap = letter.missingFrom != 0;
  if (ofGap && process_.simulation().mutant() == Mutant::gapWithoutNote) return {};
  Result<void> written = ForwardingTransaction::deadLetter(consumer, letter);
  if (!written) return written;
  if (ofGap)
    pending_.numbers.gaps.emplace_back(message.group, letter.missingFrom);
  else
    pending_.effects.push_back(
        {.id = withoutCopyMark(message.id),
         .fate = MessageFate::dead,
         .body = !message.lacks.empty() ? process_.simulation().ghost().bodyOf(copyOf(message)) : message.body,
         .attempts = letter.attempts,
         .keyed = false,
         .copy = copyOf(message)});
  return written;
}

Result<void> StoreTransaction::logAttempts(const ConsumerName& consumer, std::span<const LoggedAttempt> attempts) {
  std::vector<LoggedAttempt> lines{attempts.begin(), attempts.end()};
  if (process_.simulation().mutant() == Mutant::unlogged)
    std::erase_if(lines, [](const LoggedAttempt& line) { return line.end == AttemptEnd::failed; });
  Result<void> written = ForwardingTransaction::logAttempts(consumer, lines);
  if (written) pending_.log.insert(pending_.log.end(), lines.begin(), lines.end());
  return written;
}

Result<void> StoreTransaction::acknowledge(std::span<const Message> messages) {
  Result<void> written = ForwardingTransaction::acknowledge(messages);
  for (const Message& message : messages)
    if (written) pending_.acknowledged.push_back(process_.source().givenAs(message));
  return written;
}

Result<void> StoreTransaction::commit() {
  if (broken_) return *broken_;
  Simulation& simulation = process_.simulation();
  const Plan& plan = simulation.plan();
  if (simulation.mutant() == Mutant::ackBeforeCommit) {
    std::vector<MessageId> ids;
    for (const PendingWrites::Effect& effect : pending_.effects) ids.push_back(effect.id);
    const Result<void> ignored = process_.source().acknowledge(process_.source().given(ids));
    static_cast<void>(ignored);
  }
  Result<void> committed =
      process_.remotely<Result<void>>(plan.commitLatency, plan.embeddedStore, [&] { return land(); });
  if (!committed) broken_ = committed.error();
  return committed;
}

Result<void> StoreTransaction::land() {
  Simulation& simulation = process_.simulation();
  const Plan& plan = simulation.plan();
  if (simulation.storeDown()) {
    rollback();
    return storeIsDown();
  }
  const std::optional<bool> lost = std::exchange(process_.armed.loseCommit, std::nullopt);
  if (lost) simulation.store().loseCommitReply(*lost);
  Result<void> committed = ForwardingTransaction::commit();
  simulation.store().heal();  // nothing was written, or the fence refused: the lost reply was nobody's
  process_.trace("commit", committed ? 0 : committed.error().code.value());
  const bool landed = committed || (lost.value_or(false) && committed.error().is(Errc::outcomeUnknown));
  if (landed && simulation.mutant() == Mutant::cancelsUnlooked) cancelUnlooked();
  if (landed) simulation.ghost().committed(token_, pending_, simulation.loop().now());
  if (landed) simulation.ghost().wentOn(process_.number(), pending_);
  if (!committed && consuming::isRefusal(committed.error())) {
    simulation.ghost().refused(process_.number(), process_.loop().inLane(), pending_, simulation.loop().now());
    simulation.coverage().saw("commit_refused");
    if (simulation.mutant() == Mutant::refusalEndsTerm) committed = Error{Errc::storeFailed, "refused"};
  }
  if (landed && std::ranges::any_of(pending_.effects, &PendingWrites::Effect::noted))
    simulation.coverage().saw(plan.consumer.delivery == Guarantee::atMostOnce ? "ran_at_most_once"
                                                                              : "ran_at_least_once");
  if (landed && !pending_.log.empty()) simulation.coverage().saw("attempts_logged");
  if (!committed && committed.error().is(Errc::outcomeUnknown)) process_.enter(Stage::commitLost);
  if (committed && plan.queue != Queue::table && !pending_.effects.empty()) process_.enter(Stage::unacknowledged);
  if (!committed) rollback();
  return committed;
}

// What a transaction does to messages that wait for their time.
Result<ScheduleChange> StoreTransaction::cancelScheduled(const MessageId& id, std::string_view queue) {
  if (process_.simulation().mutant() == Mutant::cancelsUnlooked && leavesUnlooked(id)) return ScheduleChange::done;
  return changeWaiting({Times::Change::Kind::cancelled, id},
                       [id, queue = std::string(queue)](auto& inner) { return inner.cancelScheduled(id, queue); });
}

Result<ScheduleChange> StoreTransaction::reschedule(const MessageId& id, WallTime at, std::string_view queue) {
  return changeWaiting({Times::Change::Kind::moved, id, std::max(at, begun_)},
                       [id, at, queue = std::string(queue)](auto& inner) { return inner.reschedule(id, at, queue); });
}

/// By a mutant, which leaves the row where it is until the commit. False: no such message waits.
bool StoreTransaction::leavesUnlooked(const MessageId& id) {
  const memory::Kept& kept = memory::StateOf::in(process_.simulation().store()).kept;
  if (kept.find(storage::Table::waiting, storage::waitingKey("", id)) == nullptr) return false;
  pending_.times.push_back({Times::Change::Kind::cancelled, id});
  return true;
}

void StoreTransaction::cancelUnlooked() {
  memory::Kept& kept = memory::StateOf::in(process_.simulation().store()).kept;
  for (const Times::Change& change : pending_.times) {
    if (change.kind != Times::Change::Kind::cancelled) continue;
    const std::string row = storage::nameOf(storage::Table::waiting, storage::waitingKey("", change.id));
    kept.unscheduled(row);
    kept.rows.erase(row);
  }
}

/// What is added and moved in one transaction is added once, as its last write has it.
void StoreTransaction::note(const Times::Change& change) {
  using Kind = Times::Change::Kind;
  const auto added = std::ranges::find_if(
      pending_.times, [&](const Times::Change& one) { return one.id == change.id && one.kind == Kind::added; });
  if (change.kind != Kind::moved || added == pending_.times.end()) return pending_.times.push_back(change);
  pending_.times.erase(added);
  pending_.times.push_back({Kind::added, change.id, change.due});
}

/// The answer is right when it is given; whether a change was in time shows at the commit.
Result<ScheduleChange> StoreTransaction::changeWaiting(const Times::Change& change,
                                                       std::function<Result<ScheduleChange>(IFencedTransaction&)> ask) {
  const bool isOurs = std::ranges::count(pending_.times, change.id, &Times::Change::id) > 0;
  Ghost& ghost = process_.simulation().ghost();
  const Result<ScheduleChange> answer = answered<ScheduleChange>([=, &ghost](IFencedTransaction& inner) {
    const Result<ScheduleChange> told = ask(inner);
    if (told && *told != ScheduleChange::done && !isOurs) ghost.complain(ghost.times().told(change.id, *told));
    return told;
  });
  if (!answer) return answer;
  if (*answer == ScheduleChange::done) note(change);
  process_.simulation().sawChange(change, *answer);
  return answer;
}

}  // namespace tenure::simulation
