#include "history/recorded.hpp"

namespace tenure::history {

using test::ForwardingTransaction;

namespace {

Line lineOf(Stage stage, Op op, std::int64_t token, std::string id) {
  Line line;
  line.stage = stage;
  line.op = op;
  line.token = token;
  line.id = std::move(id);
  return line;
}

}  // namespace

class RecordedTransaction final : public ForwardingTransaction {
 public:
  RecordedTransaction(std::unique_ptr<IFencedTransaction> inner, RecordedStore& store, Term term)
      : ForwardingTransaction(std::move(inner)), store_(store), term_(std::move(term)) {}
  ~RecordedTransaction() override { store_.undo(0); }

  Result<void> mark() override {
    store_.mark_ = store_.open_.effects.size();
    return ForwardingTransaction::mark();
  }
  Result<void> rollbackToMark() override {
    store_.undo(store_.mark_);
    return ForwardingTransaction::rollbackToMark();
  }
  Result<void> acknowledge(std::span<const Message> messages) override {
    Result<void> done = ForwardingTransaction::acknowledge(messages);
    if (done) store_.acknowledging(messages);
    return done;
  }
  Result<void> commit() override {
    store_.history_.write(Stage::invoke, Op::commit, term_.token().value);
    Result<void> committed = ForwardingTransaction::commit();
    store_.wroteInto(term_, committed);
    return committed;
  }
  void rollback() noexcept override {
    store_.undo(0);
    ForwardingTransaction::rollback();
  }

 private:
  void onTouch() noexcept override { store_.written_ = true; }

  RecordedStore& store_;
  Term term_;
};

Result<void> RecordedStore::claim(const Term& term) {
  undone_();
  return ForwardingStore::claim(term);
}

Result<std::unique_ptr<IFencedTransaction>> RecordedStore::begin(const Term& term) {
  auto begun = ForwardingStore::begin(term);
  if (!begun) return begun.error();
  written_ = false;
  return std::unique_ptr<IFencedTransaction>(std::make_unique<RecordedTransaction>(std::move(*begun), *this, term));
}

Result<CommitFate> RecordedStore::resolve(const Term& term) {
  const Result<CommitFate> fate = ForwardingStore::resolve(term);
  if (!fate) return fate;
  tell(unresolved_, *fate == CommitFate::committed ? Stage::ok : Stage::fail, term.token().value);
  unresolved_ = {};
  return fate;
}

void RecordedStore::handled(const Message& message) { open_.effects.push_back(message.id.value); }

void RecordedStore::acknowledging(std::span<const Message> messages) {
  for (const Message& message : messages) open_.acknowledgements.push_back(message.id.value);
}

void RecordedStore::wroteInto(const Term& term, const Result<void>& committed) {
  const bool unknown = !committed && isOutcomeUnknown(committed.error().code);
  tell(open_, committed ? Stage::ok : unknown ? Stage::info : Stage::fail, term.token().value);
  if (unknown) unresolved_ = open_;
  if (!committed) return undo(0);
  open_ = {};
}

void RecordedStore::tell(const Pending& pending, Stage stage, std::int64_t token) const {
  if (pending.effects.empty()) history_.write(stage, Op::commit, token);
  for (const std::string& id : pending.effects) history_.write(lineOf(stage, Op::commit, token, id));
  for (const std::string& id : pending.acknowledgements) history_.write(lineOf(stage, Op::ack, token, id));
}

void RecordedStore::undo(std::size_t keep) noexcept {
  if (open_.effects.size() <= keep) return;
  open_.effects.resize(keep);
  if (keep == 0) open_.acknowledgements.clear();
  undone_();
}

Result<void> RecordedSource::attach(const Term& term) {
  token_ = term.token().value;
  return inner_.attach(term);
}

bool RecordedSource::sharesTransactionsWith(const IFencedStore& store) const noexcept {
  return acknowledging_ == Acknowledging::inTransaction && &store == &store_ &&
         inner_.sharesTransactionsWith(innermost_);
}

Result<void> RecordedSource::acknowledge(std::span<const Message> messages) {
  for (const Message& message : messages) history_.write(lineOf(Stage::invoke, Op::ack, token_, message.id.value));
  Result<void> done = inner_.acknowledge(messages);
  const Stage stage = done ? Stage::ok : isOutcomeUnknown(done.error().code) ? Stage::info : Stage::fail;
  for (const Message& message : messages) history_.write(lineOf(stage, Op::ack, token_, message.id.value));
  return done;
}

Handler recorded(Handler handler, RecordedStore& store, const Writer& history) {
  return [handler = std::move(handler), &store, &history](const Delivery& delivery) {
    Line line = lineOf(Stage::invoke, Op::execute, delivery.term.token().value, delivery.message.id.value);
    line.group = delivery.message.group.value;
    history.write(line);
    line.stage = Stage::fail;
    Outcome outcome;
    try {
      outcome = handler(delivery);
    } catch (...) {
      history.write(line);
      throw;
    }
    if (outcome.kind == Outcome::Kind::done) {
      store.handled(delivery.message);
      line.stage = Stage::ok;
    }
    line.outcome = outcome.reason;
    history.write(line);
    return outcome;
  };
}

}  // namespace tenure::history
