/// A sink that sends several messages in the body of one (packs.hpp), to be taken apart by a source of ours.
#pragma once

#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "tenure/message.hpp"

namespace tenure::messages {

class PackingSink final : public IMessageSink {
 public:
  /// `check` says for one message what the sink would, had it been sent alone. Messages for which `isAlone` are not
  /// packed, and neither is what is appended together with one.
  PackingSink(std::unique_ptr<IMessageSink> sink, std::size_t messages,
              std::function<Result<void>(const NewMessage&)> check, std::function<bool(const NewMessage&)> isAlone)
      : sink_(std::move(sink)), messages_(messages), check_(std::move(check)), isAlone_(std::move(isAlone)) {}

  Result<void> append(std::span<const NewMessage> messages) override;
  std::vector<Result<void>> appendEach(std::span<const NewMessage> messages) override;
  std::int64_t leftOut() const noexcept override { return sink_->leftOut(); }

 private:
  bool areAlone(std::span<const NewMessage> messages) const;

  const std::unique_ptr<IMessageSink> sink_;
  const std::size_t messages_;  // in one body, at most
  const std::function<Result<void>(const NewMessage&)> check_;
  const std::function<bool(const NewMessage&)> isAlone_;
};

}  // namespace tenure::messages
