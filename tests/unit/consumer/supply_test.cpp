/// Which lane gets something, and when, beside others that are at work.
#include "consumer/supply.hpp"

#include "consumer/supply/dispatcher.hpp"
#include "consumer/supply/single_line.hpp"
#include "parts.hpp"
#include "support/manual_clock.hpp"

namespace tenure::consuming {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

class SupplyTest : public testing::Test {
 protected:
  void receive(const std::vector<std::string>& ids) {
    std::vector<Message> messages = messagesOf(ids);
    for (Message& message : messages) message.group.value = message.id.value.substr(0, 1);
    dispatcher_.receive(std::move(messages));
  }
  static std::vector<std::string> idsOf(const Supplied& supplied) { return consuming::idsOf(supplied.messages); }
  /// Without waiting.
  std::vector<std::string> taken(std::size_t lane) {
    held_ = dispatcher_.take(lane, 10, clock_.now(), {});
    return idsOf(held_);
  }
  static Report doneOf(const supply::Assignment& assignment) {
    Report report{{.attachment = assignment.attachment, .number = assignment.number, .releases = true}};
    for (const supply::Item& item : assignment.items) report.of.done.push_back({item.place});
    return report;
  }
  /// What was taken last.
  void finish(std::size_t lane) { dispatcher_.report(lane, doneOf(held_.assignment), false); }

  test::ManualClock clock_;
  Supplied held_;
  Supply dispatcher_{std::make_unique<supply::Dispatcher>(
                         supply::Dispatcher::Limits{.messages = 100, .bytes = 1000, .unrecordedWindow = 3}, 3),
                     3, clock_, systemThreads()};
};

TEST_F(SupplyTest, LanesWithStoresOfTheirOwnBeginBesideEachOther) {
  receive({"a1", "b1"});

  EXPECT_THAT(taken(1), ElementsAre("a1"));
  EXPECT_THAT(taken(2), ElementsAre("b1"));
}

// shows: lanes/elsewhere-lane-begins
TEST_F(SupplyTest, WhereTheStoreIsSharedALaneBeginsOnlyBesideThoseThatTakeTheirTime) {
  dispatcher_.serialize();
  receive({"a1", "b1", "c1"});
  ASSERT_THAT(taken(1), ElementsAre("a1"));

  EXPECT_THAT(taken(2), IsEmpty()) << "the first may be through at once";
  clock_.advance(1ms);
  EXPECT_THAT(taken(2), ElementsAre("b1")) << "it is not";
}

TEST_F(SupplyTest, WhereTheStoreIsSharedWhoIsThroughGoesOn) {
  dispatcher_.serialize();
  receive({"a1", "b1"});
  ASSERT_THAT(taken(1), ElementsAre("a1"));
  finish(1);

  EXPECT_THAT(taken(1), ElementsAre("b1"));
  const Supplied beside = held_;
  receive({"a2"});
  EXPECT_THAT(taken(2), IsEmpty());
  dispatcher_.report(1, doneOf(beside.assignment), false);
  EXPECT_THAT(taken(2), ElementsAre("a2")) << "nobody is at work";
}

TEST_F(SupplyTest, WhereAsManyAreCoalescedAsMayBeNoMoreIsRead) {
  Supply line{std::make_unique<supply::SingleLine>(supply::Coalescer("", 1)), 1, clock_, systemThreads()};
  std::vector<Message> alike = messagesOf({"a", "b", "c"});
  for (Message& message : alike) message.group.value = "g";
  alike[2].group.value = "h";
  line.receive(alike);
  const Supplied hand = line.takeNow(0, 10);
  ASSERT_EQ(hand.messages.size(), 2U);

  EXPECT_FALSE(line.report(0, {{.attachment = hand.assignment.attachment}}, false).receipt.mayReadOn);
}

TEST_F(SupplyTest, AssignmentsOfALaneAreCounted) {
  receive({"a1", "b1", "c1"});

  taken(1);
  EXPECT_EQ(held_.assignment.number, 1U);
  taken(2);
  EXPECT_EQ(held_.assignment.number, 1U);
  taken(1);
  EXPECT_EQ(held_.assignment.number, 2U);
}

TEST_F(SupplyTest, AReportOfAnotherAttachmentIsDropped) {
  receive({"a1"});
  taken(1);
  const Supplied before = held_;
  dispatcher_.clear();
  receive({"a1"});
  ASSERT_THAT(taken(1), ElementsAre("a1"));

  EXPECT_THAT(dispatcher_.report(1, doneOf(before.assignment), false).done, IsEmpty());
  EXPECT_FALSE(dispatcher_.isEmpty());
  EXPECT_THAT(dispatcher_.report(1, doneOf(held_.assignment), false).done, SizeIs(1));
  EXPECT_TRUE(dispatcher_.isEmpty());
}

// shows: lanes/elsewhere-lane-begins
TEST_F(SupplyTest, WhoWaitsForHisTurnGetsItWhenALaneTurnsOutToBeSlow) {
  Supply dispatcher{std::make_unique<supply::Dispatcher>(
                        supply::Dispatcher::Limits{.messages = 100, .bytes = 1000, .unrecordedWindow = 3}, 3),
                    3, systemClock(), systemThreads()};
  dispatcher.serialize();
  dispatcher.receive(messagesOf({"0", "1"}));
  ASSERT_THAT(idsOf(dispatcher.take(1, 1, systemClock().now(), {})), ElementsAre("0"));

  EXPECT_THAT(idsOf(dispatcher.take(2, 1, systemClock().now() + 1h, {})), ElementsAre("1"));
}

}  // namespace
}  // namespace tenure::consuming
