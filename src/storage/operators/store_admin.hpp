/// What operators ask of a store and do to it (tenure/spi/admin.hpp), written once over the driver's verbs.
///
/// An operator has no fence. What they change, they change as they have seen it: each write expects the row that was
/// read, and where that is another one by now, all of it is looked at once more. So a leader that works meanwhile loses
/// nothing, and what it writes is not overwritten.
#pragma once

#include <functional>
#include <memory>

#include "storage/driver.hpp"
#include "storage/records.hpp"
#include "tenure/spi/admin.hpp"

namespace tenure::storage {

// What operators choose, as every backend reads it. Pure.

/// Among the numbers that were given, if any were.
bool isNamed(const DeadLetterFilter& choice, std::int64_t number) noexcept;
bool isChosen(const DeadLetterFilter& choice, const DeadLetter& letter) noexcept;
bool isChosen(const LogChoice& choice, const LogLine& line) noexcept;

Error blocksNobody(const MessageId& id);

class StoreAdmin final : public IStoreAdmin {
 public:
  /// `keepsQueue`: requeued messages go to the queue that is kept in the same place.
  StoreAdmin(std::unique_ptr<IStoreDriver> driver, bool keepsQueue)
      : driver_(std::move(driver)), keepsQueue_(keepsQueue) {}

  Result<Findings> inspect() override { return driver_->inspect(); }
  Result<std::vector<FenceRow>> fenceRows() override;
  Result<void> rebaseFence(const FenceRow& expected, const EnsembleUuid& ensemble, std::int64_t generation,
                           const std::string& path) override;
  Result<void> moveTo(const FenceRow& from, const FenceRow& to) override;
  Result<std::vector<DeadLetter>> deadLetters(std::size_t limit, const DeadLetterFilter& choice) override;
  Result<std::int64_t> countDeadLetters(const DeadLetterFilter& choice) override;
  Result<std::vector<std::int64_t>> requeueDeadLetters(const DeadLetterFilter& choice) override;
  Result<std::vector<std::int64_t>> resetDeadLetters(const DeadLetterFilter& choice) override;
  Result<std::vector<std::int64_t>> purgeDeadLetters(const DeadLetterFilter& choice) override;
  Result<std::vector<FailingMessage>> failing() override;
  Result<void> release(const ConsumerName& consumer, const MessageId& id) override;
  /// Of a message that was taken out of its queue: what its consumers have tried.
  Result<void> forgetAttempts(const MessageId& id);
  Result<std::vector<ConsumerStreak>> streaks() override;
  Result<void> resume(const ConsumerName& consumer) override;
  Result<std::vector<InWorkRecord>> inWork() override;
  Result<std::vector<ConsumersGroup>> openGroups() override;
  Result<std::vector<LogLine>> log(const LogChoice& choice) override;

 private:
  /// Whether there is more to see.
  using Visit = std::function<Result<bool>(const StoredLetter& letter)>;
  enum class Verb { requeue, reset, purge };

  template <class Use>
  Result<void> forEachRow(const Scan& scan, Use use);
  Result<Rows> read(std::span<const RowName> names);
  /// From behind that number on. `isLight`: bodies and headers may be left out.
  Result<void> visit(const DeadLetterFilter& choice, std::int64_t after, const Visit& visit, bool isLight = false);
  Result<std::vector<std::int64_t>> change(const DeadLetterFilter& choice, Verb verb);
  Result<std::vector<StoredLetter>> chosen(const DeadLetterFilter& choice, Verb verb, std::int64_t after);
  /// A user's own table still has the row, with what the letter lacks.
  bool mayRequeue(const DeadLetter& letter) const;
  Result<void> add(std::span<const StoredLetter> letters, Verb verb, WriteSet& writes);
  Result<bool> raise(const RowName& name, std::size_t place, std::int64_t from, std::int64_t to);
  Result<void> readLog(const ConsumerName& consumer, const LogChoice& choice, std::vector<LogLine>& lines);

  std::unique_ptr<IStoreDriver> driver_;
  const bool keepsQueue_;
};

}  // namespace tenure::storage
