#include "support/rabbitmq_world.hpp"

#include <gtest/gtest.h>

namespace tenure::test {

Replica RabbitWorld::open(IEventSink& events) { return {nullptr, rabbitmq::makeSource(options_, events)}; }

std::unique_ptr<IMessageSink> RabbitWorld::sink() {
  auto sink = rabbitmq::openSink(options_);
  EXPECT_TRUE(sink.has_value()) << sink.error().message();
  return std::move(sink).value();
}

bool RabbitWorld::endConnections() {
  RabbitServer::shared().closeConnections();
  return true;
}

bool RabbitWorld::killServer() {
  RabbitServer::shared().kill();
  RabbitServer::shared().start();
  return true;
}

bool RabbitQuorumWorld::killServer() {
  RabbitServer::shared().restart();
  return true;
}

}  // namespace tenure::test
