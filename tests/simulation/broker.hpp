/// A queue at a broker: what a consumer was given and has not acknowledged is its own until its connection ends, and
/// then goes back to its place. One exclusive consumer at a time; another is refused while that one's connection lives.
#pragma once

#include <deque>
#include <map>
#include <span>
#include <vector>

#include "tenure/message.hpp"
#include "tenure/result.hpp"

namespace tenure::simulation {

class Broker {
 public:
  using Connection = int;

  /// `exclusive` false: as an ordinary queue would, everybody is let in. For a mutant.
  explicit Broker(bool exclusive) noexcept : exclusive_(exclusive) {}

  void append(const NewMessage& message, WallTime at);
  Result<void> attach(Connection consumer);
  Result<std::vector<Message>> fetch(Connection consumer, std::size_t max);
  Result<std::vector<Message>> acknowledge(Connection consumer, std::span<const Message> messages);
  /// The connection ends: by its owner, by its death, or because no heartbeat came.
  void drop(Connection consumer) noexcept;
  bool attached(Connection consumer) const noexcept { return held_.contains(consumer); }
  bool empty() const noexcept;

 private:
  bool exclusive_;
  std::deque<Message> queue_;
  std::map<Connection, std::vector<Message>> held_;  // by those who are attached
  std::int64_t lastPosition_ = 0;
};

}  // namespace tenure::simulation
