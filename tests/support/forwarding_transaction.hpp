/// A fenced transaction around another one: a decorator overrides the calls it wants to meet; the rest passes through.
///
/// Every write goes through `pass` as a step that can be taken again, so that one override meets all of them.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tenure/spi/source.hpp"

namespace tenure::test {

class ForwardingTransaction : public IFencedTransaction {
 public:
  explicit ForwardingTransaction(std::unique_ptr<IFencedTransaction> inner) : inner_(std::move(inner)) {}

  Result<std::optional<std::string>> get(std::string_view key) override {
    onTouch();
    return inner_->get(key);
  }
  Result<void> put(std::string_view key, std::string_view value) override {
    return pass([key = std::string(key), value = std::string(value)](auto& inner) { return inner.put(key, value); });
  }
  Result<void> erase(std::string_view key) override {
    return pass([key = std::string(key)](auto& inner) { return inner.erase(key); });
  }
  Result<void> enqueue(const NewMessage& message, std::string_view queue) override {
    return pass([message, queue = std::string(queue)](auto& inner) { return inner.enqueue(message, queue); });
  }
  Result<ScheduleChange> cancelScheduled(const MessageId& id, std::string_view queue) override {
    return answered<ScheduleChange>(
        [id, queue = std::string(queue)](auto& inner) { return inner.cancelScheduled(id, queue); });
  }
  Result<ScheduleChange> reschedule(const MessageId& id, WallTime at, std::string_view queue) override {
    return answered<ScheduleChange>(
        [id, at, queue = std::string(queue)](auto& inner) { return inner.reschedule(id, at, queue); });
  }
  ISqlStatements* sql() noexcept override {
    onTouch();
    return inner_->sql();
  }
  Result<Admission> admit(const ConsumerName& consumer, const MessageId& id, const BodyDigest& digest,
                          MessageFate fate) override {
    return answered<Admission>([=](auto& inner) { return inner.admit(consumer, id, digest, fate); });
  }
  Result<void> status() const override { return inner_->status(); }
  bool isFull() const noexcept override { return inner_->isFull(); }
  Result<void> mark() override { return inner_->mark(); }
  Result<void> rollbackToMark() override { return inner_->rollbackToMark(); }
  Result<void> recordInWork(const ConsumerName& consumer, std::size_t lane, const InWork& inWork) override {
    return pass([=](auto& inner) { return inner.recordInWork(consumer, lane, inWork); });
  }
  Result<void> recordAttempt(const ConsumerName& consumer, const AttemptRecord& record) override {
    return pass([=](auto& inner) { return inner.recordAttempt(consumer, record); });
  }
  Result<void> clearAttempt(const ConsumerName& consumer, const MessageId& id) override {
    return pass([=](auto& inner) { return inner.clearAttempt(consumer, id); });
  }
  Result<void> recordFact(const ConsumerName& consumer, const ConsumerFact& fact) override {
    return pass([=](auto& inner) { return inner.recordFact(consumer, fact); });
  }
  Result<void> deadLetter(const ConsumerName& consumer, const DeadLetter& letter) override {
    return pass([=](auto& inner) { return inner.deadLetter(consumer, letter); });
  }
  Result<GroupTurn> turnOf(const ConsumerName& consumer, const GroupId& group) override {
    onTouch();
    return inner_->turnOf(consumer, group);
  }
  Result<void> recordTurn(const ConsumerName& consumer, const GroupId& group, const GroupTurn& turn) override {
    return pass([=](auto& inner) { return inner.recordTurn(consumer, group, turn); });
  }
  Result<std::optional<KeptMessage>> kept(const ConsumerName& consumer, const GroupId& group,
                                          std::int64_t number) override {
    onTouch();
    return inner_->kept(consumer, group, number);
  }
  Result<void> keep(const ConsumerName& consumer, const KeptMessage& message) override {
    return pass([=](auto& inner) { return inner.keep(consumer, message); });
  }
  Result<void> dropKept(const ConsumerName& consumer, const GroupId& group, std::int64_t number) override {
    return pass([=, id = group](auto& inner) { return inner.dropKept(consumer, id, number); });
  }
  Result<void> logAttempts(const ConsumerName& consumer, std::span<const LoggedAttempt> attempts) override {
    return pass([=, all = std::vector<LoggedAttempt>(attempts.begin(), attempts.end())](auto& inner) {
      return inner.logAttempts(consumer, all);
    });
  }
  Result<void> acknowledge(std::span<const Message> messages) override {
    return pass(
        [all = std::vector<Message>(messages.begin(), messages.end())](auto& inner) { return inner.acknowledge(all); });
  }
  Result<void> commit() override { return inner_->commit(); }
  void rollback() noexcept override { inner_->rollback(); }

 protected:
  using Step = std::function<Result<void>(IFencedTransaction&)>;

  virtual Result<void> pass(Step step) {
    onTouch();
    return step(*inner_);
  }
  /// Called before anything that takes the store's lock.
  virtual void onTouch() noexcept {}

  /// A write that answers something.
  template <class T>
  Result<T> answered(std::function<Result<T>(IFencedTransaction&)> ask) {
    const auto answer = std::make_shared<Result<T>>(Error{Errc::storeFailed, "was not asked"});
    const Result<void> passed = pass([=](auto& inner) {
      *answer = ask(inner);
      return *answer ? Result<void>{} : Result<void>{answer->error()};
    });
    return passed ? *answer : Result<T>{passed.error()};
  }

  IFencedTransaction& inner() noexcept { return *inner_; }
  void replace(std::unique_ptr<IFencedTransaction> inner) noexcept { inner_ = std::move(inner); }

 private:
  std::unique_ptr<IFencedTransaction> inner_;
};

}  // namespace tenure::test
