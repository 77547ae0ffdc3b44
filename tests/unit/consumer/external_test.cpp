#include "scene.hpp"

namespace tenure::test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

/// Handlers that run outside the store, such as child processes.
class ConsumerExternal : public testing::Test {
 protected:
  void produce(const std::vector<std::string>& ids) {
    for (const std::string& id : ids) world.deliver({NewMessage{MessageId{id}, {}, "body", {}}});
  }
  Consumer& consume(Handler handler) {
    return consumer.emplace(database.source(), database.store(), std::move(handler), options, events, clock);
  }
  void workOff() {
    for (int i = 0; i < 100 && !world.waiting().empty(); ++i) consumer->execute(term);
  }
  std::vector<std::string> doneIds() const {
    std::vector<std::string> ids;
    for (const auto& entry : world.ledger()) ids.push_back(entry.message.value);
    return ids;
  }

  memory::World world;
  ManualClock clock;
  RecordedEvents events;
  memory::Database database{world, noEvents(), clock};
  TestTerm term{identityWith(1), 24h, clock};
  ConsumerOptions options{.idleWait = 100ms, .handlerIsExternal = true};
  std::optional<Consumer> consumer;
  int calls = 0;
};

TEST_F(ConsumerExternal, NothingIsPendingAndNoLockIsHeldWhileItRuns) {
  produce({"a", "b"});
  std::vector<std::size_t> committedBefore;
  consume([&](const Delivery&) {
    committedBefore.push_back(world.ledger().size());
    EXPECT_FALSE(world.isWriting());
    return Outcome::done();
  }).inaugurate(term);

  workOff();

  EXPECT_THAT(committedBefore, ElementsAre(0, 1));
  EXPECT_THAT(doneIds(), ElementsAre("a", "b"));
}

TEST_F(ConsumerExternal, AKnownMessageDoesNotReachIt) {
  produce({"a", "a"});
  consume([&](const Delivery&) {
    ++calls;
    return Outcome::done();
  }).inaugurate(term);

  workOff();

  EXPECT_EQ(calls, 1);
}

TEST_F(ConsumerExternal, AReusedIdDoesNotReachIt) {
  produce({"a"});
  world.deliver({NewMessage{MessageId{"a"}, {}, "another body", {}}});
  consume([&](const Delivery&) {
    ++calls;
    return Outcome::done();
  }).inaugurate(term);

  workOff();

  EXPECT_EQ(calls, 1);
  EXPECT_EQ(world.deadLetters().size(), 1U);
}

TEST_F(ConsumerExternal, IsNotRunAgainWhenOnlyItsCommitFailed) {
  produce({"a"});
  consume([&](const Delivery&) {
    ++calls;
    world.fail(memory::Operation::commit, Errc::unavailable, 3);
    return Outcome::done();
  }).inaugurate(term);

  workOff();

  EXPECT_EQ(calls, 1);
  EXPECT_THAT(doneIds(), ElementsAre("a"));
}

TEST_F(ConsumerExternal, AFailureIsRetriedAndThenADeadLetter) {
  options.maxAttempts = 3;
  produce({"a"});
  std::vector<int> attempts;
  consume([&](const Delivery& delivery) {
    attempts.push_back(delivery.attempt);
    return Outcome::failed("exit 1");
  }).inaugurate(term);

  workOff();

  EXPECT_THAT(attempts, ElementsAre(1, 2, 3));
  ASSERT_EQ(world.deadLetters().size(), 1U);
  EXPECT_EQ(world.deadLetters()[0].reason, "exit 1");
}

TEST_F(ConsumerExternal, RetryLaterLeavesItsRecordBehindAndNothingElse) {
  produce({"a"});
  consume([&](const Delivery&) { return Outcome::retryLater("75", 1h); }).inaugurate(term);
  consumer->execute(term);
  const auto commits = world.commits();

  for (int i = 0; i < 5; ++i) consumer->execute(term);

  EXPECT_EQ(world.commits(), commits);
  for (const AttemptRecord& record : world.consumerState(ConsumerName{"orders"}).attempts)
    EXPECT_EQ(record.attempts, 0) << record.id.value;
}

}  // namespace
}  // namespace tenure::test
