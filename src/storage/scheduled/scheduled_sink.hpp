/// A sink for messages with and without a time. One call is one transaction: messages with a time are stored beside the
/// queue, the others come to its end. A call without any message with a time is passed on as it is.
#pragma once

#include <memory>

#include "storage/driver.hpp"
#include "tenure/message.hpp"

namespace tenure::storage {

class ScheduledSink final : public IMessageSink {
 public:
  /// `direct` makes the queue when it is called without messages. `driver` connects with the first message that has a
  /// time. `clock`, which is borrowed, tells which times are past, where the store has no clock. `used`: kept alive for
  /// the driver.
  ScheduledSink(std::unique_ptr<IMessageSink> direct, std::unique_ptr<IStoreDriver> driver,
                const IClock& clock = systemClock(), std::shared_ptr<void> used = {})
      : direct_(std::move(direct)), used_(std::move(used)), driver_(std::move(driver)), clock_(clock) {}

  Result<void> append(std::span<const NewMessage> messages) override;
  std::int64_t leftOut() const noexcept override { return direct_->leftOut() + leftOut_; }

 private:
  Result<void> check(std::span<const NewMessage> messages) const;
  Result<Rows> readBeside(std::span<const NewMessage> messages);
  /// How many were left out. Nullopt: another process has changed a row since it was read; nothing was stored.
  Result<std::optional<std::int64_t>> tryToAppend(std::span<const NewMessage> messages);

  const std::unique_ptr<IMessageSink> direct_;
  const std::shared_ptr<void> used_;
  const std::unique_ptr<IStoreDriver> driver_;
  const IClock& clock_;
  std::int64_t leftOut_ = 0;  // messages with a time that were there already
};

}  // namespace tenure::storage
