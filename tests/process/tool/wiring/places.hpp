/// The places that a URL can name, as a user would name them, for the real tool.
#pragma once

#include <ostream>
#include <string>

#include "support/ensemble.hpp"
#include "support/postgres_server.hpp"
#include "support/rabbitmq_world.hpp"
#include "support/redis_server.hpp"

namespace tenure::test {

/// One of the places that a URL can name, as a user would name it.
class Place {
 public:
  virtual ~Place() = default;
  virtual std::string url() const = 0;
};

class SqlitePlace final : public Place {
 public:
  explicit SqlitePlace(std::string file) : file_(std::move(file)) {}
  std::string url() const override { return "sqlite:" + file_; }

 private:
  std::string file_;
};

class PostgresPlace final : public Place {
 public:
  explicit PostgresPlace(PostgresServer& server = PostgresServer::shared()) : world_(server) {}
  std::string url() const override {
    const postgresql::Options& options = world_.options();
    return "postgresql://" + options.user + "@" + options.host + ":" + std::to_string(options.port) + "/" +
           options.database;
  }
  PostgresWorld& world() noexcept { return world_; }

 private:
  mutable PostgresWorld world_;
};

class RedisPlace final : public Place {
 public:
  std::string url() const override { return "redis://127.0.0.1:" + std::to_string(world_.server().port()); }

 private:
  mutable RedisWorld world_;
};

class RabbitPlace final : public Place {
 public:
  std::string url() const override {
    const rabbitmq::Options& options = world_.options();
    return "amqp://" + options.user + "@" + options.host + ":" + std::to_string(options.port) +
           "?password-file=" + options.passwordFile.string();
  }

 private:
  RabbitWorld world_;
};

class ZooKeeperPlace final : public Place {
 public:
  explicit ZooKeeperPlace(const std::string& store) : url_("zookeeper://" + Ensemble::shared().hosts() + "/" + store) {}
  std::string url() const override { return url_; }

 private:
  std::string url_;
};

struct Wired {
  const char* name;
  const char* queue;
  const char* store;  // nullptr: the queue's own
  friend std::ostream& operator<<(std::ostream& out, const Wired& wired) { return out << wired.name; }
};

/// With one parameter more.
inline std::string with(const std::string& url, const std::string& parameter) {
  return url + (url.find('?') == std::string::npos ? "?" : "&") + parameter;
}

}  // namespace tenure::test
