// A message comes to its queue when its time has come: never early, in order, once.
#include "conformance/source/scheduled/scheduled_suite.hpp"

namespace tenure::test {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::Ge;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Optional;

WallTime inYear(int year) { return std::chrono::sys_days{std::chrono::year{year} / 1 / 1}; }

class ScheduledDelivery : public ScheduledSuite {};
INSTANTIATE_TEST_SUITE_P(Backends, ScheduledDelivery, testing::ValuesIn(keepingScheduled()),
                         testing::PrintToStringParamName());

// shows: safety/message-time-comes
TEST_P(ScheduledDelivery, ComesWhenItsTimeHasComeWholeAndNotEarlier) {
  const WallTime at = now() + 150ms;
  ASSERT_THAT(send({timed("later", at, std::string("a\0b", 3))}), succeeds());

  std::vector<Message> messages = look();
  if (now() < at) {
    EXPECT_THAT(messages, IsEmpty());
  }
  if (messages.empty()) messages = await();  // on a slow machine its time has come by the first look

  EXPECT_GE(now(), at);
  ASSERT_THAT(idsOf(messages), ElementsAre("later"));
  EXPECT_EQ(messages[0].body, std::string("a\0b", 3));
  EXPECT_EQ(messages[0].group.value, "group");
  EXPECT_THAT(messages[0].headers, ElementsAre(Headers::value_type("kind", "late")));
  EXPECT_GE(messages[0].enqueuedAt, at);
  EXPECT_THAT(waiting(), IsEmpty());
}

// shows: safety/message-time-comes
TEST_P(ScheduledDelivery, ComesInTheOrderOfItsTimesThenAsItWasAdded) {
  const WallTime at = now() + 1s;  // one whose time has passed when it is sent has none
  ASSERT_THAT(send({timed("3", at), timed("5", at + 2ms), timed("4", at), timed("2", at - 50ms)}), succeeds());
  ASSERT_THAT(send({timed("1", at - 90ms)}), succeeds());

  std::vector<std::string> came;
  while (came.size() < 5)
    for (const std::string& id : idsOf(await())) came.push_back(id);
  EXPECT_THAT(came, ElementsAre("1", "2", "3", "4", "5"));
}

// shows: scheduled/time-past-means
TEST_P(ScheduledDelivery, ATimeInThePastMeansNow) {
  ASSERT_THAT(send({timed("past", now() - 24h), timed("longer past", now() - 48h)}), succeeds());

  EXPECT_THAT(idsOf(await()), ElementsAre("past", "longer past"));
}

TEST_P(ScheduledDelivery, AMessageWithoutATimeDoesNotWaitForOneWithATime) {
  ASSERT_THAT(send({timed("later", now() + 1h), {.id = MessageId{"now"}, .body = "body"}}), succeeds());

  EXPECT_THAT(idsOf(look()), ElementsAre("now"));
  EXPECT_THAT(waiting(), ElementsAre("later"));
}

// shows: safety/message-time-comes
TEST_P(ScheduledDelivery, MoreThanOneTurnTakesComeAllTheSame) {
  std::vector<NewMessage> many;
  for (int i = 0; i < 2500; ++i) many.push_back(timed("m-" + std::to_string(i), now()));
  ASSERT_THAT(send(many), succeeds());

  std::vector<std::string> came;
  while (came.size() < many.size())
    for (const std::string& id : idsOf(await())) came.push_back(id);
  for (std::size_t i = 0; i < many.size(); ++i) ASSERT_EQ(came[i], many[i].id.value);
}

// shows: scheduled/stands-message-same
TEST_P(ScheduledDelivery, TheVerySameAgainIsHarmless) {
  const WallTime at = now() + 1h;
  ASSERT_THAT(send({timed("o-1", at)}), succeeds());
  ASSERT_THAT(send({timed("o-1", at), timed("o-2", at), timed("o-2", at)}), succeeds());

  EXPECT_THAT(waiting(), ElementsAre("o-1", "o-2"));
  EXPECT_EQ(sink_->leftOut(), 2);
}

// shows: scheduled/stands-message-same
TEST_P(ScheduledDelivery, AnotherTimeOrContentIsRefusedWithBothTimesAndNothingIsStored) {
  ASSERT_THAT(send({timed("o-1", inYear(2030))}), succeeds());

  const Result<void> later = send({timed("o-2", now() + 1h), timed("o-1", inYear(2031))});
  ASSERT_THAT(later, failsWith(Errc::alreadyScheduled));
  EXPECT_THAT(later.error().detail, AllOf(HasSubstr("o-1"), HasSubstr("2030-"), HasSubstr("2031-")));
  EXPECT_THAT(send({timed("o-1", inYear(2030), "other")}), failsWith(Errc::alreadyScheduled));

  EXPECT_THAT(waiting(), ElementsAre("o-1"));
}

// shows: scheduled/stands-message-same
TEST_P(ScheduledDelivery, OneThatReplacesTakesTheNewTimeAndContent) {
  ASSERT_THAT(send({timed("o-1", now() + 1h), timed("o-2", now() + 2h)}), succeeds());
  NewMessage other = timed("o-1", now() + 3h, "other");
  other.replacesScheduled = true;
  ASSERT_THAT(send({other}), succeeds());

  EXPECT_THAT(waiting(), ElementsAre("o-2", "o-1"));
  EXPECT_EQ(scheduled_->find(MessageId{"o-1"}).value().value().body, "other");
}

// shows: scheduled/stands-message-same
TEST_P(ScheduledDelivery, OneThatHasComeBeforeIsRefusedUnlessItIsTheSame) {
  const WallTime at = now() - 1h;
  ASSERT_THAT(send({timed("o-1", at)}), succeeds());
  ASSERT_THAT(idsOf(await()), ElementsAre("o-1"));

  EXPECT_THAT(send({timed("o-1", at)}), succeeds());
  EXPECT_THAT(send({timed("o-1", now() + 1h)}), failsWith(Errc::alreadyDone));
  EXPECT_THAT(send({timed("o-1", now() + 1ms)}), failsWith(Errc::alreadyDone)) << "also one that is due at once";
  EXPECT_THAT(waiting(), IsEmpty());
}

// shows: scheduled/time-past-means
TEST_P(ScheduledDelivery, TooFarAheadAndNumberedByItsProducerIsRefused) {
  EXPECT_THAT(send({timed("far", now() + farthestDelivery + 1h)}), failsWith(Errc::invalidArgument));
  NewMessage numbered = timed("numbered", now() + 1h);
  numbered.headers.emplace_back(numberHeader, "1");
  EXPECT_THAT(send({numbered}), failsWith(Errc::invalidArgument));
}

// shows: safety/former-reader-brings, send/former-leader-brings, scheduled/leader-brings-nothing
TEST_P(ScheduledDelivery, AFormerReaderBringsNothingMore) {
  Replica next = world_->open();
  ASSERT_THAT(send({timed("due", now() - 1s)}), succeeds());
  lead(next, TestTerm{8});

  const auto stale = ends_.source->fetch(100, BootClock::now(), {});

  EXPECT_THAT(stale, failsWith(Errc::staleTerm));
  EXPECT_THAT(waiting(), ElementsAre("due"));
  EXPECT_THAT(idsOf(next.source->fetch(100, BootClock::now() + 30s, {}).value()), ElementsAre("due"));
}

// shows: safety/former-reader-brings, scheduled/leader-brings-nothing
TEST_P(ScheduledDelivery, AFormerTermBringsNothingMoreOnceItsSuccessorHasClaimed) {
  Replica next = world_->open();
  ASSERT_THAT(send({timed("due", now() - 1s)}), succeeds());
  ASSERT_THAT(next.store->claim(TestTerm{8}), succeeds());

  EXPECT_THAT(ends_.source->fetch(100, BootClock::now(), {}), failsWith(Errc::staleTerm));
  EXPECT_THAT(waiting(), ElementsAre("due"));
}

// shows: safety/former-reader-brings
TEST_P(ScheduledDelivery, AFormerTermCannotReadTheQueueAgain) {
  Replica next = world_->open();
  lead(next, TestTerm{8});

  EXPECT_THAT(ends_.source->attach(term_), failsWith(Errc::staleTerm));
}

// shows: scheduled/lateness-measured-told
TEST_P(ScheduledDelivery, LatenessIsMeasured) {
  EXPECT_EQ(scheduled_->stats().value().waiting, 0);
  ASSERT_THAT(send({timed("due", now() - 1s), timed("later", now() + 1h)}), succeeds());
  ASSERT_THAT(idsOf(await()), ElementsAre("due"));

  const ScheduledStats stats = scheduled_->stats().value();
  EXPECT_EQ(stats.waiting, 1);
  EXPECT_GT(stats.next.value(), now());
  EXPECT_THAT(stats.lateness, Optional(Ge(0ms)));
}

}  // namespace
}  // namespace tenure::test
