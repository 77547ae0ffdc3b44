/// A queue at a broker: what a consumer was given and has not acknowledged is its own until its connection ends, and
/// then goes back: to its place, or before all others in any order. One exclusive consumer at a time; another is
/// refused while that one's connection lives. A message's position is when it was delivered.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <span>
#include <vector>

#include "base/random.hpp"
#include "plan.hpp"
#include "tenure/message.hpp"
#include "tenure/result.hpp"

namespace tenure::simulation {

class Broker {
 public:
  using Connection = int;

  /// `exclusive` false: as an ordinary queue would, everybody is let in. For a mutant.
  Broker(bool exclusive, const Plan& plan, Random random) noexcept
      : exclusive_(exclusive), plan_(plan), random_(random) {}

  void append(const NewMessage& message, WallTime at);
  Result<void> attach(Connection consumer);
  Result<std::vector<Message>> fetch(Connection consumer, std::size_t max);
  Result<std::vector<Message>> acknowledge(Connection consumer, std::span<const Message> messages);
  /// The connection ends by its owner.
  void drop(Connection consumer) noexcept;
  /// It breaks: by its owner's death, or because no heartbeat came. Returns what comes again though it was
  /// acknowledged.
  std::vector<Message> lose(Connection consumer);
  bool attached(Connection consumer) const noexcept { return held_.contains(consumer); }
  bool empty() const noexcept;
  /// Delivered before.
  bool isRedelivered(const Message& message) const;

 private:
  struct Entry {
    Message message;
    std::int64_t place = 0;
    int deliveries = 0;
  };
  struct Held {
    std::vector<Entry> unacknowledged;
    std::deque<Entry> acknowledged;  // the last ones
  };

  bool exclusive_;
  const Plan& plan_;
  Random random_;
  std::deque<Entry> queue_;
  std::map<Connection, Held> held_;  // by those who are attached
  std::int64_t lastPlace_ = 0;
  std::int64_t lastDelivery_ = 0;
};

}  // namespace tenure::simulation
