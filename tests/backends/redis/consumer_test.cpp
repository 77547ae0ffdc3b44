// A consumer's whole way on a real server: every message once and in order, whatever happens to server and leader.
#include "tenure/consumer.hpp"

#include <future>

#include "scene.hpp"
#include "support/manual_clock.hpp"
#include "tenure/spi/source.hpp"

namespace tenure::test {
namespace {

using namespace std::chrono_literals;

/// Each message is the next number; the handler proves that it is, with what it read under the fence.
class NumberedWork : public testing::Test {
 protected:
  void produce(int count) {
    const auto sink = redis::openSink(server_.options()).value();
    std::vector<NewMessage> messages;
    for (int i = 0; i < count; ++i) messages.push_back(newMessage(std::to_string(produced_++)));
    ASSERT_THAT(sink->append(messages), succeeds());
  }
  static Outcome apply(const Delivery& delivery) {
    const auto done = delivery.transaction.get("done");
    if (!done) return Outcome::retryLater(done.error().message());
    const std::string expected = done->value_or("0");
    EXPECT_EQ(delivery.message.id.value, expected) << "order";
    static_cast<void>(delivery.transaction.put("done", std::to_string(std::stoi(expected) + 1)));
    return Outcome::done();
  }
  std::unique_ptr<Consumer> consumerOn(redis::Database& database) const {
    return std::make_unique<Consumer>(database.source(), database.store(), apply, options_, noEvents());
  }
  int done() const {
    const std::string text = server_.ask({"HGET", "tenure:{orders}:state", "done"});
    return text.empty() ? 0 : std::stoi(text);
  }
  std::string waiting() const { return server_.ask({"XLEN", "tenure:{orders}:messages"}); }

  RedisServer server_;
  ConsumerOptions options_{.maxBatch = 16, .outageLimit = 120s, .idleWait = 20ms};
  int produced_ = 0;
};

TEST_F(NumberedWork, IsDoneOnceAndInOrderThoughTheServerIsKilledAgainAndAgain) {
  produce(3'000);
  redis::Database database(server_.options(), noEvents());
  const auto consumer = consumerOn(database);
  const TestTerm term(7);
  consumer->inaugurate(term);
  auto working = std::async(std::launch::async, [&] {
    while (!term->stopToken().stop_requested()) consumer->execute(term);
  });

  for (int kills = 1; kills <= 5; ++kills) {
    ASSERT_TRUE(eventually([&] { return done() >= kills * 300; }));
    server_.kill();
    server_.start();
  }
  ASSERT_TRUE(eventually([&] { return done() == produced_; }));
  term.requestStop();
  working.get();

  EXPECT_EQ(done(), produced_);
  EXPECT_EQ(waiting(), "0");
}

TEST_F(NumberedWork, PassesFromLeaderToLeaderWhileTheOldOnesGoOnTrying) {
  struct Leadership {
    std::unique_ptr<redis::Database> database;
    std::unique_ptr<Consumer> consumer;
    TestTerm term;
  };
  std::vector<Leadership> leaderships;
  for (int token = 1; token <= 20; ++token) {
    produce(50);
    auto database = std::make_unique<redis::Database>(server_.options(), noEvents());
    auto consumer = consumerOn(*database);
    leaderships.push_back({std::move(database), std::move(consumer), TestTerm(token)});
    Leadership& current = leaderships.back();
    current.consumer->inaugurate(current.term);
    current.consumer->execute(current.term);
    if (token == 1) continue;
    produce(5);  // for the predecessor to stumble over
    Leadership& stale = leaderships[leaderships.size() - 2];
    EXPECT_THROW(while (true) stale.consumer->execute(stale.term), EndTerm);
  }
  while (done() < produced_) leaderships.back().consumer->execute(leaderships.back().term);

  EXPECT_EQ(done(), produced_);
  EXPECT_EQ(waiting(), "0");
}

TEST_F(NumberedWork, LeavesNothingBehindButItsIdsUntilTheHorizon) {
  redis::Database database(server_.options(), noEvents());
  const auto consumer = consumerOn(database);
  const TestTerm term(7);
  consumer->inaugurate(term);
  for (int round = 0; round < 10; ++round) {
    produce(500);
    while (done() < produced_) consumer->execute(term);
  }
  consumer->handOver(term);

  EXPECT_EQ(waiting(), "0");
  EXPECT_LT(std::stoll(server_.ask({"MEMORY", "USAGE", "tenure:{orders}:messages"})), 20'000);
  EXPECT_EQ(server_.ask({"EXISTS", "tenure:{orders}:attempts"}), "0");
  EXPECT_EQ(server_.ask({"HLEN", "tenure:{orders}:facts"}), "2")
      << "how far its terms may go, and the last look at the clock";
  // One for each id, and the queue, its messages, the fence, the state, what is in work, how many ids there are, and
  // those two in one.
  EXPECT_EQ(server_.ask({"DBSIZE"}), std::to_string(produced_ + 7));
}

/// For a consumer whose clock is not the machine's, as its source's is.
class Impatient final : public ForwardingSource {
 public:
  using ForwardingSource::ForwardingSource;
  Result<std::vector<Message>> fetch(std::size_t max, BootTime, std::stop_token stop) override {
    return inner().fetch(max, BootClock::now(), std::move(stop));
  }
};

TEST_F(NumberedWork, MoreIdsThanTheLimitRaiseTheAlarmAndNoneIsForgotten) {
  options_.keyAlarm = 9;
  produce(10);
  redis::Database database(server_.options(), noEvents());
  ManualClock clock;
  RecordedEvents events;
  Impatient source(database.source());
  Consumer consumer(source, database.store(), apply, options_, events, clock);
  const TestTerm term(identityWith(7), 24h, clock);
  consumer.inaugurate(term);
  while (done() < produced_) consumer.execute(term);
  ASSERT_TRUE(events.of<KeyAlarmRaised>().empty()) << "it leaves a new term in peace";

  clock.advance(2min);
  for (int i = 0; i < 100 && events.of<KeyAlarmRaised>().empty(); ++i) consumer.execute(term);

  const auto alarms = events.of<KeyAlarmRaised>();
  ASSERT_EQ(alarms.size(), 1U);
  EXPECT_EQ(alarms[0].kept, 10U);
  EXPECT_EQ(server_.ask({"DBSIZE"}), std::to_string(produced_ + 7)) << "the last look at the clock is one of them";
}

}  // namespace
}  // namespace tenure::test
