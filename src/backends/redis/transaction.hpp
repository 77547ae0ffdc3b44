/// One fenced transaction: what it will write, and what it has read.
///
///   open ──commit / rollback / a failure──▶ over
///
/// Each read looks at the fence as well, and so does the commit. Open holds nothing on the server, so that a slow
/// handler is in nobody's way, and a newer term's claim defeats the transaction instead of waiting for it. What was
/// read stays true until the commit: nobody else writes under our fence, and the commit finds it as it was, or fails.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "backends/redis/write_set.hpp"
#include "tenure/store.hpp"

namespace tenure::redis {

class Store;

class FencedTransaction final : public IFencedTransaction {
 public:
  FencedTransaction(Store& store, Term term) : store_(store), term_(std::move(term)) {}
  ~FencedTransaction() override { FencedTransaction::rollback(); }

  Result<std::optional<std::string>> get(std::string_view key) override;
  Result<void> put(std::string_view key, std::string_view value) override;
  Result<void> erase(std::string_view key) override;

  Result<Admission> admit(const ConsumerName& consumer, const MessageId& id, const BodyDigest& digest,
                          MessageFate fate) override;
  Result<void> standing() const override;
  Result<void> mark() override;
  Result<void> rollbackToMark() override;
  Result<void> recordInWork(const ConsumerName& consumer, std::span<const MessageId> ids, bool more) override;
  Result<void> recordAttempt(const ConsumerName& consumer, const AttemptRecord& record) override;
  Result<void> clearAttempt(const ConsumerName& consumer, const MessageId& id) override;
  Result<void> deadLetter(const ConsumerName& consumer, const DeadLetter& letter) override;
  Result<void> logAttempts(const ConsumerName& consumer, std::span<const LoggedAttempt> attempts) override;
  Result<void> commit() override;
  void rollback() noexcept override;

  /// For the source of the same Database.
  Result<void> deleteMessages(std::span<const Message> messages);
  const Store& store() const noexcept { return store_; }

 private:
  using Known = std::map<std::string, std::optional<std::string>, std::less<>>;

  /// Reads a field of the state and some keys, any of them or none, and passes the fence by it.
  Result<void> look(std::span<const std::string> fields, std::span<const std::string> keys);
  Result<std::optional<std::string>> stored(const std::string& key, const ConsumerName& consumer, const MessageId& id);

  Store& store_;
  Term term_;
  bool over_ = false;
  std::optional<Error> broken_;  // a handler may swallow it: whoever asks next must hear the same
  WriteSet writes_;
  std::size_t mark_ = 0;
  Known fields_;  // as they are in the store
  Known keys_;
};

}  // namespace tenure::redis
