/// A sink whose messages get ids of one producer: "<producer>/<id>", as messageIdOf() makes them, so that two sources
/// whose ids are numbers do not collide at one target.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tenure/message.hpp"

namespace tenure {

class ProducerSink final : public IMessageSink {
 public:
  ProducerSink(std::unique_ptr<IMessageSink> sink, std::string producer)
      : sink_(std::move(sink)), producer_(std::move(producer)) {}

  /// Errors:  invalidArgument   as well, where an id is too long with the producer's name before it
  Result<void> append(std::span<const NewMessage> messages) override;
  std::vector<Result<void>> appendEach(std::span<const NewMessage> messages) override;
  std::int64_t leftOut() const noexcept override { return sink_->leftOut(); }

 private:
  Result<NewMessage> ownOf(const NewMessage& message) const;

  const std::unique_ptr<IMessageSink> sink_;
  const std::string producer_;
};

}  // namespace tenure
