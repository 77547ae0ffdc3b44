/// The storage core's driver for whatever keeps named values (tenure/spi/key_value.hpp).
///
/// A WriteSet becomes one batch, whose first write is the fence's: expected as it was, so that the batch is refused
/// when it is another one. What a row's expectation speaks of is read right before, and the batch expects the value
/// that was read. Numbers are given here: the last one of the dead letters, and of each consumer's log, is a counter
/// that the batch expects and raises. Of the log, what one commit adds for one consumer is one value.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "storage/driver.hpp"
#include "storage/key_value/encoding.hpp"
#include "tenure/spi/key_value.hpp"

namespace tenure::storage {

class KeyValueStore : public IStoreDriver {
 public:
  /// `keepsScheduled`: of a driver that keeps Table::waiting and Table::fired.
  explicit KeyValueStore(std::unique_ptr<spi::IKeyValueDriver> values, bool keepsScheduled = false);

  std::string name() const override { return values_->name(); }
  const Limits& limits() const noexcept override { return limits_; }
  void serve(const QueueIdentity& queue) override { values_->serve(queue); }
  Result<void> connect(const std::stop_token& stop) override { return values_->connect(stop); }
  std::string server() const override { return values_->server(); }

  Result<FenceFound> readFence(const ElectionName& election) override;
  Result<std::vector<StoredFence>> fences() override;
  Result<void> claim(const ElectionName& election, const Term* term, const ClaimJudge& judge) override;
  Result<std::optional<Rows>> read(std::span<const RowName> rows, const Fence* expected) override;
  Result<std::vector<Row>> scan(const Scan& scan) override;
  Result<Committed> commit(const Commit& commit) override;
  Result<std::optional<WallTime>> clock() override { return values_->clock(); }
  Result<void> tryQueue(const std::string& queue) override { return values_->tryQueue(queue); }

  Result<Findings> inspect() override;
  Result<std::size_t> countKeys() override { return values_->countKeys(); }
  void limitAnswers(AnswerTimer* timer) noexcept override { values_->limitAnswers(timer); }
  void release() noexcept override;

 private:
  struct Found {
    spi::Values values;  // fence, owner
    FenceFound fence;
  };
  /// A batch on its way.
  struct Building {
    spi::Batch batch;
    bool hasConflict = false;
    std::map<std::string, std::string> counters{};  // as it leaves them
  };

  Result<Found> find();
  Result<bool> exchange(const Found& found, const Fence& next);
  Result<void> add(std::span<const Write* const> writes, Building& to);
  /// Adds writes that depend on the values that are there.
  Result<void> addAsRead(std::span<const Write* const> writes, Building& to);
  /// Adds writes whose numbers the store gives.
  Result<void> addNumbered(std::span<const Write* const> writes, Building& to);
  Result<void> cutLog(std::span<const Write* const> removals, Building& to);
  /// The first of so many numbers.
  Result<std::int64_t> takeNumbers(const std::string& counter, std::size_t count, Building& to);
  Result<std::vector<Row>> scanLog(const Scan& scan);

  std::unique_ptr<spi::IKeyValueDriver> values_;
  Limits limits_;
  FenceText fenceText_;
  std::map<std::string, std::optional<std::string>> counters_;  // as our own commits have left them
};

}  // namespace tenure::storage
