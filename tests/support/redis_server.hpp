/// A real redis-server of our own on a free loopback port, its data in a temporary folder, gone with the test.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "support/backends.hpp"
#include "support/program.hpp"
#include "tenure/redis.hpp"
#include "tenure/spi/source.hpp"

namespace tenure::test {

/// Every call that starts it returns when it serves, or throws.
class RedisServer {
 public:
  using Settings = std::vector<std::string>;

  /// Safe settings, then these: {"--requirepass", "secret"}. The port is chosen when it is 0.
  explicit RedisServer(Settings settings = {}, std::uint16_t port = 0);
  RedisServer(const RedisServer&) = delete;
  RedisServer& operator=(const RedisServer&) = delete;

  /// One for the whole test program, started when first asked for. Whoever stops or freezes one has one of his own.
  static RedisServer& shared();

  std::uint16_t port() const noexcept { return port_; }
  redis::Options options(const std::string& queue = "orders") const;
  std::filesystem::path folder() const { return folder_.path(); }

  /// kill -9, and an orderly stop; the data stays.
  void kill();
  void stop();
  void start();
  void freeze();
  void thaw();

  /// What redis-cli would do behind Tenure's back: the reply as text, parts of an array one a line; an error throws.
  std::string ask(const std::vector<std::string>& command) const;
  /// As soon as an answer has come, whatever it is.
  bool serves() const;

 private:
  void launch();

  TemporaryFolder folder_;
  Settings settings_;
  std::uint16_t port_ = 0;
  std::optional<Program> process_;
};

/// One queue on a server, and the replicas that share it.
class RedisWorld final : public BackendWorld {
 public:
  explicit RedisWorld(RedisServer& server = RedisServer::shared());

  Replica open(IEventSink& events = noEvents()) override;
  std::unique_ptr<IMessageSink> sink() override;
  std::shared_ptr<IMessageSource> queue(const std::string& name) override;
  std::unique_ptr<IDatabaseAdmin> admin() override { return redis::openAdmin(options()); }
  std::unique_ptr<ScheduledMessages> scheduled() override { return redis::openScheduled(options()); }
  std::unique_ptr<IStoreAdmin> adminOf(const QueueIdentity& elsewhere) override {
    redis::Options served = options();
    served.elsewhere = elsewhere;
    return redis::openAdmin(served);
  }
  void dropFence(const std::string& election) override;
  bool endConnections() override;
  bool killServer() override;

  redis::Options options() const { return server_->options(queue_); }
  /// "tenure:{queue}:name"
  std::string key(const std::string& name) const { return "tenure:{" + queue_ + "}:" + name; }
  RedisServer& server() noexcept { return *server_; }

 private:
  RedisServer* server_;
  std::string queue_;
};

}  // namespace tenure::test
