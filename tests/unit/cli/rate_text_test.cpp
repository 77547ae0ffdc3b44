#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/options/flow_options.hpp"

namespace tenure::cli {
namespace {

using testing::HasSubstr;

TEST(RateText, IsACountATimeAndABurst) {
  EXPECT_EQ(*parseRate("500/s:50"), (Rate{500, 50}));
  EXPECT_EQ(*parseRate("90/m:3"), (Rate{1.5, 3}));
  EXPECT_EQ(*parseRate("unlimited"), std::nullopt);
}

TEST(RateText, WithoutABurstThatOfASecond) {
  EXPECT_EQ(*parseRate("500/s"), (Rate{500, 500}));
  EXPECT_EQ(*parseRate("36/h"), (Rate{0.01, 1}));
}

TEST(RateText, AnythingElseIsRefused) {
  for (const char* text :
       {"", "5", "/s", "5/", "5/d", "x/s", "5/s:", "5/s:x", "-1/s", "0/s", "5/s:0", "1e3/s", "5/s:5 "})
    EXPECT_FALSE(parseRate(text)) << text;
}

TEST(LimitsFile, NamesTheQueueEachGroupAndSome) {
  const auto rules =
      parseLimits("# the shop\n\n  queue 500/s:50\r\ngroup * 5/s\ngroup tenant 7\t1/m:3\ngroup free unlimited", {});

  ASSERT_TRUE(rules) << rules.error().message();
  EXPECT_EQ(rules->queue, (Rate{500, 50}));
  EXPECT_EQ(rules->eachGroup, (Rate{5, 5}));
  EXPECT_EQ(rules->groups.at(GroupId{"tenant 7"}), (Rate{1.0 / 60, 3}));
  EXPECT_EQ(rules->groups.at(GroupId{"free"}), std::nullopt);
}

TEST(LimitsFile, WinsWhereItSaysSomething) {
  const RateRules given{.queue = Rate{1, 1}, .eachGroup = Rate{2, 2}};

  const auto rules = parseLimits("queue unlimited\n", given);

  EXPECT_EQ(rules->queue, std::nullopt);
  EXPECT_EQ(rules->eachGroup, (Rate{2, 2}));
}

TEST(LimitsFile, SaysWhichLineIsWrong) {
  for (const char* wrong : {"queue", "queue fast", "group 5/s", "group\t 5/s", "groups a 5/s", "5/s"}) {
    const auto rules = parseLimits(std::string("queue 1/s\n") + wrong, {});
    ASSERT_FALSE(rules) << wrong;
    EXPECT_THAT(rules.error().detail, HasSubstr("line 2: ")) << wrong;
  }
}

}  // namespace
}  // namespace tenure::cli
