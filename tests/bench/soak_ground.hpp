/// The servers that a soak runs on: what they are asked to do for each message, and what may be left there afterwards.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "support/backends.hpp"
#include "tenure/consumer.hpp"

namespace tenure::bench {

inline constexpr std::size_t groups = 200;

/// Something that a server keeps when there is nothing to do.
struct Remains {
  std::string what;
  std::size_t count;
  std::size_t atMost;
};

class Ground {
 public:
  virtual ~Ground() = default;
  virtual test::Replica open() = 0;
  virtual std::unique_ptr<IMessageSink> sink() = 0;
  /// Counts the message under its group.
  virtual Outcome handle(const Delivery& delivery) = 0;
  /// Or else keys expire by themselves.
  virtual bool leaderPrunes() const { return true; }
  /// Messages that had their effect.
  virtual std::size_t effects() = 0;
  /// Idempotency keys that stay for ever if nobody prunes them.
  virtual std::size_t lastingKeys() = 0;
  /// All of it, once every message is handled and every key pruned.
  virtual std::vector<Remains> remains() = 0;
  /// For people.
  virtual std::string size() = 0;
};

/// postgresql, redis, rabbitmq (into PostgreSQL), zookeeper (from a queue in this process); nullptr for another.
std::unique_ptr<Ground> groundFor(const std::string& backend);

}  // namespace tenure::bench
