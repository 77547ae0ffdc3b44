#include "consumer/serialized_store.hpp"

namespace tenure::consuming {

SerialAccess::Pass SerialAccess::enter(IAccessWatch& watch) {
  Pass pass(*lock_, std::try_to_lock);
  if (pass.owns_lock()) return pass;
  ++waiting_;
  watch.waitsForStore(true);
  pass.lock();
  watch.waitsForStore(false);
  --waiting_;
  return pass;
}

Result<void> SerializedTransaction::enter() {
  if (broken_) return *broken_;
  if (inner_) return {};
  const BootTime came = access_.now();
  pass_ = access_.enter(watch_);
  messageBegan_ += access_.now() - came;
  store_.limitAnswers(timer_);
  Result<std::unique_ptr<IFencedTransaction>> begun = store_.begin(term_);
  Result<void> ready = begun ? Result<void>{} : begun.error();
  if (begun) {
    inner_ = std::move(*begun);
    if (marked_) ready = inner_->mark();
  }
  if (ready) return {};
  rollback();
  // The unresolved commit is another lane's, which resolves it.
  broken_ = isOutcomeUnknown(ready.error().code) ? Error{Errc::storeBusy, ready.error().detail} : ready.error();
  return *broken_;
}

Result<std::optional<std::string>> SerializedTransaction::get(std::string_view key) {
  if (const Result<void> entered = enter(); !entered) return entered.error();
  return inner_->get(key);
}

Result<void> SerializedTransaction::put(std::string_view key, std::string_view value) {
  const Result<void> entered = enter();
  return entered ? inner_->put(key, value) : entered;
}

Result<void> SerializedTransaction::erase(std::string_view key) {
  const Result<void> entered = enter();
  return entered ? inner_->erase(key) : entered;
}

Result<void> SerializedTransaction::enqueue(const NewMessage& message, std::string_view queue) {
  const Result<void> entered = enter();
  return entered ? inner_->enqueue(message, queue) : entered;
}

Result<ScheduleChange> SerializedTransaction::cancelScheduled(const MessageId& id, std::string_view queue) {
  const Result<void> entered = enter();
  return entered ? inner_->cancelScheduled(id, queue) : entered.error();
}

Result<ScheduleChange> SerializedTransaction::reschedule(const MessageId& id, WallTime at, std::string_view queue) {
  const Result<void> entered = enter();
  return entered ? inner_->reschedule(id, at, queue) : entered.error();
}

ISqlStatements* SerializedTransaction::sql() noexcept { return enter() ? inner_->sql() : nullptr; }

Result<Admission> SerializedTransaction::admit(const ConsumerName& consumer, const MessageId& id,
                                               const BodyDigest& digest, MessageFate fate) {
  if (!marked_) messageBegan_ = access_.now();  // one of those that are handled together
  if (const Result<void> entered = enter(); !entered) return entered.error();
  return inner_->admit(consumer, id, digest, fate);
}

Result<void> SerializedTransaction::status() const {
  if (broken_) return *broken_;
  return inner_ ? inner_->status() : Result<void>{};
}

/// Takes no lock, so it does not enter either: the store hears of it when the lane does.
Result<void> SerializedTransaction::mark() {
  marked_ = true;
  messageBegan_ = access_.now();
  return inner_ ? inner_->mark() : Result<void>{};
}

bool SerializedTransaction::isFull() const noexcept { return inner_ && (inner_->isFull() || keepsOthersOut()); }

bool SerializedTransaction::keepsOthersOut() const noexcept {
  return access_.isWaitedFor() && access_.now() - messageBegan_ > access_.commitTook();
}

Result<void> SerializedTransaction::rollbackToMark() { return inner_ ? inner_->rollbackToMark() : Result<void>{}; }

Result<void> SerializedTransaction::recordInWork(const ConsumerName& consumer, std::size_t lane, const InWork& inWork) {
  const Result<void> entered = enter();
  return entered ? inner_->recordInWork(consumer, lane, inWork) : entered;
}

Result<void> SerializedTransaction::recordAttempt(const ConsumerName& consumer, const AttemptRecord& record) {
  const Result<void> entered = enter();
  return entered ? inner_->recordAttempt(consumer, record) : entered;
}

Result<void> SerializedTransaction::clearAttempt(const ConsumerName& consumer, const MessageId& id) {
  const Result<void> entered = enter();
  return entered ? inner_->clearAttempt(consumer, id) : entered;
}

Result<void> SerializedTransaction::recordFact(const ConsumerName& consumer, const ConsumerFact& fact) {
  const Result<void> entered = enter();
  return entered ? inner_->recordFact(consumer, fact) : entered;
}

Result<void> SerializedTransaction::deadLetter(const ConsumerName& consumer, const DeadLetter& letter) {
  const Result<void> entered = enter();
  return entered ? inner_->deadLetter(consumer, letter) : entered;
}

Result<GroupTurn> SerializedTransaction::turnOf(const ConsumerName& consumer, const GroupId& group) {
  const Result<void> entered = enter();
  return entered ? inner_->turnOf(consumer, group) : entered.error();
}

Result<void> SerializedTransaction::recordTurn(const ConsumerName& consumer, const GroupId& group,
                                               const GroupTurn& turn) {
  const Result<void> entered = enter();
  return entered ? inner_->recordTurn(consumer, group, turn) : entered;
}

Result<std::optional<KeptMessage>> SerializedTransaction::kept(const ConsumerName& consumer, const GroupId& group,
                                                               std::int64_t number) {
  const Result<void> entered = enter();
  return entered ? inner_->kept(consumer, group, number) : entered.error();
}

Result<void> SerializedTransaction::keep(const ConsumerName& consumer, const KeptMessage& message) {
  const Result<void> entered = enter();
  return entered ? inner_->keep(consumer, message) : entered;
}

Result<void> SerializedTransaction::dropKept(const ConsumerName& consumer, const GroupId& group, std::int64_t number) {
  const Result<void> entered = enter();
  return entered ? inner_->dropKept(consumer, group, number) : entered;
}

Result<void> SerializedTransaction::logAttempts(const ConsumerName& consumer, std::span<const LoggedAttempt> attempts) {
  const Result<void> entered = enter();
  return entered ? inner_->logAttempts(consumer, attempts) : entered;
}

Result<void> SerializedTransaction::acknowledge(std::span<const Message> messages) {
  const Result<void> entered = enter();
  return entered ? inner_->acknowledge(messages) : entered;
}

Result<void> SerializedTransaction::commit() {
  if (const Result<void> entered = enter(); !entered) return entered;
  const BootTime began = access_.now();
  Result<void> committed = inner_->commit();
  access_.committed(access_.now() - began);
  if (!committed && isOutcomeUnknown(committed.error().code)) unresolved_ = std::move(pass_);
  rollback();
  return committed;
}

void SerializedTransaction::rollback() noexcept {
  if (inner_) inner_->rollback();
  inner_.reset();
  if (pass_.owns_lock()) pass_.unlock();
}

Result<void> SerializedStore::claim(const Term&) { return {}; }

Result<std::unique_ptr<IFencedTransaction>> SerializedStore::begin(const Term& term) {
  return std::make_unique<SerializedTransaction>(access_, watch_, unresolved_, store_, timer_, term);
}

void SerializedStore::limitAnswers(AnswerTimer* timer) noexcept {
  timer_ = timer;
  if (timer_ != nullptr) timer_->share(access_.silence());
}

/// The store then answers to this lane.
SerialAccess::Pass SerializedStore::enter() {
  SerialAccess::Pass pass = access_.enter(watch_);
  store_.limitAnswers(timer_);
  return pass;
}

Result<CommitFate> SerializedStore::resolve(const Term& term) {
  SerialAccess::Pass pass = unresolved_.owns_lock() ? std::move(unresolved_) : enter();
  const Result<CommitFate> fate = store_.resolve(term);
  if (!fate) unresolved_ = std::move(pass);
  return fate;
}

Result<ConsumerState> SerializedStore::consumerState(const ConsumerName& consumer) {
  const SerialAccess::Pass pass = enter();
  return store_.consumerState(consumer);
}

Result<InWork> SerializedStore::inWorkOf(const ConsumerName& consumer, std::size_t lane) {
  const SerialAccess::Pass pass = enter();
  return store_.inWorkOf(consumer, lane);
}

Result<std::vector<NumberedGroup>> SerializedStore::openGroups(const ConsumerName& consumer) {
  const SerialAccess::Pass pass = enter();
  return store_.openGroups(consumer);
}

Result<std::vector<Admission>> SerializedStore::known(const ConsumerName& consumer, std::span<const Message> messages) {
  const SerialAccess::Pass pass = enter();
  return store_.known(consumer, messages);
}

Result<std::optional<WallTime>> SerializedStore::clock() {
  const SerialAccess::Pass pass = access_.enter(watch_);
  return store_.clock();
}

Result<Pruned> SerializedStore::prune(const Term& term, const Pruning& step) {
  SerialAccess::Pass pass = enter();
  const Result<Pruned> pruned = store_.prune(term, step);
  if (!pruned && isOutcomeUnknown(pruned.error().code)) unresolved_ = std::move(pass);
  return pruned;
}

Result<std::size_t> SerializedStore::pruneLog(const Term& term, const LogPruning& step) {
  SerialAccess::Pass pass = enter();
  const Result<std::size_t> removed = store_.pruneLog(term, step);
  if (!removed && isOutcomeUnknown(removed.error().code)) unresolved_ = std::move(pass);
  return removed;
}

void SerializedStore::release() noexcept {
  if (unresolved_.owns_lock()) unresolved_.unlock();
}

}  // namespace tenure::consuming
