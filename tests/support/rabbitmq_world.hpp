/// One queue on the test program's broker, and the replicas on it.
#pragma once

#include "support/backends.hpp"
#include "support/rabbitmq_server.hpp"
#include "tenure/rabbitmq.hpp"

namespace tenure::test {

class RabbitWorld : public BackendWorld {
 public:
  Replica open(IEventSink& events = noEvents()) override;
  std::unique_ptr<IMessageSink> sink() override;
  void beImpatient() override { options_.attachLimit = std::chrono::milliseconds{50}; }
  bool endConnections() override;
  bool killServer() override;

  rabbitmq::Options& options() noexcept { return options_; }
  const rabbitmq::Options& options() const noexcept { return options_; }

 protected:
  rabbitmq::Options options_ = RabbitServer::shared().options(freshQueueName());
};

/// The same with a sink that puts several messages in one body.
class RabbitPackedWorld final : public RabbitWorld {
 public:
  RabbitPackedWorld() { options_.publishing.pack = 3; }
};

/// The same on a quorum queue with a single active consumer.
class RabbitQuorumWorld final : public RabbitWorld {
 public:
  RabbitQuorumWorld() {
    options_.type = rabbitmq::QueueType::quorum;
    options_.exclusivity = rabbitmq::Exclusivity::singleActiveConsumer;
  }
  /// An orderly stop: in RabbitMQ 3.10 a quorum queue that was declared seconds before a kill -9 has no leader for ever
  /// after.
  bool killServer() override;
};

}  // namespace tenure::test
