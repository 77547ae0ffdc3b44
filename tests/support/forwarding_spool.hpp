/// A spool that hands each call on: what decorators of a test are made of.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "tenure/spi/spool.hpp"

namespace tenure::test {

class ForwardingSpool : public ISpool {
 public:
  explicit ForwardingSpool(std::unique_ptr<ISpool> inner) : inner_(std::move(inner)) {}

  Result<std::int64_t> append(std::span<const NewMessage> messages, const FollowedFile* sent) override {
    return inner_->append(messages, sent);
  }
  Result<std::vector<FollowedFile>> followed() override { return inner_->followed(); }
  Result<std::vector<RefusedMessage>> refused(std::int64_t from, std::size_t messages) override {
    return inner_->refused(from, messages);
  }
  Result<std::size_t> purgeRefused(WallTime before) override { return inner_->purgeRefused(before); }
  Result<std::vector<SpooledMessage>> read(std::int64_t from, std::size_t messages, std::size_t bytes) override {
    return inner_->read(from, messages, bytes);
  }
  Result<void> settle(std::span<const SpoolSettlement> settlements) override { return inner_->settle(settlements); }
  SpoolFigures figures() const override { return inner_->figures(); }

 private:
  const std::unique_ptr<ISpool> inner_;
};

}  // namespace tenure::test
