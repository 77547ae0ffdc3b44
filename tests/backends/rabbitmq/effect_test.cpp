// From a broker that delivers at least once into a store elsewhere: each effect once and in order, whatever happens to
// the connection, the broker and the leader.
#include <future>

#include "scene.hpp"
#include "support/sqlite_world.hpp"
#include "tenure/consumer.hpp"
#include "tenure/spi/source.hpp"

namespace tenure::rabbitmq {
namespace {

constexpr int total = 5'000;
constexpr std::size_t batch = 64;

/// Something happens between a commit and its acknowledgement.
class Disturbed final : public IMessageSource {
 public:
  using Disturbance = std::function<void(int acknowledgement)>;
  Disturbed(std::unique_ptr<IMessageSource> source, Disturbance disturb)
      : source_(std::move(source)), disturb_(std::move(disturb)) {}

  Result<QueueIdentity> identity(const std::stop_token& stop) override { return source_->identity(stop); }
  Result<void> attach(const Term& term) override { return source_->attach(term); }
  Result<std::vector<Message>> fetch(std::size_t max, BootTime deadline, std::stop_token stop) override {
    return source_->fetch(max, deadline, std::move(stop));
  }
  Result<void> acknowledge(std::span<const Message> messages) override {
    disturb_(++acknowledgements_);
    return source_->acknowledge(messages);
  }
  void detach() noexcept override { source_->detach(); }

 private:
  std::unique_ptr<IMessageSource> source_;
  Disturbance disturb_;
  int acknowledgements_ = 0;
};

class Effect : public Scene {
 protected:
  void SetUp() override {
    std::vector<NewMessage> messages;
    for (int i = 0; i < total; ++i) messages.push_back(messageWith(std::to_string(i)));
    ASSERT_THAT(openSink(options_).value()->append(messages), succeeds());
    ASSERT_TRUE(store_.sink() != nullptr);
    store_.meddle("CREATE TABLE ledger(n INTEGER PRIMARY KEY, id TEXT)");
  }

  /// One leader, until the ledger has `until` rows. It hands over, or is gone without a word.
  void lead(const Term& term, int until, bool handsOver) {
    Disturbed source(makeSource(options_, events_), [this](int acknowledgement) {
      if (acknowledgement % 7 == 0) broker_.closeConnections();
    });
    lead(term, until, handsOver, source);
  }

  void lead(const Term& term, int until, bool handsOver, IMessageSource& source) {
    const auto store = store_.open(events_).store;
    const ConsumerOptions options{.maxBatch = batch, .outageLimit = 120s};
    Consumer consumer(source, *store, write, options, events_);
    consumer.inaugurate(term);
    const auto enough = [&] {
      consumer.execute(term);
      return effects() >= until;
    };
    EXPECT_TRUE(test::eventually(enough, 300s));
    if (handsOver) consumer.handOver(term);
  }

  static Outcome write(const Delivery& delivery) {
    const std::vector<SqlParameter> parameters{{":id", delivery.message.id.value}};
    const auto written = delivery.transaction.sql()->execute("INSERT INTO ledger(id) VALUES(:id)", parameters);
    return written ? Outcome::done() : Outcome::failed(written.error().message());
  }

  /// Once all are handled, and no message comes again that was committed when its connection was cut.
  void expectEachOnceAndInOrder() {
    const auto nothingComesAgain = [this, next = 10]() mutable {
      const auto undisturbed = makeSource(options_, events_);
      lead(TestTerm(next++), total, true, *undisturbed);
      return openAdmin(options_).value()->stats()->waiting == 0;
    };
    EXPECT_TRUE(test::eventually(nothingComesAgain));
    EXPECT_EQ(effects(), total);
    EXPECT_EQ(store_.ask("SELECT count(*) FROM ledger WHERE id <> CAST(n - 1 AS TEXT)"), "0");
    EXPECT_GT(events_.of<DuplicateDropped>().size(), 0U);  // or nothing was put to the test
    EXPECT_GT(events_.of<OutageEnded>().size(), 0U);
  }

  int effects() const { return std::stoi(store_.ask("SELECT count(*) FROM ledger")); }

  test::SqliteWorld store_;
};

// shows: S2
TEST_F(Effect, IsThereOnceAndInOrderWhateverIsDeliveredAgain) {
  lead(TestTerm(7), total / 3, false);
  Disturbed restarted(makeSource(options_, events_), [this](int acknowledgement) {
    if (acknowledgement != 5) return;
    broker_.kill();
    broker_.start();
  });
  lead(TestTerm(8), 2 * total / 3, true, restarted);
  lead(TestTerm(9), total, true);
  expectEachOnceAndInOrder();
}

/// Fifty messages in each body.
class PackedEffect : public Effect {
 protected:
  PackedEffect() { options_.publishing.pack = 50; }
};

// shows: sending/many-messages-may
TEST_F(PackedEffect, IsThereOnceAndInOrderThoughLeadersGoInTheMiddleOfAPack) {
  lead(TestTerm(7), total / 3, false);
  lead(TestTerm(8), 2 * total / 3, true);
  lead(TestTerm(9), total, true);
  expectEachOnceAndInOrder();
}

/// A body that is over the memory that we grant, in a queue that has nowhere to put it.
class OversizeEffect : public Scene {
 protected:
  void SetUp() override {
    options_.largestBody = maxBodyBytes;
    Stranger stranger(options_);
    stranger.declare();
    amqp_basic_properties_t properties{};
    properties._flags = AMQP_BASIC_MESSAGE_ID_FLAG;
    properties.message_id = bytesOf("huge");
    stranger.publish(properties, std::string(maxBodyBytes + 1, 'x'));
    ASSERT_THAT(append(options_, {"fine"}), succeeds());
    ASSERT_TRUE(store_.sink() != nullptr);
    store_.meddle("CREATE TABLE ledger(id TEXT)");
  }

  void workOff(const TestTerm& term, int rounds) {
    const auto source = makeSource(options_, events_);
    const auto store = store_.open(events_).store;
    const ConsumerOptions options{.idleWait = 20ms};
    Consumer consumer(*source, *store, write, options, events_);
    consumer.inaugurate(term);
    for (int i = 0; i < rounds; ++i) consumer.execute(term);
    consumer.handOver(term);
  }
  static Outcome write(const Delivery& delivery) {
    const std::vector<SqlParameter> parameters{{":id", delivery.message.id.value}};
    const auto written = delivery.transaction.sql()->execute("INSERT INTO ledger(id) VALUES(:id)", parameters);
    return written ? Outcome::done() : Outcome::failed(written.error().message());
  }
  std::vector<DeadLetter> letters() {
    return store_.adminOf(openAdmin(options_).value()->identity().value())->deadLetters(10, {}).value();
  }
  std::int64_t waiting() const { return openAdmin(options_).value()->stats()->waiting; }

  test::SqliteWorld store_;
};

// shows: operations/body-over-limit
TEST_F(OversizeEffect, IsADeadLetterThatSaysSo) {
  workOff(TestTerm(7), 3);

  ASSERT_EQ(letters().size(), 1U);
  EXPECT_EQ(letters()[0].message.id.value, "huge");
  EXPECT_EQ(letters()[0].message.body, "");
  EXPECT_THAT(letters()[0].reason, testing::HasSubstr("body of 1048577 bytes is over 1048576"));
  EXPECT_EQ(store_.ask("SELECT group_concat(id) FROM ledger"), "fine");
  EXPECT_EQ(waiting(), 0);
}

// shows: operations/body-over-limit
TEST_F(OversizeEffect, StaysInTheQueueUnderALeaderWithoutALease) {
  const TestTerm term(7);
  const auto source = makeSource(options_, events_);
  const auto store = store_.open(events_).store;
  const ConsumerOptions options{.idleWait = 20ms};
  Consumer consumer(*source, *store, write, options, events_);
  consumer.inaugurate(term);

  term.loseLease();
  for (int round = 0; round < 2; ++round) consumer.execute(term);
  consumer.handOver(term);

  EXPECT_EQ(waiting(), 2);
  EXPECT_TRUE(letters().empty());
}

}  // namespace
}  // namespace tenure::rabbitmq
