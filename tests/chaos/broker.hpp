/// The RabbitMQ broker of a chaos run.
#pragma once

#include <string>

#include "chaos/ways.hpp"
#include "support/rabbitmq_server.hpp"

namespace tenure::chaos {

class Broker {
 public:
  test::RabbitServer& server() noexcept { return server_; }
  const test::RabbitServer& server() const noexcept { return server_; }
  Ways& ways() noexcept { return ways_; }
  const Ways& ways() const noexcept { return ways_; }
  /// `port` is the broker's own or that of a way to it.
  test::Program::Arguments wordsFor(const std::string& port) const;
  test::Program::Arguments words() const { return wordsFor(std::to_string(server_.port())); }

  /// In a consumer's hands.
  std::int64_t unacknowledged() const { return count("messages_unacknowledged"); }
  /// All that the queue still has.
  std::int64_t messages() const { return count("messages"); }

 private:
  std::int64_t count(const std::string& what) const;

  test::RabbitServer server_;
  Ways ways_{server_.port()};
};

}  // namespace tenure::chaos
