#include "consumer/gate.hpp"

namespace tenure::consuming {

Gate::Pass Gate::enter(IGateWatch& watch) {
  Pass pass(*lock_, std::try_to_lock);
  if (pass.owns_lock()) return pass;
  ++waiting_;
  watch.waitsAtGate(true);
  pass.lock();
  watch.waitsAtGate(false);
  --waiting_;
  return pass;
}

Result<void> GatedTransaction::enter() {
  if (broken_) return *broken_;
  if (inner_) return {};
  const BootTime came = gate_.now();
  pass_ = gate_.enter(watch_);
  messageBegan_ += gate_.now() - came;
  store_.limitAnswers(timer_);
  Result<std::unique_ptr<IFencedTransaction>> begun = store_.begin(term_);
  Result<void> ready = begun ? Result<void>{} : begun.error();
  if (begun) {
    inner_ = std::move(*begun);
    if (marked_) ready = inner_->mark();
  }
  if (ready) return {};
  rollback();
  // Not this one's: its own is resolved by whoever made it.
  broken_ = isOutcomeUnknown(ready.error().code) ? Error{Errc::storeBusy, ready.error().detail} : ready.error();
  return *broken_;
}

Result<void> GatedTransaction::acknowledge(IMessageSource& source, std::span<const Message> messages) {
  const Result<void> entered = enter();
  return entered ? source.acknowledge(*inner_, messages) : entered;
}

Result<std::optional<std::string>> GatedTransaction::get(std::string_view key) {
  if (const Result<void> entered = enter(); !entered) return entered.error();
  return inner_->get(key);
}

Result<void> GatedTransaction::put(std::string_view key, std::string_view value) {
  const Result<void> entered = enter();
  return entered ? inner_->put(key, value) : entered;
}

Result<void> GatedTransaction::erase(std::string_view key) {
  const Result<void> entered = enter();
  return entered ? inner_->erase(key) : entered;
}

ISqlStatements* GatedTransaction::sql() noexcept { return enter() ? inner_->sql() : nullptr; }

Result<Admission> GatedTransaction::admit(const ConsumerName& consumer, const MessageId& id, const BodyDigest& digest,
                                          MessageFate fate) {
  if (!marked_) messageBegan_ = gate_.now();  // one of those that are handled together
  if (const Result<void> entered = enter(); !entered) return entered.error();
  return inner_->admit(consumer, id, digest, fate);
}

Result<void> GatedTransaction::standing() const {
  if (broken_) return *broken_;
  return inner_ ? inner_->standing() : Result<void>{};
}

/// Takes no lock, so it does not enter either: the store hears of it when the lane does.
Result<void> GatedTransaction::mark() {
  marked_ = true;
  messageBegan_ = gate_.now();
  return inner_ ? inner_->mark() : Result<void>{};
}

bool GatedTransaction::isFull() const noexcept { return inner_ && (inner_->isFull() || keepsOthersOut()); }

bool GatedTransaction::keepsOthersOut() const noexcept {
  return gate_.isWaitedFor() && gate_.now() - messageBegan_ > gate_.commitTook();
}

Result<void> GatedTransaction::rollbackToMark() { return inner_ ? inner_->rollbackToMark() : Result<void>{}; }

Result<void> GatedTransaction::recordInWork(const ConsumerName& consumer, std::span<const MessageId> ids, bool more) {
  const Result<void> entered = enter();
  return entered ? inner_->recordInWork(consumer, ids, more) : entered;
}

Result<void> GatedTransaction::recordAttempt(const ConsumerName& consumer, const AttemptRecord& record) {
  const Result<void> entered = enter();
  return entered ? inner_->recordAttempt(consumer, record) : entered;
}

Result<void> GatedTransaction::clearAttempt(const ConsumerName& consumer, const MessageId& id) {
  const Result<void> entered = enter();
  return entered ? inner_->clearAttempt(consumer, id) : entered;
}

Result<void> GatedTransaction::deadLetter(const ConsumerName& consumer, const DeadLetter& letter) {
  const Result<void> entered = enter();
  return entered ? inner_->deadLetter(consumer, letter) : entered;
}

Result<void> GatedTransaction::logAttempts(const ConsumerName& consumer, std::span<const LoggedAttempt> attempts) {
  const Result<void> entered = enter();
  return entered ? inner_->logAttempts(consumer, attempts) : entered;
}

Result<void> GatedTransaction::commit() {
  if (const Result<void> entered = enter(); !entered) return entered;
  const BootTime began = gate_.now();
  Result<void> committed = inner_->commit();
  gate_.committed(gate_.now() - began);
  if (!committed && isOutcomeUnknown(committed.error().code)) unresolved_ = std::move(pass_);
  rollback();
  return committed;
}

void GatedTransaction::rollback() noexcept {
  if (inner_) inner_->rollback();
  inner_.reset();
  if (pass_.owns_lock()) pass_.unlock();
}

Result<void> GatedStore::claim(const Term&) { return {}; }

Result<std::unique_ptr<IFencedTransaction>> GatedStore::begin(const Term& term) {
  return std::make_unique<GatedTransaction>(gate_, watch_, unresolved_, store_, timer_, term);
}

void GatedStore::limitAnswers(AnswerTimer* timer) noexcept {
  timer_ = timer;
  if (timer_ != nullptr) timer_->share(gate_.silence());
}

/// The store then answers to this lane.
Gate::Pass GatedStore::enter() {
  Gate::Pass pass = gate_.enter(watch_);
  store_.limitAnswers(timer_);
  return pass;
}

Result<CommitFate> GatedStore::resolve(const Term& term) {
  Gate::Pass pass = unresolved_.owns_lock() ? std::move(unresolved_) : enter();
  const Result<CommitFate> fate = store_.resolve(term);
  if (!fate) unresolved_ = std::move(pass);
  return fate;
}

Result<ConsumerState> GatedStore::consumerState(const ConsumerName& consumer) {
  const Gate::Pass pass = enter();
  return store_.consumerState(consumer);
}

Result<std::vector<Admission>> GatedStore::known(const ConsumerName& consumer, std::span<const Message> messages) {
  const Gate::Pass pass = enter();
  return store_.known(consumer, messages);
}

Result<std::optional<WallTime>> GatedStore::clock() {
  const Gate::Pass pass = gate_.enter(watch_);
  return store_.clock();
}

Result<Pruned> GatedStore::prune(const Term& term, const Pruning& step) {
  Gate::Pass pass = enter();
  const Result<Pruned> pruned = store_.prune(term, step);
  if (!pruned && isOutcomeUnknown(pruned.error().code)) unresolved_ = std::move(pass);
  return pruned;
}

Result<std::size_t> GatedStore::pruneLog(const Term& term, const LogPruning& step) {
  Gate::Pass pass = enter();
  const Result<std::size_t> removed = store_.pruneLog(term, step);
  if (!removed && isOutcomeUnknown(removed.error().code)) unresolved_ = std::move(pass);
  return removed;
}

void GatedStore::release() noexcept {
  if (unresolved_.owns_lock()) unresolved_.unlock();
}

}  // namespace tenure::consuming
