/// The queue's end of a producer: a sink that is opened when it is needed, and anew after a failure.
/// Threads: one.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "tenure/producer.hpp"

namespace tenure::producing {

class Outlet {
 public:
  explicit Outlet(Producer::OpenSink open) : open_(std::move(open)) {}

  /// As IMessageSink::appendEach. What `open` or the sink throws is a failure like any other.
  std::vector<Result<void>> append(std::span<const NewMessage> batch);
  void close() noexcept { sink_.reset(); }

 private:
  Result<void> open();

  const Producer::OpenSink open_;
  std::unique_ptr<IMessageSink> sink_;
};

}  // namespace tenure::producing
