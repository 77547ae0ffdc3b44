// Taking back a message that waits, and giving it another time: from outside, and in a handler's transaction.
#include "conformance/source/scheduled/scheduled_suite.hpp"

namespace tenure::test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class ScheduledChanges : public ScheduledSuite {
 protected:
  std::string nextTime(const std::string& id) {
    const auto found = scheduled_->find(MessageId{id}).value();
    return found ? std::to_string(found->deliverAt->time_since_epoch().count()) : "none";
  }
};
INSTANTIATE_TEST_SUITE_P(Backends, ScheduledChanges, testing::ValuesIn(keepingScheduled()),
                         testing::PrintToStringParamName());

// shows: scheduled/commands-tell-message
TEST_P(ScheduledChanges, CancellingTellsWhatItCameTo) {
  ASSERT_THAT(send({timed("waits", now() + 1h), timed("due", now() - 1s)}), succeeds());
  ASSERT_THAT(idsOf(await()), ElementsAre("due"));

  EXPECT_EQ(scheduled_->cancel(MessageId{"waits"}).value(), ScheduleChange::done);
  EXPECT_EQ(scheduled_->cancel(MessageId{"waits"}).value(), ScheduleChange::unknown);
  EXPECT_EQ(scheduled_->cancel(MessageId{"due"}).value(), ScheduleChange::fired);
  EXPECT_THAT(waiting(), IsEmpty());
}

// shows: scheduled/commands-tell-message
TEST_P(ScheduledChanges, ReschedulingTellsWhatItCameTo) {
  ASSERT_THAT(send({timed("waits", now() + 1h), timed("due", now() - 1s)}), succeeds());
  ASSERT_THAT(idsOf(await()), ElementsAre("due"));

  EXPECT_EQ(scheduled_->reschedule(MessageId{"waits"}, now() - 1h).value(), ScheduleChange::done);
  EXPECT_THAT(idsOf(await()), ElementsAre("waits"));
  EXPECT_EQ(scheduled_->reschedule(MessageId{"waits"}, now() + 1h).value(), ScheduleChange::fired);
  EXPECT_EQ(scheduled_->reschedule(MessageId{"never"}, now() + 1h).value(), ScheduleChange::unknown);
  EXPECT_THAT(scheduled_->reschedule(MessageId{"far"}, now() + farthestDelivery + 1h),
              failsWith(Errc::invalidArgument));
}

TEST_P(ScheduledChanges, ManyAreListedInOrderAndChosenByGroupAndTime) {
  std::vector<NewMessage> many;
  const WallTime first = now() + 1h;
  for (int i = 0; i < 200; ++i) many.push_back(timed("m-" + std::to_string(i), first + std::chrono::seconds{i}));
  many[7].group = GroupId{"other"};
  ASSERT_THAT(send(many), succeeds());

  const std::vector<std::string> all = waiting();
  ASSERT_EQ(all.size(), many.size());
  for (std::size_t i = 0; i < many.size(); ++i) EXPECT_EQ(all[i], many[i].id.value);
  EXPECT_THAT(waiting({.group = GroupId{"other"}}), ElementsAre("m-7"));
  EXPECT_THAT(waiting({.dueBefore = first + 2s}), ElementsAre("m-0", "m-1"));
}

// shows: safety/message-time-cancellation
TEST_P(ScheduledChanges, AHandlersCancellationComesWithItsCommit) {
  ASSERT_THAT(send({timed("timeout", now() + 1h)}), succeeds());
  auto transaction = begin();
  ASSERT_THAT(transaction->put("o-1", "paid"), succeeds());
  EXPECT_EQ(transaction->cancelScheduled(MessageId{"timeout"}).value(), ScheduleChange::done);
  EXPECT_EQ(transaction->cancelScheduled(MessageId{"timeout"}).value(), ScheduleChange::unknown);
  ASSERT_THAT(transaction->commit(), succeeds());

  EXPECT_THAT(waiting(), IsEmpty());
  EXPECT_EQ(begin()->cancelScheduled(MessageId{"timeout"}).value(), ScheduleChange::unknown);
}

// shows: safety/message-time-cancellation
TEST_P(ScheduledChanges, AHandlersCancellationIsUndoneWithItsTransaction) {
  ASSERT_THAT(send({timed("timeout", now() + 1h)}), succeeds());
  begin()->cancelScheduled(MessageId{"timeout"}).value();
  EXPECT_THAT(waiting(), ElementsAre("timeout"));

  auto transaction = begin();
  ASSERT_THAT(transaction->mark(), succeeds());
  transaction->cancelScheduled(MessageId{"timeout"}).value();
  ASSERT_THAT(transaction->rollbackToMark(), succeeds());
  ASSERT_THAT(transaction->put("k", "v"), succeeds());
  ASSERT_THAT(transaction->commit(), succeeds());
  EXPECT_THAT(waiting(), ElementsAre("timeout"));
}

// shows: scheduled/message-has-effect
TEST_P(ScheduledChanges, AHandlerSchedulesReschedulesAndIsTold) {
  const WallTime at = now() + 1h;
  auto transaction = begin();
  ASSERT_THAT(transaction->enqueue(timed("timeout", at)), succeeds());
  EXPECT_THAT(transaction->enqueue(timed("timeout", at)), succeeds());
  EXPECT_THAT(transaction->enqueue(timed("timeout", at + 1h)), failsWith(Errc::alreadyScheduled));
  EXPECT_THAT(waiting(), IsEmpty());
  ASSERT_THAT(transaction->commit(), succeeds());
  EXPECT_THAT(waiting(), ElementsAre("timeout"));

  transaction = begin();
  EXPECT_EQ(transaction->reschedule(MessageId{"timeout"}, at + 2h).value(), ScheduleChange::done);
  EXPECT_EQ(transaction->reschedule(MessageId{"never"}, at).value(), ScheduleChange::unknown);
  ASSERT_THAT(transaction->commit(), succeeds());
  EXPECT_EQ(nextTime("timeout"), std::to_string((at + 2h).time_since_epoch().count()));
}

TEST_P(ScheduledChanges, RunsNowByTheStoresClock) {
  ASSERT_THAT(send({timed("waits", now() + 1h)}), succeeds());
  EXPECT_EQ(scheduled_->runNow(MessageId{"waits"}).value(), ScheduleChange::done);
  EXPECT_THAT(idsOf(await()), ElementsAre("waits"));
}

TEST_P(ScheduledChanges, AHandlerIsToldThatAMessageHasCome) {
  ASSERT_THAT(send({timed("due", now() - 1s)}), succeeds());
  ASSERT_THAT(idsOf(await()), ElementsAre("due"));

  auto transaction = begin();
  EXPECT_EQ(transaction->cancelScheduled(MessageId{"due"}).value(), ScheduleChange::fired);
  EXPECT_EQ(transaction->reschedule(MessageId{"due"}, now() + 1h).value(), ScheduleChange::fired);
  EXPECT_THAT(transaction->enqueue(timed("due", now() + 1h)), failsWith(Errc::alreadyDone));
}

}  // namespace
}  // namespace tenure::test
