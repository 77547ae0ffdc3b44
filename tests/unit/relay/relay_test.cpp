/// What a relay promises of each message, with a target that answers as the test says.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <map>
#include <mutex>

#include "support/events.hpp"
#include "support/manual_clock.hpp"
#include "support/terms.hpp"
#include "tenure/consumer.hpp"
#include "tenure/testing/memory.hpp"

namespace tenure::test {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::IsEmpty;

/// What it has stored, in order, and how it answers.
struct Target {
  std::vector<std::string> stored;
  std::map<std::string, std::deque<Error>> answers;  // for each id, one after the other; then it stores
  std::deque<Error> ofAll;                           // before these
  std::function<void()> beforeEach = [] {};
  std::vector<std::string> ways;
  int opened = 0;
};

class TargetSink final : public IMessageSink {
 public:
  explicit TargetSink(Target& target) : target_(target) {}
  Result<void> append(std::span<const NewMessage>) override { return Errc::unsupported; }
  std::vector<Result<void>> appendEach(std::span<const NewMessage> messages) override {
    target_.beforeEach();
    std::vector<Result<void>> results;
    if (!target_.ofAll.empty()) {
      results.assign(messages.size(), target_.ofAll.front());
      target_.ofAll.pop_front();
      return results;
    }
    for (const NewMessage& message : messages) {
      if (message.headers.size() == 2) target_.ways.push_back(message.id.value + " without a way");
      results.push_back(answer(message.id.value));
    }
    return results;
  }

 private:
  Result<void> answer(const std::string& id) {
    auto& left = target_.answers[id];
    if (left.empty()) {
      target_.stored.push_back(id);
      return {};
    }
    const Error error = left.front();
    left.pop_front();
    return error;
  }

  Target& target_;
};

class RelayUnit : public testing::Test {
 protected:
  void produce(const std::vector<std::string>& ids) {
    std::vector<NewMessage> messages;
    for (const std::string& id : ids) messages.push_back({MessageId{id}, {}, "body of " + id, {}});
    world.deliver(std::move(messages));
  }
  /// Until nothing waits.
  void work(int executes = 100) {
    relay.inaugurate(term);
    for (int i = 0; i < executes && !world.waiting().empty(); ++i) relay.execute(term);
  }

  memory::World world;
  ManualClock clock;
  RecordedEvents events;
  ConsumerOptions options{.maxAttempts = 3, .retryBase = 200ms, .retryMax = 30s, .idleWait = 100ms};
  memory::Database database{world, events, clock};
  TestTerm term{identityWith(1), 24h, clock};
  Target target;
  Relay relay{database.source(),
              database.store(),
              [this]() -> Result<std::unique_ptr<IMessageSink>> {
                ++target.opened;
                return std::unique_ptr<IMessageSink>(std::make_unique<TargetSink>(target));
              },
              options,
              events,
              clock};
};

// shows: outbox/message-removed-after
TEST_F(RelayUnit, PublishesInOrderAndRemovesOnlyWhatTheTargetHasConfirmed) {
  produce({"a", "b", "c"});
  target.beforeEach = [this] { EXPECT_EQ(world.waiting().size(), 3U); };
  work();
  EXPECT_THAT(target.stored, ElementsAre("a", "b", "c"));
  EXPECT_THAT(world.waiting(), IsEmpty());
  EXPECT_EQ(target.opened, 1);
}

// shows: outbox/target-refuses-failed
TEST_F(RelayUnit, ARefusedMessageCountsItsAttemptAndTheOthersOfItsBatchArePublishedOnce) {
  produce({"a", "b", "c"});
  target.answers["b"] = {Error{Errc::notFound, "no queue"}};
  work();
  EXPECT_THAT(target.stored, ElementsAre("a", "c", "b"));
  const auto failed = events.of<AttemptFailed>();
  ASSERT_EQ(failed.size(), 1U);
  EXPECT_THAT(failed.front().error, testing::HasSubstr("no queue"));
  EXPECT_EQ(failed.front().message, "b");
}

// shows: outbox/target-refuses-failed
TEST_F(RelayUnit, AMessageThatNoAttemptCanHelpIsADeadLetterAtOnce) {
  produce({"a", "b"});
  target.answers["a"] = {Error{Errc::payloadTooLarge, "too large"}};
  work();
  EXPECT_THAT(target.stored, ElementsAre("b"));
  ASSERT_EQ(world.deadLetters().size(), 1U);
  EXPECT_EQ(world.deadLetters().front().message.id.value, "a");
  EXPECT_THAT(world.deadLetters().front().reason, testing::HasSubstr("too large"));
}

// shows: outbox/target-away-attempt
TEST_F(RelayUnit, AnOutageOfTheTargetCountsNoAttemptAndIsToldOnce) {
  produce({"a", "b"});
  target.ofAll = std::deque<Error>(200, Error{Errc::unavailable, "the broker is away"});
  work(1000);
  EXPECT_THAT(target.stored, ElementsAre("a", "b"));
  EXPECT_THAT(world.deadLetters(), IsEmpty());
  EXPECT_THAT(events.of<AttemptFailed>(), IsEmpty());
  EXPECT_EQ(events.of<OutageBegan>().size(), 1U);
  EXPECT_EQ(events.of<OutageEnded>().size(), 1U);
}

// shows: outbox/confirm-lost-makes
TEST_F(RelayUnit, AfterALostReplyOnlyWhatWasNotConfirmedIsPublishedAgain) {
  produce({"a", "b", "c"});
  target.answers["b"] = {Error{Errc::outcomeUnknown, "cut"}};
  target.answers["c"] = {Error{Errc::outcomeUnknown, "cut"}};
  work();
  EXPECT_THAT(target.stored, ElementsAre("a", "b", "c"));
  EXPECT_EQ(target.opened, 2) << "a sink that failed is not used again";
}

// shows: outbox/message-removed-after
TEST_F(RelayUnit, PublishesNothingUnderALostLease) {
  produce({"a"});
  relay.inaugurate(term);
  target.ofAll = {Error{Errc::unavailable, "away"}};
  target.beforeEach = [this] { term.loseLease(); };
  EXPECT_THROW(
      {
        for (int i = 0; i < 100; ++i) relay.execute(term);
      },
      EndTerm);
  EXPECT_THAT(target.stored, IsEmpty());
  EXPECT_EQ(world.waiting().size(), 1U);
}

// shows: outbox/commit-fails-nothing
TEST_F(RelayUnit, ACommitThatFailsPublishesNothingAgain) {
  produce({"a", "b"});
  world.fail(memory::Operation::commit, Errc::storeBusy, 3);
  work();
  EXPECT_THAT(target.stored, ElementsAre("a", "b"));
  EXPECT_THAT(world.waiting(), IsEmpty());
}

// shows: numbers/numbered-message-dies
TEST_F(RelayUnit, ASkippedNumberIsNeverADeadLetterAndGoesWhereMessagesWithoutAWayGo) {
  world.deliver(
      {{MessageId{"a/skip"},
        GroupId{"g"},
        "",
        {{std::string(numberHeader), "1"}, {std::string(skipHeader), "rejected"}, {"tenure-exchange", "absent"}}}});
  target.answers["a/skip"] = std::deque<Error>(9, Error{Errc::invalidArgument, "no such exchange"});
  work(1000);
  EXPECT_THAT(target.stored, ElementsAre("a/skip"));
  EXPECT_THAT(target.ways, testing::Contains("a/skip without a way"));
  EXPECT_THAT(world.deadLetters(), IsEmpty());
}

/// What lanes publish beside each other, each through a sink of its own.
class Common final : public IMessageSink {
 public:
  struct Store {
    std::mutex mutex;
    std::map<std::string, std::vector<int>> byGroup;
    int refused = 0;
  };
  explicit Common(Store& store) : store_(store) {}
  Result<void> append(std::span<const NewMessage> messages) override {
    const std::lock_guard lock(store_.mutex);
    if (messages.size() > 1 && ++store_.refused % 7 == 0) return Error{Errc::notFound, "none of these"};
    for (const NewMessage& message : messages) store_.byGroup[message.group.value].push_back(std::stoi(message.body));
    return {};
  }

 private:
  Store& store_;
};

TEST(RelayInLanes, PublishesEachGroupInItsOrderAndEachMessageOnce) {
  constexpr int messages = 2000;
  memory::World world;
  std::vector<NewMessage> all;
  for (int i = 0; i < messages; ++i)
    all.push_back({MessageId{std::to_string(i)}, GroupId{"g" + std::to_string(i % 16)}, std::to_string(i), {}});
  world.deliver(std::move(all));
  Common::Store stored;
  memory::Database database(world, noEvents(), systemClock(), memory::Database::Acknowledging::inTransaction,
                            memory::Database::Lanes::besideEachOther);
  Relay relay(
      database.source(), database.store(),
      [&] { return Result<std::unique_ptr<IMessageSink>>(std::make_unique<Common>(stored)); },
      {.ordering = Ordering::perGroup(4), .maxBatch = 16, .idleWait = 20ms}, noEvents());
  const TestTerm term(1);
  relay.inaugurate(term);
  while (!world.waiting().empty()) relay.execute(term);
  term.requestStop();
  relay.handOver(term);

  std::size_t count = 0;
  for (const auto& [group, numbers] : stored.byGroup) {
    EXPECT_EQ(std::ranges::adjacent_find(numbers, std::ranges::greater_equal{}), numbers.end()) << group;
    count += numbers.size();
  }
  EXPECT_EQ(count, static_cast<std::size_t>(messages));
}

TEST_F(RelayUnit, IsNotReadyWithoutItsTarget) {
  Relay other{database.source(),
              database.store(),
              []() -> Result<std::unique_ptr<IMessageSink>> {
                return Error{Errc::notFound, "exchange shop"};
              },
              options,
              events,
              clock};
  EXPECT_THROW(other.prepare({}), EndTerm);
}

}  // namespace
}  // namespace tenure::test
