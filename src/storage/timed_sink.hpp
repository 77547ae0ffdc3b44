/// A sink whose messages may have a time: those go beside the queue, in the transaction in which the others of the same
/// call come to its end. A call without any goes its own way, and costs what it costs without this.
#pragma once

#include <memory>

#include "storage/driver.hpp"
#include "tenure/message.hpp"

namespace tenure::storage {

class TimedSink final : public IMessageSink {
 public:
  /// `direct` makes the queue, at the latest with no messages. Borrows the clock, by which a time is past. `used`: by
  /// the driver, which connects with the first message that has a time.
  TimedSink(std::unique_ptr<IMessageSink> direct, std::unique_ptr<IStoreDriver> driver,
            const IClock& clock = systemClock(), std::shared_ptr<void> used = {})
      : direct_(std::move(direct)), used_(std::move(used)), driver_(std::move(driver)), clock_(clock) {}

  Result<void> append(std::span<const NewMessage> messages) override;
  std::int64_t leftOut() const noexcept override { return direct_->leftOut() + leftOut_; }

 private:
  Result<void> check(std::span<const NewMessage> messages) const;
  Result<Rows> readBeside(std::span<const NewMessage> messages);
  /// Nullopt where another one has changed what it rests on.
  Result<std::optional<std::int64_t>> tryToAppend(std::span<const NewMessage> messages);

  const std::unique_ptr<IMessageSink> direct_;
  const std::shared_ptr<void> used_;
  const std::unique_ptr<IStoreDriver> driver_;
  const IClock& clock_;
  std::int64_t leftOut_ = 0;  // of messages with a time: the very same was there
};

}  // namespace tenure::storage
