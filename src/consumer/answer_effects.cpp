#include "consumer/answer_effects.hpp"

#include "tenure/career.hpp"

namespace tenure {

bool isStateKey(const std::string& key) noexcept { return !key.empty() && key.size() <= 255; }

}  // namespace tenure

namespace tenure::consuming {
namespace {

/// Throws where no answer with such an effect can ever be committed here.
Error orEnds(const Error& error, const char* effect) {
  if (!error.is(Errc::unsupported)) return error;
  throw EndTerm(EndReason::failed, {Errc::unsupported, std::string("the handler's answer has an effect \"") + effect +
                                                           "\", which this store cannot take: " + error.detail});
}

class Applier {
 public:
  Applier(Transaction& transaction, WallTime now) : transaction_(transaction), now_(now) {}

  Result<void> operator()(const SqlEffect& effect) {
    ISqlStatements* sql = transaction_.sql();
    if (sql == nullptr) return orEnds({Errc::unsupported, "it speaks no SQL"}, "sql");
    parameters_.assign(effect.parameters.begin(), effect.parameters.end());
    if (!effect.rows) return sql->write(effect.statement, parameters_);
    const Result<std::int64_t> touched = sql->touch(effect.statement, parameters_);
    if (!touched) return touched.error();
    if (*touched == *effect.rows) return {};
    return Error{Errc::storeFailed, "a statement has touched " + std::to_string(*touched) + " rows: expected " +
                                        std::to_string(*effect.rows)};
  }
  Result<void> operator()(const SendEffect& effect) {
    NewMessage message = effect.message;
    if (effect.delay) message.deliverAt = now_ + *effect.delay;
    const Result<void> sent = transaction_.enqueue(message, effect.queue);
    return sent ? sent : orEnds(sent.error(), "send");
  }
  /// A message that has come to its queue already is not cancelled, and that is no failure.
  Result<void> operator()(const CancelEffect& effect) {
    const auto cancelled = transaction_.cancelScheduled(effect.id, effect.queue);
    return cancelled ? Result<void>{} : orEnds(cancelled.error(), "cancel");
  }
  Result<void> operator()(const RescheduleEffect& effect) {
    const auto moved = transaction_.reschedule(effect.id, effect.at, effect.queue);
    return moved ? Result<void>{} : orEnds(moved.error(), "reschedule");
  }
  Result<void> operator()(const PutEffect& effect) { return transaction_.put(effect.key, effect.value); }
  Result<void> operator()(const EraseEffect& effect) { return transaction_.erase(effect.key); }

 private:
  Transaction& transaction_;
  const WallTime now_;
  std::vector<SqlParameter> parameters_;
};

}  // namespace

Outcome outcomeOfWrite(const Error& error) {
  if (isTermOver(error.code) && !isFatal(error.code)) throw EndTerm(EndReason::fenced, error);
  if (isFatal(error.code) || error.is(Errc::storeFull)) throw EndTerm(EndReason::failed, error);
  // A column of text, and a value that is none: no attempt can help.
  if (error.is(Errc::commitRefused)) return Outcome::reject(error.message());
  const bool isStores = error.is(Errc::unavailable) || error.is(Errc::storeBusy);
  return isStores ? Outcome::retryLater(error.message()) : Outcome::failed(error.message());
}

Outcome applied(const Answer& answer, Transaction& transaction, WallTime now) {
  if (answer.outcome.kind != Outcome::Kind::done) return answer.outcome;
  Applier apply(transaction, now);
  for (const Effect& effect : answer.effects)
    if (const Result<void> done = std::visit(apply, effect); !done) return outcomeOfWrite(done.error());
  return Outcome::done();
}

}  // namespace tenure::consuming
