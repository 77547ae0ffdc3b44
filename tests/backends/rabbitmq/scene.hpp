/// A broker, a queue of its own for each test, and what producers that are not ours would do.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "backends/rabbitmq/bytes.hpp"
#include "backends/rabbitmq/connection.hpp"
#include "backends/rabbitmq/incoming.hpp"
#include "support/events.hpp"
#include "support/loopback.hpp"
#include "support/rabbitmq_server.hpp"
#include "support/results.hpp"
#include "support/terms.hpp"

namespace tenure::rabbitmq {

using namespace std::chrono_literals;
using test::failsWith;
using test::succeeds;
using test::TestTerm;

inline std::vector<std::string> idsOf(const std::vector<Message>& messages) {
  std::vector<std::string> ids;
  for (const Message& message : messages) ids.push_back(message.id.value);
  return ids;
}

inline NewMessage messageWith(const std::string& id) { return {MessageId{id}, GroupId{"group"}, "body of " + id, {}}; }

inline Result<void> append(const Options& options, const std::vector<std::string>& ids) {
  std::vector<NewMessage> messages;
  for (const std::string& id : ids) messages.push_back(messageWith(id));
  auto sink = openSink(options);
  return sink ? (*sink)->append(messages) : sink.error();
}

/// A client that is not ours.
class Stranger {
 public:
  explicit Stranger(const Options& options)
      : options_(options), connection_(Connection::open(options, "a stranger").value()) {}

  void declare() { EXPECT_THAT(connection_->declareQueue(Channel::work, options_), succeeds()); }
  void publish(const amqp_basic_properties_t& properties, const std::string& body) {
    EXPECT_THAT(connection_->publish({"", options_.queue}, properties, body), succeeds());
    EXPECT_THAT(connection_->inspect(Channel::work, options_.queue), succeeds());  // by now the queue has it
  }
  void consume() { EXPECT_THAT(connection_->consume(Channel::work, options_.queue, false), succeeds()); }
  std::int64_t waiting() { return connection_->inspect(Channel::work, options_.queue).value().ready; }
  /// What a consumer of that other queue gets first; it waits for it.
  std::optional<Delivered> firstOf(const std::string& queue) {
    FrameReader reader(1U << 30U);
    std::optional<Delivered> first;
    EXPECT_THAT(connection_->consume(Channel::work, queue, false), succeeds());
    test::eventually([&] {
      EXPECT_THAT(connection_->readArrived([&](const amqp_frame_t& frame) -> Result<void> {
        auto incoming = reader.on(frame);
        if (!first && incoming && std::holds_alternative<Delivered>(*incoming)) first = std::get<Delivered>(*incoming);
        return {};
      }),
                  succeeds());
      return first.has_value();
    });
    return first;
  }

 private:
  Options options_;
  std::unique_ptr<Connection> connection_;
};

class Scene : public testing::Test {
 protected:
  std::unique_ptr<IMessageSource> attached(const Term& term) { return attached(term, options_); }
  std::unique_ptr<IMessageSource> attached(const Term& term, const Options& options) {
    auto source = makeSource(options, events_);
    EXPECT_THAT(source->attach(term), succeeds());
    return source;
  }
  static std::vector<Message> look(IMessageSource& source, std::size_t max = 100) {
    return source.fetch(max, BootClock::now(), {}).value();
  }
  /// What comes, or why nothing does.
  static Result<std::vector<Message>> await(IMessageSource& source, std::size_t max = 100) {
    return source.fetch(max, BootClock::now() + 30s, {});
  }

  test::RabbitServer& broker_ = test::RabbitServer::shared();
  Options options_ = broker_.options(test::freshQueueName());
  test::RecordedEvents events_;
  const TestTerm term_{7};
};

}  // namespace tenure::rabbitmq
