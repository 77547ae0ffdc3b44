/// A spool that keeps, in the transaction of a file's lines, up to where the file was sent.
#pragma once

#include <deque>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "tenure/spi/spool.hpp"

namespace tenure::cli {

/// A decorator: only lines of one file are appended, in their order, and each was announced. Threads: any.
class MarkingSpool final : public ISpool {
 public:
  explicit MarkingSpool(std::unique_ptr<ISpool> spool) : spool_(std::move(spool)) {}

  /// Where the file is behind the message that is sent next.
  void announce(const MessageId& id, FollowedFile behind) {
    const std::lock_guard lock(mutex_);
    announced_.emplace_back(id, std::move(behind));
  }
  /// The message that was announced last is not sent after all.
  void takeBack() {
    const std::lock_guard lock(mutex_);
    announced_.pop_back();
  }

  Result<std::int64_t> append(std::span<const NewMessage> messages, const FollowedFile* sent) override {
    const FollowedFile behind = messages.empty() || sent != nullptr ? FollowedFile{} : behindAll(messages);
    const auto first = spool_->append(messages, behind.path.empty() ? sent : &behind);
    if (first) forget(messages.size());
    return first;
  }
  Result<std::vector<FollowedFile>> followed() override { return spool_->followed(); }
  Result<std::vector<SpooledMessage>> read(std::int64_t from, std::size_t messages, std::size_t bytes) override {
    return spool_->read(from, messages, bytes);
  }
  Result<std::vector<RefusedMessage>> refused(std::int64_t from, std::size_t messages) override {
    return spool_->refused(from, messages);
  }
  Result<std::size_t> purgeRefused(WallTime before) override { return spool_->purgeRefused(before); }
  Result<void> settle(std::span<const SpoolSettlement> settlements) override { return spool_->settle(settlements); }
  SpoolFigures figures() const override { return spool_->figures(); }

 private:
  /// Announced and appended are the same messages in the same order.
  FollowedFile behindAll(std::span<const NewMessage> messages) {
    const std::lock_guard lock(mutex_);
    const auto& [id, behind] = announced_.at(messages.size() - 1);
    return id == messages.back().id ? behind : FollowedFile{};
  }
  void forget(std::size_t messages) {
    const std::lock_guard lock(mutex_);
    announced_.erase(announced_.begin(), announced_.begin() + static_cast<std::ptrdiff_t>(messages));
  }

  const std::unique_ptr<ISpool> spool_;
  std::mutex mutex_;
  std::deque<std::pair<MessageId, FollowedFile>> announced_;
};

}  // namespace tenure::cli
