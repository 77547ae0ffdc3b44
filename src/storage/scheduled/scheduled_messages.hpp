/// tenure/scheduled.hpp over the driver's verbs: each change expects the row as it was read.
#pragma once

#include <memory>

#include "storage/driver.hpp"
#include "storage/waiting_rows.hpp"
#include "tenure/scheduled.hpp"

namespace tenure::storage {

class ScheduledRows final : public ScheduledMessages {
 public:
  /// `clock`, which is borrowed, tells which times are past, where the store has no clock. `used`: kept alive for the
  /// driver.
  explicit ScheduledRows(std::unique_ptr<IStoreDriver> driver, const IClock& clock = systemClock(),
                         std::shared_ptr<void> used = {})
      : used_(std::move(used)), driver_(std::move(driver)), clock_(clock) {}

  Result<ScheduledStats> stats() override;
  Result<ScheduledStats> glance() override;
  Result<void> list(const ScheduledFilter& filter, const std::function<bool(const NewMessage&)>& each) override;
  Result<std::optional<NewMessage>> find(const MessageId& id) override;
  Result<ScheduleChange> cancel(const MessageId& id) override;
  Result<ScheduleChange> reschedule(const MessageId& id, WallTime at) override;

 private:
  Result<ScheduledStats> counted(std::int64_t atMost);
  struct Rows {
    std::optional<Row> waiting;
    std::optional<Row> fired;
  };
  Result<Rows> rowsOf(const MessageId& id);
  /// Adds the change of a message that waits to the writes.
  using Change = std::function<void(const Row& waiting, WriteSet& writes)>;
  Result<ScheduleChange> change(const MessageId& id, const Change& change);

  const std::shared_ptr<void> used_;
  std::unique_ptr<IStoreDriver> driver_;
  const IClock& clock_;
};

}  // namespace tenure::storage
