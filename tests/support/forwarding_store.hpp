/// A fenced store around another one: a decorator overrides the calls it wants to meet; the rest passes through.
///
/// Lanes are not passed on: they would commit past the decorator. One that wants them decorates them as well.
#pragma once

#include "support/forwarding_transaction.hpp"

namespace tenure::test {

class ForwardingStore : public IFencedStore {
 public:
  /// Borrows `inner`.
  explicit ForwardingStore(IFencedStore& inner) : inner_(inner) {}

  Result<void> prepare(const std::stop_token& stop) override { return inner_.prepare(stop); }
  Result<void> checkSql(std::string_view sql, std::span<const SqlParameter> parameters) override {
    return inner_.checkSql(sql, parameters);
  }
  void serve(const QueueIdentity& queue) override { inner_.serve(queue); }
  Result<void> claim(const Term& term) override { return inner_.claim(term); }
  Result<std::unique_ptr<IFencedTransaction>> begin(const Term& term) override { return inner_.begin(term); }
  Result<CommitFate> resolve(const Term& term) override { return inner_.resolve(term); }
  Result<ConsumerState> consumerState(const ConsumerName& consumer) override { return inner_.consumerState(consumer); }
  Result<InWork> inWorkOf(const ConsumerName& consumer, std::size_t lane) override {
    return inner_.inWorkOf(consumer, lane);
  }
  Result<std::vector<NumberedGroup>> openGroups(const ConsumerName& consumer) override {
    return inner_.openGroups(consumer);
  }
  Result<std::vector<Admission>> known(const ConsumerName& consumer, std::span<const Message> messages) override {
    return inner_.known(consumer, messages);
  }
  void expect(std::vector<MessageId> ids) override { inner_.expect(std::move(ids)); }
  std::size_t maxBatch() const noexcept override { return inner_.maxBatch(); }
  Result<std::optional<WallTime>> clock() override { return inner_.clock(); }
  std::optional<std::chrono::hours> keepsIdsFor() const noexcept override { return inner_.keepsIdsFor(); }
  Result<Pruned> prune(const Term& term, const Pruning& step) override { return inner_.prune(term, step); }
  bool keepsLog() const noexcept override { return inner_.keepsLog(); }
  Result<std::size_t> pruneLog(const Term& term, const LogPruning& step) override {
    return inner_.pruneLog(term, step);
  }
  void limitAnswers(AnswerTimer* timer) noexcept override { inner_.limitAnswers(timer); }
  void release() noexcept override { inner_.release(); }

  IFencedStore& inner() const noexcept { return inner_; }

 private:
  IFencedStore& inner_;
};

}  // namespace tenure::test
