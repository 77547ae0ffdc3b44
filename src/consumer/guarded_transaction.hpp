/// The transaction that a handler gets. It remembers the first call that failed, until the handler accepts that.
///
/// Where source and store are two places, it refuses a send that names no queue: no election consumes the queue that
/// the store was opened for.
#pragma once

#include <optional>
#include <utility>

#include "tenure/spi/store.hpp"

namespace tenure::consuming {

class GuardedTransaction final : public Transaction, private ISqlStatements {
 public:
  struct Rules {
    bool namesQueues = false;
  };
  GuardedTransaction(Transaction& inner, Rules rules) : inner_(inner), rules_(rules) {}

  Result<std::optional<std::string>> get(std::string_view key) override { return heard(inner_.get(key)); }
  Result<void> put(std::string_view key, std::string_view value) override { return heard(inner_.put(key, value)); }
  Result<void> erase(std::string_view key) override { return heard(inner_.erase(key)); }
  Result<void> enqueue(const NewMessage& message, std::string_view queue) override {
    return heard(lacksName(queue) ? Result<void>(nameless()) : inner_.enqueue(message, queue));
  }
  Result<ScheduleChange> cancelScheduled(const MessageId& id, std::string_view queue) override {
    return heard(lacksName(queue) ? Result<ScheduleChange>(elsewhere()) : inner_.cancelScheduled(id, queue));
  }
  Result<ScheduleChange> reschedule(const MessageId& id, WallTime at, std::string_view queue) override {
    return heard(lacksName(queue) ? Result<ScheduleChange>(elsewhere()) : inner_.reschedule(id, at, queue));
  }
  ISqlStatements* sql() noexcept override { return inner_.sql() != nullptr ? this : nullptr; }
  void acceptFailures() noexcept override { failure_.reset(); }

  /// The first one that the handler has not accepted.
  const std::optional<Error>& failure() const noexcept { return failure_; }

 private:
  Result<std::vector<SqlRow>> execute(std::string_view sql, std::span<const SqlParameter> parameters) override {
    return heard(inner_.sql()->execute(sql, parameters));
  }
  Result<void> write(std::string_view sql, std::span<const SqlParameter> parameters) override {
    return heard(inner_.sql()->write(sql, parameters));
  }
  /// A failed check leaves nothing undone, so that it is not remembered.
  Result<void> check(std::string_view sql, std::span<const SqlParameter> parameters) override {
    return inner_.sql()->check(sql, parameters);
  }

  template <class T>
  Result<T> heard(Result<T> result) {
    if (!result && !failure_) failure_ = result.error();
    return result;
  }
  bool lacksName(std::string_view queue) const noexcept { return rules_.namesQueues && queue.empty(); }
  static Error nameless() {
    return {Errc::invalidArgument,
            "name the queue: messages do not come from this store, and the queue that it was opened for is consumed by "
            "no election"};
  }
  static Error elsewhere() {
    return {Errc::unsupported,
            "the queue is kept elsewhere, and no transaction of this store reaches its messages: use ScheduledMessages "
            "of the queue, or name a queue of this store"};
  }

  Transaction& inner_;
  const Rules rules_;
  std::optional<Error> failure_;
};

}  // namespace tenure::consuming
