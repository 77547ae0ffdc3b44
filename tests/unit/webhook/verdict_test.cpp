/// What the end of a call means for its message, and which hosts are called at all.
#include "webhook/verdict.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "webhook/breaker.hpp"

namespace tenure::webhook {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;
using Kind = Outcome::Kind;

constexpr Patience patience{.retryMax = 5min, .outage = 1h};

Kind kindOf(long status, std::optional<std::chrono::seconds> retryAfter = {}) {
  return judge({.status = status, .retryAfter = retryAfter}, std::nullopt, patience).kind;
}

// shows: webhooks/what-an-answer-means
TEST(Verdict, IsByTheStatus) {
  for (const long status : {200, 201, 202, 204, 299}) EXPECT_EQ(kindOf(status), Kind::done) << status;
  EXPECT_EQ(kindOf(410), Kind::reject);
  for (const long status : {300, 301, 302, 307, 400, 401, 403, 404, 408, 422, 429, 500, 502, 503, 504})
    EXPECT_EQ(kindOf(status), Kind::failed) << status;
}

// shows: webhooks/what-an-answer-means
TEST(Verdict, AnEndpointThatAsksForTimeGetsItWithinALimit) {
  for (const long status : {429, 503}) EXPECT_EQ(kindOf(status, 10s), Kind::retryLater) << status;
  EXPECT_EQ(kindOf(500, 10s), Kind::failed);
  const Response asks{.status = 429, .retryAfter = 10s};
  EXPECT_EQ(judge(asks, std::nullopt, patience).retryAfter, 10s);
  EXPECT_EQ(judge({.status = 429, .retryAfter = 24h}, std::nullopt, patience).retryAfter, 5min);
  EXPECT_EQ(judge({.status = 429, .retryAfter = std::chrono::seconds::max()}, std::nullopt, patience).retryAfter, 5min);
  EXPECT_EQ(judge({.status = 503, .retryAfter = 0s}, std::nullopt, patience).retryAfter, 100ms);
}

// shows: webhooks/away-spends-no-attempt
TEST(Verdict, WhereNobodyIsReachedNoAttemptCountsUntilItIsTooLong) {
  const Response away{.end = Response::End::away, .why = "not connected in time"};

  EXPECT_EQ(judge(away, std::nullopt, patience).kind, Kind::retryLater);
  EXPECT_EQ(judge(away, std::nullopt, patience).retryAfter, 1s);
  EXPECT_EQ(judge(away, 20s, patience).retryAfter, 10s);
  EXPECT_EQ(judge(away, 59min, patience).kind, Kind::retryLater);
  EXPECT_EQ(judge(away, 59min, patience).retryAfter, 1min);
  EXPECT_EQ(judge(away, 1h, patience).kind, Kind::failed);
  EXPECT_EQ(judge({.status = 429, .retryAfter = 1s}, 1h, patience).kind, Kind::failed);
}

TEST(Verdict, AReasonHasTheStatusAndTheBeginningOfTheAnswer) {
  EXPECT_EQ(judge({.status = 500, .body = "out of paper"}, std::nullopt, patience).reason, "status 500: out of paper");
  EXPECT_THAT(judge({.status = 302}, std::nullopt, patience).reason, HasSubstr("not followed"));
}

class BreakerTest : public testing::Test {
 protected:
  void failTimes(int times) {
    for (int i = 0; i < times; ++i) breaker.failed("https://a.example:443", false, now);
  }
  bool mayCall(const std::string& origin = "https://a.example:443") { return !breaker.ask(origin, now).wait; }

  BootTime now{1h};
  Breaker breaker;
};

// shows: webhooks/one-dead-endpoint
TEST_F(BreakerTest, AHostThatCannotBeReachedIsTriedByOneCallAtATime) {
  failTimes(2);
  EXPECT_TRUE(mayCall());
  failTimes(1);
  EXPECT_FALSE(mayCall());
  EXPECT_TRUE(mayCall("https://b.example:443"));
  now += 10s;

  EXPECT_TRUE(mayCall());
  EXPECT_FALSE(mayCall()) << "one tries it already";
  breaker.reached("https://a.example:443");
  EXPECT_TRUE(mayCall());
  EXPECT_TRUE(mayCall());
}

TEST_F(BreakerTest, AProbeThatWasCutLeavesItsPlaceToTheNext) {
  failTimes(3);
  now += 10s;
  ASSERT_TRUE(mayCall());

  breaker.gaveUp("https://a.example:443", true);

  EXPECT_TRUE(mayCall());
}

TEST_F(BreakerTest, CallsFromBeforeTheOutageLeaveTheProbeItsPlace) {
  failTimes(3);
  now += 10s;
  ASSERT_TRUE(breaker.ask("https://a.example:443", now).isProbe);

  breaker.failed("https://a.example:443", false, now);
  breaker.gaveUp("https://a.example:443", false);
  now += 9s;

  EXPECT_FALSE(mayCall()) << "one tries it still";
}

}  // namespace
}  // namespace tenure::webhook
