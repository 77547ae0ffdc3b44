/// When store or source fail, or do not answer.
#include "consumer/outages.hpp"

#include "parts.hpp"

namespace tenure::consuming {
namespace {

using testing::SizeIs;

class OutagesTest : public PartTest {
 protected:
  Outages& outages() {
    if (!outages_) outages_.emplace(at(), Random{1});
    return *outages_;
  }

 private:
  std::optional<Outages> outages_;
};

TEST_F(OutagesTest, AFailureIsToldOnceAndTriedAgainLater) {
  EXPECT_TRUE(outages().failed(Side::store, Errc::unavailable, now));
  EXPECT_TRUE(outages().failed(Side::store, Errc::unavailable, now));

  EXPECT_THAT(told<OutageBegan>(), SizeIs(1));
  EXPECT_TRUE(outages().storeIsAway());
  EXPECT_EQ(outages().failingSince(Side::source), std::nullopt);
  EXPECT_GT(outages().notBefore(), now.boot);
}

// shows: operations/begun-finished-committed
TEST_F(OutagesTest, APauseInWhichNobodyAsksDoesNotCount) {
  outages().failed(Side::source, Errc::unavailable, now);
  now.boot += 24h;
  outages().restart(now);

  EXPECT_TRUE(outages().failed(Side::source, Errc::unavailable, now));
  now.boot += options.outageLimit;
  EXPECT_FALSE(outages().failed(Side::source, Errc::unavailable, now));
}

TEST_F(OutagesTest, OnlyTheSideThatFailedEndsIt) {
  outages().failed(Side::source, Errc::unavailable, now);

  outages().wentWell(Side::store, now);
  EXPECT_TRUE(outages().any());
  now.boot += 2s;
  outages().wentWell(Side::source, now);

  ASSERT_THAT(told<OutageEnded>(), SizeIs(1));
  EXPECT_EQ(told<OutageEnded>()[0].lasted, 2s);
}

TEST_F(OutagesTest, OneThatLastsTooLongEndsTheTermCountedFromTheFirstMissingAnswer) {
  now.storeOwesSince = now.boot;
  now.boot += 9s;
  EXPECT_TRUE(outages().failed(Side::store, Errc::timedOut, now));
  now.boot += 1s;

  EXPECT_FALSE(outages().failed(Side::store, Errc::unavailable, now));
}

// shows: operations/outage-leader-stays
TEST_F(OutagesTest, OneThatLastsTooLongIsBorneWhereAStandbyCanRelieveTheLeader) {
  now.hasRelief = true;
  EXPECT_TRUE(outages().failed(Side::store, Errc::unavailable, now));
  EXPECT_FALSE(outages().isLong(Side::store));
  now.boot += options.outageLimit;

  EXPECT_TRUE(outages().failed(Side::store, Errc::unavailable, now));

  EXPECT_TRUE(outages().isLong(Side::store));
  EXPECT_FALSE(outages().isLong(Side::source));
  outages().wentWell(Side::store, now);
  EXPECT_FALSE(outages().isLong(Side::store));
}

TEST_F(OutagesTest, OneThatLastsTooLongAsksForReliefWhereAnotherLeaderMightReachTheServer) {
  now.hasRelief = true;
  outages().failed(Side::store, Errc::unavailable, now);
  EXPECT_FALSE(outages().takeReliefWish()) << "not beyond the limit";
  now.boot += options.outageLimit;

  outages().failed(Side::store, Errc::storeBusy, now);
  EXPECT_FALSE(outages().takeReliefWish()) << "it is busy for others as well";
  outages().failed(Side::store, Errc::unavailable, now);
  EXPECT_TRUE(outages().takeReliefWish());
  EXPECT_FALSE(outages().takeReliefWish()) << "once a failure";
  outages().failed(Side::store, Errc::unavailable, now);
  outages().wentWell(Side::store, now);
  EXPECT_FALSE(outages().takeReliefWish());
}

TEST_F(OutagesTest, OneThatLastsTooLongEndsATermThatIsToEnd) {
  now.hasRelief = true;
  outages().failed(Side::store, Errc::unavailable, now);
  now.boot += options.outageLimit;
  now.stopAsked = true;

  EXPECT_FALSE(outages().failed(Side::store, Errc::unavailable, now));
}

TEST_F(OutagesTest, AnAnswerThatIsOnlyLateIsToldAndEndsNothing) {
  outages().overdue(Side::store, now.boot - 2s, now);
  EXPECT_FALSE(outages().storeIsAway());
  now.boot += 1min;
  outages().answeredLate(Side::store, now);

  EXPECT_EQ(told<OutageBegan>()[0].error, "the store has not answered for 2s");
  EXPECT_EQ(told<OutageEnded>()[0].lasted, 62s);
}

TEST_F(OutagesTest, AnAnswerThatWasOverdueAndNeverComesIsOneOutage) {
  now.storeOwesSince = now.boot - 2s;
  outages().overdue(Side::store, *now.storeOwesSince, now);
  now.boot += 2s;
  outages().failed(Side::store, Errc::timedOut, now);
  outages().answeredLate(Side::store, now);

  EXPECT_THAT(told<OutageBegan>(), SizeIs(1));
  EXPECT_EQ(outages().failingSince(Side::store), now.storeOwesSince);
}

}  // namespace
}  // namespace tenure::consuming
