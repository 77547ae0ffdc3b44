/// The consuming end of the bare loop on RabbitMQ: rabbitmq-c on the loop's own thread, with manual acknowledgement.
#pragma once

#include <amqp.h>

#include <string>
#include <vector>

#include "bench/bare.hpp"
#include "tenure/rabbitmq.hpp"

namespace tenure::bench {

class BareRabbit {
 public:
  /// Declares the queue where it is absent; `singleActive` is the broker's own guard against two consumers.
  BareRabbit(const rabbitmq::Options& options, bool singleActive);
  ~BareRabbit();
  BareRabbit(const BareRabbit&) = delete;
  BareRabbit& operator=(const BareRabbit&) = delete;

  /// Waits for the first of them, then takes what has arrived.
  std::vector<Row> fetch(std::size_t max);
  /// The last of them and all before it.
  void acknowledge(const Row& last);

 private:
  amqp_connection_state_t connection_;
};

}  // namespace tenure::bench
