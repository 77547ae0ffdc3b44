/// A real RabbitMQ broker of our own on free ports, its data in a temporary folder, gone with the test.
///
/// Its Erlang node has a name, a cookie, a home and a port mapper (epmd) of its own: it meets no other broker, and
/// nothing of it outlives the test, however that ends.
#pragma once

#include <signal.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "support/program.hpp"
#include "tenure/rabbitmq.hpp"

namespace tenure::test {

/// The server's side of TLS: its port, and files in PEM.
struct RabbitTls {
  std::filesystem::path authority;
  std::filesystem::path certificate;
  std::filesystem::path key;
};

class RabbitServer {
 public:
  static constexpr const char* password = "wonderland";  // of the user "tenure", who may do everything

  /// Returns when it serves, or throws.
  explicit RabbitServer(std::optional<RabbitTls> tls = {});
  ~RabbitServer();
  RabbitServer(const RabbitServer&) = delete;
  RabbitServer& operator=(const RabbitServer&) = delete;

  /// One for the whole test program, started when first asked for. Whoever stops it brings it back before the test
  /// ends, and so with alarms.
  static RabbitServer& shared();

  /// How to reach it as the user "tenure"; the password is in a file.
  rabbitmq::Options options(const std::string& queue) const;
  std::uint16_t port() const noexcept { return ports_.at(0); }
  std::uint16_t tlsPort() const noexcept { return ports_.at(1); }
  /// A file for the password `text`.
  std::filesystem::path passwordFile(const std::string& text) const;

  /// kill -9, and an orderly stop; the data stays.
  void kill();
  void stop();
  void start();
  void restart();
  void freeze() const { broker_->freeze(); }
  void thaw() const { broker_->signal(SIGCONT); }

  /// What an Erlang expression is inside the broker, as Erlang would print it; throws when that fails.
  std::string evaluate(const std::string& erlang) const;
  /// Closes every client's connection, as an operator may.
  void closeConnections() const;
  void deleteQueue(const std::string& queue) const;
  /// Durable. Nobody may publish to an internal one.
  void declareExchange(const std::string& exchange, const std::string& type, bool internal = false) const;
  void deleteExchange(const std::string& exchange) const;
  void bind(const std::string& exchange, const std::string& routingKey, const std::string& queue) const;
  /// From now on publishers are held back, as when memory is short.
  void raiseMemoryAlarm() const;
  void clearMemoryAlarm() const;
  /// What it tells clients of its version from now on; empty: the truth.
  void claimVersion(const std::string& version) const;
  /// Makes or changes a user; each pattern says which names may be configured, written and read.
  void setUser(const std::string& name, const std::string& configure, const std::string& write,
               const std::string& read) const;
  /// Which routing keys the user may write with, in that topic exchange.
  void limitRoutingKeys(const std::string& user, const std::string& exchange, const std::string& write) const;
  std::string log() const { return broker_->output(); }

 private:
  void choosePorts();
  void writeConfiguration() const;
  void launch();
  bool waitUntilServing();
  Program::Arguments environment() const;
  std::string node() const { return "tenure-" + std::to_string(port()) + "@localhost"; }
  std::string cookie() const { return "cookie" + std::to_string(port()); }

  std::optional<RabbitTls> tls_;
  TemporaryFolder folder_;
  std::vector<std::uint16_t> ports_;  // AMQP, AMQP over TLS, between nodes, port mapper
  std::optional<Program> portMapper_;
  std::optional<Program> broker_;
  int launches_ = 0;
};

/// A name that no other test of this broker uses.
std::string freshQueueName();

}  // namespace tenure::test
