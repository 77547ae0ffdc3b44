#include "scene.hpp"

namespace tenure::test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

/// What the consume log says of each attempt.
class ConsumerLog : public Scene {
 protected:
  ConsumerLog() { options.keepLogFor = 24h; }

  /// "a1 done"
  std::vector<std::string> logged() const {
    static constexpr const char* names[] = {"done", "skipped", "postponed", "failed", "rejected", "died"};
    std::vector<std::string> lines;
    for (const LoggedAttempt& each : world.log())
      lines.push_back(each.message.value + std::to_string(each.attempt) + " " +
                      names[static_cast<std::size_t>(each.end)]);
    return lines;
  }
};

TEST_F(ConsumerLog, HasALineForEachAttemptWhateverItCameTo) {
  options.maxAttempts = 2;
  int calls = 0;
  behaviour = [&](const Delivery& delivery) {
    const std::string& id = delivery.message.id.value;
    if (id == "b") return Outcome::failed("no stock");
    if (id == "c") return Outcome::reject("no such order");
    if (id == "d") return Outcome::skip("nothing has changed");
    if (id == "e" && ++calls == 1) return Outcome::retryLater("not yet", 1ms);
    return Outcome::done();
  };
  produce({"a", "b", "c", "d", "e"});

  workOff(elect());

  EXPECT_THAT(logged(),
              ElementsAre("a1 done", "b1 failed", "b2 failed", "c1 rejected", "d1 skipped", "e1 postponed", "e1 done"));
  EXPECT_EQ(world.log()[1].error, "no stock");
  EXPECT_LE(world.log()[1].beganAt, world.log()[1].endedAt);
}

TEST_F(ConsumerLog, HasNoLineOfWhatWasUndone) {
  produce({"earlier"});
  ConsumerReplica& leader = elect();
  workOff(leader);
  produce({"a", "b"});
  world.fail(memory::Operation::commit, Errc::unavailable);

  workOff(leader);

  EXPECT_EQ(timesHandled("a"), 2);
  EXPECT_THAT(logged(), ElementsAre("earlier1 done", "a1 done", "b1 done"));
}

TEST_F(ConsumerLog, HasALineOfEveryRunOfAnExternalHandler) {
  options.handlerIsExternal = true;
  whenRefused = [](const Error&) { return Outcome::done(); };
  behaviour = [](const Delivery&) { return Outcome::done(); };
  produce({"a"});
  world.fail(memory::Operation::commit, Errc::unavailable);

  workOff(elect());

  EXPECT_EQ(timesHandled("a"), 1);
  EXPECT_THAT(logged(), ElementsAre("a1 done"));
}

// shows: messages/log-success-happened
TEST_F(ConsumerLog, ALostReplyLosesNoLineAndDoublesNone) {
  for (const bool landed : {true, false}) {
    world.loseCommitReply(landed);
    produce({landed ? "a" : "b"});
    workOff(elect());
  }

  EXPECT_THAT(logged(), ElementsAre("a1 done", "b1 done"));
}

TEST_F(ConsumerLog, SaysWhoseProcessDied) {
  options.maxAttempts = 1;
  produce({"killer"});
  diesOf(elect(), "killer");
  diesOf(elect(), "killer");

  workOff(elect());

  EXPECT_THAT(logged(), ElementsAre("killer1 died"));
  EXPECT_THAT(deadIds(), ElementsAre("killer"));
}

TEST_F(ConsumerLog, DuplicatesAreNoAttempts) {
  produce({"a", "a"});

  workOff(elect());

  EXPECT_THAT(logged(), ElementsAre("a1 done"));
}

TEST_F(ConsumerLog, IsShortenedAtItsOldEnd) {
  options.keepLogFor = 1h;
  produce({"old"});
  ConsumerReplica& leader = elect();
  workOff(leader);
  clock.advance(45min);
  produce({"young"});
  workOff(leader);
  ASSERT_THAT(logged(), SizeIs(2));
  clock.advance(30min);

  for (int i = 0; i < 50; ++i) leader.execute();

  EXPECT_THAT(logged(), ElementsAre("young1 done"));
}

TEST_F(ConsumerLog, IsBoundedByNumber) {
  options.keepLogLines = 2;
  produce({"a", "b", "c"});
  ConsumerReplica& leader = elect();
  workOff(leader);
  clock.advance(2min);

  for (int i = 0; i < 50; ++i) leader.execute();

  EXPECT_THAT(logged(), ElementsAre("b1 done", "c1 done"));
}

// shows: messages/consumer-without-keep
TEST_F(ConsumerLog, IsNotKeptUnlessAskedFor) {
  options.keepLogFor = 0h;
  produce({"a"});

  workOff(elect());

  EXPECT_THAT(logged(), IsEmpty());
}

// shows: messages/log-success-happened
TEST_F(ConsumerLog, IsRefusedWhereLossesWouldBeMissing) {
  options.delivery = Guarantee::atMostOnce;

  EXPECT_THROW(elect(), std::system_error);
}

TEST_F(ConsumerLog, ABoundThatWasMeantToBeNegativeIsRefused) {
  options.keepLogLines = static_cast<std::size_t>(-3);
  EXPECT_THROW(elect(), std::system_error);

  options.keepLogLines = 0;
  options.keyAlarm = static_cast<std::size_t>(-3);
  EXPECT_THROW(elect(), std::system_error);
}

}  // namespace
}  // namespace tenure::test
