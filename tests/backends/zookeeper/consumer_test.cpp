// A consumer whose effects are small state on an ensemble: what does not fit into one request.
#include "tenure/consumer.hpp"

#include <gmock/gmock.h>

#include "support/events.hpp"
#include "support/results.hpp"
#include "support/terms.hpp"
#include "support/zookeeper_store_world.hpp"
#include "tenure/testing/memory.hpp"

namespace tenure::zookeeper {
namespace {

using namespace std::chrono_literals;
using test::TestTerm;
using testing::ElementsAre;
using testing::IsEmpty;

class ZooKeeperConsumer : public testing::Test {
 protected:
  /// `kilobytes` is how much state the message's handler writes, in two parts.
  void produce(const std::string& id, int kilobytes) {
    queue_.deliver({NewMessage{MessageId{id}, GroupId{}, std::to_string(kilobytes), {}}});
  }

  /// Until the queue is empty.
  void consume() {
    memory::Database queue(queue_, events_);
    const auto store = openStore(world_.options(), events_);
    const ConsumerOptions options{.latencyTarget = 10s, .maxAttempts = 2, .retryBase = 1ms, .idleWait = 10ms};
    Consumer consumer(queue.source(), *store, write, options, events_);
    const TestTerm term(++token_);
    consumer.inaugurate(term);
    for (int executes = 0; executes < 200 && !queue_.waiting().empty(); ++executes) consumer.execute(term);
    EXPECT_THAT(queue_.waiting(), IsEmpty());
    consumer.handOver(term);
  }

  /// How much is there, in kilobytes.
  std::size_t stored(const std::string& id) {
    const auto store = openStore(world_.options(), noEvents());
    const TestTerm term(++token_);
    EXPECT_THAT(store->claim(term), test::succeeds());
    const auto transaction = std::move(store->begin(term)).value();
    std::size_t bytes = 0;
    for (const char* part : {".1", ".2"}) bytes += transaction->get(id + part).value().value_or("").size();
    return bytes / 1000;
  }

  test::ZooKeeperStoreWorld world_;
  memory::World queue_;
  test::RecordedEvents events_;

 private:
  std::int64_t token_ = 6;

  static Outcome write(const Delivery& delivery) {
    const std::string half(std::stoul(delivery.message.body) * 500, 'x');
    for (const char* part : {".1", ".2"})
      if (const auto put = delivery.transaction.put(delivery.message.id.value + part, half); !put)
        return Outcome::failed(put.error().message());
    return Outcome::done();
  }
};

TEST_F(ZooKeeperConsumer, Row24ABatchThatIsTooLargeTogetherIsCommittedInParts) {
  for (int i = 0; i < 12; ++i) produce("m" + std::to_string(i), 200);

  consume();

  for (int i = 0; i < 12; ++i) EXPECT_EQ(stored("m" + std::to_string(i)), 200U);
  EXPECT_THAT(world_.deadIds(), IsEmpty());
  EXPECT_THAT(events_.of<OutageBegan>(), IsEmpty()) << "no reconnecting";
}

TEST_F(ZooKeeperConsumer, Row24AMessageThatIsTooLargeAloneIsADeadLetterAndItsNeighboursAreNot) {
  produce("before", 1);
  produce("too large", 1'200);
  produce("after", 1);

  consume();

  EXPECT_THAT(world_.deadIds(), ElementsAre("too large"));
  EXPECT_EQ(stored("before"), 1U);
  EXPECT_EQ(stored("too large"), 0U);
  EXPECT_EQ(stored("after"), 1U);
  EXPECT_THAT(events_.of<OutageBegan>(), IsEmpty()) << "no reconnecting";
}

}  // namespace
}  // namespace tenure::zookeeper
