/// What the helper makes of a candidate's last will, and what it never does.
#include "career/last_will/last_will_machine.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tenure::last_will {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr BootTime t0{1h};
constexpr WillMade resigns{{10s, true}};
constexpr WillMade standsBy{{10s, false}};

LastWillMachine holding(const WillMade& will) {
  LastWillMachine helper;
  EXPECT_THAT(helper.on(will, t0), IsEmpty());
  return helper;
}

LastWillMachine connectedAfter(const CandidateGone& death, const WillMade& will = resigns) {
  LastWillMachine helper = holding(will);
  EXPECT_THAT(helper.on(death, t0), ElementsAre(Action::connect));
  return helper;
}

TEST(LastWillMachine, ADeadLeadersTermIsResignedAndItsSessionClosed) {
  LastWillMachine helper = connectedAfter(CandidateGone{});

  EXPECT_THAT(helper.on(Connected{}, t0), ElementsAre(Action::resign));
  EXPECT_THAT(helper.on(Resigned{}, t0), ElementsAre(Action::close));
  EXPECT_THAT(helper.on(Closed{}, t0), ElementsAre(Action::end));
}

TEST(LastWillMachine, ADeadStandbysSessionIsClosed) {
  LastWillMachine helper = connectedAfter(CandidateGone{}, standsBy);

  EXPECT_THAT(helper.on(Connected{}, t0), ElementsAre(Action::close));
}

TEST(LastWillMachine, DoesNotConnectWhileTheCandidateLives) {
  LastWillMachine helper = holding(resigns);

  EXPECT_THAT(helper.on(LineEnded{}, t0), IsEmpty());
  EXPECT_THAT(helper.on(Tick{}, t0 + 19s), IsEmpty());
  EXPECT_THAT(helper.on(CandidateGone{}, t0 + 19s), ElementsAre(Action::connect));
}

TEST(LastWillMachine, ALineThatEndedForGoodIsNotWatchedForEver) {
  LastWillMachine helper = holding(resigns);
  helper.on(LineEnded{}, t0);

  EXPECT_EQ(helper.wakeAt(), t0 + 20s);
  EXPECT_THAT(helper.on(Tick{}, t0 + 20s), ElementsAre(Action::end));
}

TEST(LastWillMachine, DismissedItEndsAndNothingElse) {
  LastWillMachine helper = holding(resigns);

  EXPECT_THAT(helper.on(Dismissed{}, t0), ElementsAre(Action::end));
  EXPECT_THAT(helper.on(CandidateGone{}, t0), IsEmpty());
}

TEST(LastWillMachine, WithoutAWillThereIsNothingToDo) {
  LastWillMachine never;
  EXPECT_THAT(never.on(CandidateGone{}, t0), ElementsAre(Action::end));

  LastWillMachine revoked = holding(resigns);
  revoked.on(WillRevoked{}, t0);
  EXPECT_THAT(revoked.on(CandidateGone{}, t0), ElementsAre(Action::end));
}

TEST(LastWillMachine, TheLastWillCounts) {
  LastWillMachine helper = holding(resigns);
  helper.on(standsBy, t0);
  helper.on(CandidateGone{}, t0);

  EXPECT_THAT(helper.on(Connected{}, t0), ElementsAre(Action::close));
}

TEST(LastWillMachine, WaitsForTheProofThatNothingOfTheTermRuns) {
  LastWillMachine helper = holding(resigns);

  EXPECT_THAT(helper.on(CandidateGone{.awaitsChildren = true}, t0), IsEmpty());
  EXPECT_THAT(helper.on(ChildrenGone{true}, t0 + 1s), ElementsAre(Action::connect));
  EXPECT_THAT(helper.on(Connected{}, t0 + 1s), ElementsAre(Action::resign));
  EXPECT_TRUE(helper.doubt().empty());
}

TEST(LastWillMachine, WithoutThatProofItSaysWhatCouldNotBeProven) {
  LastWillMachine refused = holding(resigns);
  refused.on(CandidateGone{.awaitsChildren = true}, t0);
  refused.on(ChildrenGone{false}, t0);
  EXPECT_THAT(refused.on(Connected{}, t0), ElementsAre(Action::resign));
  EXPECT_THAT(std::string(refused.doubt()), HasSubstr("nobody could prove that its commands are"));

  LastWillMachine silent = holding(resigns);
  silent.on(CandidateGone{.awaitsChildren = true}, t0);
  EXPECT_THAT(silent.on(Tick{}, t0 + LastWillMachine::patience), ElementsAre(Action::connect));
  EXPECT_FALSE(silent.doubt().empty());
}

TEST(LastWillMachine, ACopyOfTheCandidateThatLivesIsADoubt) {
  LastWillMachine helper = connectedAfter(CandidateGone{.copiesLeft = true});

  EXPECT_THAT(helper.on(Connected{}, t0), ElementsAre(Action::resign));
  EXPECT_THAT(std::string(helper.doubt()), HasSubstr("a copy of it may live"));
}

TEST(LastWillMachine, ALostReplyIsAskedForAgain) {
  LastWillMachine helper = connectedAfter(CandidateGone{});
  helper.on(Connected{}, t0);

  EXPECT_THAT(helper.on(Resigned{.replyLost = true}, t0 + 1s), IsEmpty());
  EXPECT_THAT(helper.on(Connected{}, t0 + 2s), ElementsAre(Action::resign));
}

TEST(LastWillMachine, AStandbysSessionThatIsOverNeedsNobody) {
  LastWillMachine helper = connectedAfter(CandidateGone{}, standsBy);

  EXPECT_THAT(helper.on(SessionOver{}, t0), ElementsAre(Action::end));
}

// A short timeout is over before the commands are.
TEST(LastWillMachine, AnEndThatIsProvenIsWrittenThoughTheSessionIsOver) {
  LastWillMachine helper = connectedAfter(CandidateGone{});

  EXPECT_THAT(helper.on(SessionOver{}, t0), ElementsAre(Action::connectAnew));
  EXPECT_THAT(helper.on(Connected{}, t0 + 1s), ElementsAre(Action::resign));
  EXPECT_THAT(helper.on(Resigned{}, t0 + 1s), ElementsAre(Action::close));
}

TEST(LastWillMachine, AnEndThatIsNotProvenIsLeftToTheBarrierWhenTheSessionIsOver) {
  LastWillMachine helper = connectedAfter(CandidateGone{.copiesLeft = true});

  EXPECT_THAT(helper.on(SessionOver{}, t0), ElementsAre(Action::end));
}

TEST(LastWillMachine, DoesNotWaitForASessionThatMustHaveExpired) {
  LastWillMachine helper = connectedAfter(CandidateGone{});

  EXPECT_EQ(helper.wakeAt(), t0 + 20s);
  EXPECT_THAT(helper.on(Tick{}, t0 + 20s), ElementsAre(Action::connectAnew));
}

TEST(LastWillMachine, GivesUpInTheEnd) {
  LastWillMachine helper = connectedAfter(CandidateGone{});
  helper.on(Tick{}, t0 + 20s);

  EXPECT_EQ(helper.wakeAt(), t0 + 20s + LastWillMachine::anewLimit);
  EXPECT_THAT(helper.on(Tick{}, helper.wakeAt()), ElementsAre(Action::end));
}

}  // namespace
}  // namespace tenure::last_will
