#include "store.hpp"

#include "mutant_transaction.hpp"
#include "process.hpp"
#include "simulation.hpp"

namespace tenure::simulation {
namespace {

Error unreachable() { return {Errc::unavailable, "the simulated store is down"}; }

}  // namespace

Result<void> Store::claim(const Term& term) {
  Simulation& simulation = process_.simulation();
  if (simulation.mutant() == Mutant::readBeforeClaim) {
    Result<ConsumerState> early = read(simulation.plan().consumer.name);
    if (!early) return early.error();
    readEarly_ = std::move(*early);
  }
  const BootTime begun = simulation.loop().now();
  const Plan& plan = simulation.plan();
  return process_.remotely<Result<void>>(plan.commitLatency, plan.embeddedStore, [&] { return claimNow(term, begun); });
}

Result<void> Store::claimNow(const Term& term, BootTime begun) {
  Simulation& simulation = process_.simulation();
  if (simulation.storeDown()) return unreachable();
  // A holder that stands still is waited for, a while; then it is evicted.
  if (simulation.store().isLocked() && simulation.loop().now() - begun < simulation.plan().lockLimit &&
      simulation.drawOneIn(2))
    return Error{Errc::storeBusy, "another transaction writes"};
  Result<void> claimed = inner_.claim(term);
  process_.trace("claim", claimed ? 0 : claimed.error().code.value());
  if (!claimed) {
    if (isFatal(claimed.error().code) && !process_.excused())
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
    if (process_.simulation().storeDown()) return unreachable();
    Result<CommitFate> fate = inner_.resolve(term);
    process_.trace("resolve", fate ? static_cast<std::int64_t>(*fate) : -1);
    return fate;
  });
}

Result<ConsumerState> Store::read(const ConsumerName& consumer) {
  const Plan& plan = process_.simulation().plan();
  return process_.remotely<Result<ConsumerState>>(plan.storeLatency, plan.embeddedStore,
                                                  [&]() -> Result<ConsumerState> {
                                                    if (process_.simulation().storeDown()) return unreachable();
                                                    process_.simulation().ghost().stateRead(process_.token());
                                                    return inner_.consumerState(consumer);
                                                  });
}

Result<ConsumerState> Store::consumerState(const ConsumerName& consumer) {
  if (readEarly_) return *std::exchange(readEarly_, std::nullopt);
  return read(consumer);
}

Result<std::vector<Admission>> Store::known(const ConsumerName& consumer, std::span<const Message> messages) {
  const Plan& plan = process_.simulation().plan();
  using Known = Result<std::vector<Admission>>;
  return process_.remotely<Known>(plan.storeLatency, plan.embeddedStore, [&]() -> Known {
    if (process_.simulation().storeDown()) return unreachable();
    return inner_.known(consumer, messages);
  });
}

// --- the transaction

template <class T, class Operation>
Result<T> StoreTransaction::write(Operation operation) {
  if (broken_) return *broken_;
  const Plan& plan = process_.simulation().plan();
  Result<T> written = process_.remotely<Result<T>>(plan.storeLatency, plan.embeddedStore, [&]() -> Result<T> {
    if (process_.simulation().storeDown()) return unreachable();
    if (const auto failure = std::exchange(process_.armed.failWrite, std::nullopt))
      return Error{*failure, "as the plan has it"};
    return operation();
  });
  if (!written) {
    broken_ = written.error();
    inner_->rollback();
  }
  return written;
}

Result<std::optional<std::string>> StoreTransaction::get(std::string_view key) {
  if (broken_) return *broken_;
  return inner_->get(key);
}

Result<void> StoreTransaction::put(std::string_view key, std::string_view value) {
  return write<void>([&] { return inner_->put(key, value); });
}

Result<void> StoreTransaction::erase(std::string_view key) {
  return write<void>([&] { return inner_->erase(key); });
}

Result<Admission> StoreTransaction::admit(const ConsumerName& consumer, const MessageId& id, const BodyDigest& digest,
                                          MessageFate fate) {
  Result<Admission> admission = write<Admission>([&] { return inner_->admit(consumer, id, digest, fate); });
  if (!admission || *admission != Admission::fresh) return admission;
  if (fate == MessageFate::done)
    booking_.effects.push_back({.id = id, .body = process_.simulation().bodyOf(id, digest)});
  else if (!booking_.effects.empty())
    booking_.effects.back().keyed = true;
  return admission;
}

Result<void> StoreTransaction::mark() {
  mark_ = booking_.effects.size();
  return inner_->mark();
}

Result<void> StoreTransaction::rollbackToMark() {
  if (broken_) return *broken_;
  booking_.effects.resize(std::min(mark_, booking_.effects.size()));
  return inner_->rollbackToMark();
}

Result<void> StoreTransaction::recordInWork(const ConsumerName& consumer, std::span<const MessageId> ids, bool more) {
  return write<void>([&] { return inner_->recordInWork(consumer, ids, more); });
}

Result<void> StoreTransaction::recordAttempt(const ConsumerName& consumer, const AttemptRecord& record) {
  return write<void>([&] { return inner_->recordAttempt(consumer, record); });
}

Result<void> StoreTransaction::clearAttempt(const ConsumerName& consumer, const MessageId& id) {
  return write<void>([&] { return inner_->clearAttempt(consumer, id); });
}

Result<void> StoreTransaction::deadLetter(const ConsumerName& consumer, const DeadLetter& letter) {
  Result<void> written = write<void>([&] { return inner_->deadLetter(consumer, letter); });
  if (written)
    booking_.effects.push_back({.id = letter.message.id,
                                .fate = MessageFate::dead,
                                .body = letter.message.body,
                                .attempts = letter.attempts,
                                .keyed = false});
  return written;
}

Result<void> StoreTransaction::acknowledge(IMessageSource& source, std::span<const Message> messages) {
  Result<void> written = write<void>([&] {
    if (auto* mutant = dynamic_cast<MutantTransaction*>(inner_.get())) return mutant->acknowledge(source, messages);
    return source.acknowledge(*inner_, messages);
  });
  if (written) booking_.acknowledged.insert(booking_.acknowledged.end(), messages.begin(), messages.end());
  return written;
}

Result<void> StoreTransaction::commit() {
  if (broken_) return *broken_;
  Simulation& simulation = process_.simulation();
  const Plan& plan = simulation.plan();
  if (simulation.mutant() == Mutant::ackBeforeCommit) {
    std::vector<MessageId> ids;
    for (const Booking::Effect& effect : booking_.effects) ids.push_back(effect.id);
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
  if (simulation.storeDown()) {
    inner_->rollback();
    return unreachable();
  }
  const std::optional<bool> lost = std::exchange(process_.armed.loseCommit, std::nullopt);
  if (lost) simulation.store().loseCommitReply(*lost);
  Result<void> committed = inner_->commit();
  simulation.store().heal();  // nothing was written, or the fence refused: the lost reply was nobody's
  process_.trace("commit", committed ? 0 : committed.error().code.value());
  const bool landed = committed || (lost.value_or(false) && committed.error().is(Errc::outcomeUnknown));
  if (landed) simulation.ghost().committed(token_, booking_);
  if (!committed && committed.error().is(Errc::outcomeUnknown)) process_.enter(Stage::commitLost);
  if (committed && simulation.plan().queue != Queue::table && !booking_.effects.empty())
    process_.enter(Stage::unacknowledged);
  if (!committed) inner_->rollback();
  return committed;
}

}  // namespace tenure::simulation
