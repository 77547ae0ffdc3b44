#include "support/redis_server.hpp"

#include <gtest/gtest.h>
#include <hiredis/hiredis.h>
#include <signal.h>

#include <atomic>
#include <memory>
#include <stdexcept>

#include "support/ensemble.hpp"

namespace tenure::test {
namespace {

struct FreeContext {
  void operator()(redisContext* context) const noexcept { redisFree(context); }
};
struct FreeReply {
  void operator()(redisReply* reply) const noexcept { freeReplyObject(reply); }
};

std::string textOf(const redisReply& reply) {
  switch (reply.type) {
    case REDIS_REPLY_INTEGER: return std::to_string(reply.integer);
    case REDIS_REPLY_ARRAY: {
      std::string lines;
      for (std::size_t i = 0; i < reply.elements; ++i) lines += (i == 0 ? "" : "\n") + textOf(*reply.element[i]);
      return lines;
    }
    default: return reply.str == nullptr ? std::string{} : std::string{reply.str, reply.len};
  }
}

}  // namespace

RedisServer::RedisServer(Settings settings, std::uint16_t port) : settings_(std::move(settings)), port_(port) {
  for (int attempt = 0; attempt < startAttempts; ++attempt) {
    if (port == 0) port_ = freePorts(1).front();
    launch();
    const auto servesOrEnded = [&] { return serves() || process_->waitForEnd(std::chrono::milliseconds::zero()); };
    if (eventually(servesOrEnded, startLimit) && serves()) return;
    process_.reset();  // most likely somebody took the port: choose another
  }
  throw std::runtime_error("redis-server does not start; see " + folder_.path().string());
}

RedisServer& RedisServer::shared() {
  static RedisServer server;
  return server;
}

redis::Options RedisServer::options(const std::string& queue) const {
  redis::Options options;
  options.port = port_;
  options.queue = queue;
  options.replyLimit = std::chrono::seconds{30};
  options.connectLimit = std::chrono::seconds{30};
  return options;
}

void RedisServer::launch() {
  Program::Arguments command{"redis-server",
                             "--port",
                             std::to_string(port_),
                             "--bind",
                             "127.0.0.1",
                             "--dir",
                             folder_.path().string(),
                             "--save",
                             "",
                             "--appendonly",
                             "yes",
                             "--appendfsync",
                             "always",
                             "--repl-diskless-sync-delay",
                             "0"};
  command.insert(command.end(), settings_.begin(), settings_.end());
  process_.emplace(command, folder_ / "log");
}

void RedisServer::kill() { process_.reset(); }

void RedisServer::stop() {
  process_->signal(SIGTERM);
  process_->waitForEnd(startLimit);
  process_.reset();
}

void RedisServer::start() {
  launch();
  if (!eventually([&] { return serves(); }, startLimit)) throw std::runtime_error("redis-server does not start again");
}

void RedisServer::freeze() { process_->freeze(); }

void RedisServer::thaw() { process_->signal(SIGCONT); }

std::string RedisServer::ask(const std::vector<std::string>& command) const {
  const timeval limit{.tv_sec = 30, .tv_usec = 0};
  const std::unique_ptr<redisContext, FreeContext> context(redisConnectWithTimeout("127.0.0.1", port_, limit));
  if (context == nullptr || context->err != 0) throw std::runtime_error("redis-server cannot be reached");
  redisSetTimeout(context.get(), limit);
  std::vector<const char*> starts;
  std::vector<std::size_t> sizes;
  for (const std::string& argument : command) {
    starts.push_back(argument.data());
    sizes.push_back(argument.size());
  }
  const std::unique_ptr<redisReply, FreeReply> reply(static_cast<redisReply*>(
      redisCommandArgv(context.get(), static_cast<int>(command.size()), starts.data(), sizes.data())));
  if (reply == nullptr) throw std::runtime_error("redis-server does not answer");
  if (reply->type == REDIS_REPLY_ERROR) throw std::runtime_error(textOf(*reply));
  return textOf(*reply);
}

bool RedisServer::serves() const {
  try {
    return !ask({"PING"}).empty();
  } catch (const std::runtime_error& error) {
    return std::string_view(error.what()).starts_with("NOAUTH");
  }
}

RedisWorld::RedisWorld(RedisServer& server) : server_(&server) {
  static std::atomic<int> worlds{0};
  queue_ = "orders-" + std::to_string(++worlds);
}

Replica RedisWorld::open(IEventSink& events) {
  const auto database = std::make_shared<redis::Database>(options(), events);
  return {{database, &database->store()}, {database, &database->source()}};
}

std::shared_ptr<IMessageSource> RedisWorld::queue(const std::string& name) {
  redis::Options other = options();
  other.queue = name;
  const auto database = std::make_shared<redis::Database>(other, noEvents());
  return {database, &database->source()};
}

std::unique_ptr<IMessageSink> RedisWorld::sink() {
  auto sink = redis::openSink(options());
  EXPECT_TRUE(sink.has_value()) << sink.error().message();
  return std::move(sink).value();
}

bool RedisWorld::endConnections() {
  server_->ask({"CLIENT", "KILL", "TYPE", "normal"});
  return true;
}

bool RedisWorld::killServer() {
  server_->kill();
  server_->start();
  return true;
}

void RedisWorld::dropFence(const std::string&) { EXPECT_EQ(server_->ask({"DEL", key("fence")}), "1"); }

}  // namespace tenure::test
