/// For whom a run stands, and who takes its place when it does not come.
#include "consumer/supply/coalescer.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tenure::supply {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

class CoalescerTest : public testing::Test {
 protected:
  /// The next message of the source; whether it goes on.
  bool read(const std::string& group, const std::string& body = "refresh") {
    Message message;
    message.id.value = group + std::to_string(++position);
    message.group.value = group;
    message.body = body;
    message.position = position;
    if (!key.empty()) message.headers = {{"key", key}};
    std::vector<Message> page{message};
    sieve->sift(page, {});
    if (page.empty()) return false;
    waiting.push_back(page.front());
    return true;
  }
  /// Takes the first one that waits, and drops it without a run.
  std::vector<Message> drop() {
    const Message message = waiting.front();
    waiting.erase(waiting.begin());
    sieve->begins(message);
    const auto successor = sieve->finish(message, false).successor;
    return successor ? std::vector{*successor} : std::vector<Message>{};
  }
  /// How many the first one stands for, and is done with.
  std::size_t run() {
    const Message message = waiting.front();
    waiting.erase(waiting.begin());
    sieve->begins(message);
    const Coalescer::End end = sieve->finish(message, true);
    EXPECT_FALSE(end.successor);
    return end.others.size();
  }

  std::string key;
  std::optional<Coalescer> sieve{std::in_place, "", 100'000};
  std::vector<Message> waiting;
  std::int64_t position = 0;
};

TEST_F(CoalescerTest, TheFirstStandsForThoseThatFollow) {
  EXPECT_TRUE(read("a"));
  EXPECT_FALSE(read("a"));
  EXPECT_TRUE(read("b"));
  EXPECT_FALSE(read("a"));

  EXPECT_EQ(run(), 2U);
  EXPECT_EQ(run(), 0U);
}

TEST_F(CoalescerTest, OnceItHasBegunItStandsForNobodyElse) {
  read("a");
  sieve->begins(waiting.front());

  EXPECT_TRUE(read("a"));

  EXPECT_EQ(run(), 0U);
}

TEST_F(CoalescerTest, WhoTakesADroppedOnesPlaceIsAsItCameAndStandsForTheOthers) {
  read("a", "first");
  read("a", "second");
  read("a", "third");

  waiting = drop();

  ASSERT_THAT(waiting, SizeIs(1));
  EXPECT_EQ(waiting[0].id.value, "a2");
  EXPECT_EQ(waiting[0].body, "second");
  EXPECT_EQ(run(), 1U);
}

TEST_F(CoalescerTest, AnHeirStandsForWhatComesUnlessAnotherOfItsGroupCameBetween) {
  sieve.emplace("key", 100'000);
  key = "all";
  read("a");
  read("a");
  waiting = drop();
  EXPECT_FALSE(read("a"));
  EXPECT_EQ(run(), 1U);

  read("a");
  read("a");
  key = "other";
  EXPECT_TRUE(read("a"));
  waiting = drop();
  key = "all";
  EXPECT_TRUE(read("a"));
}

TEST_F(CoalescerTest, BehindItsHeirsItsOthersHaveToBeReadAgain) {
  for (std::size_t i = 0; i < Coalescer::mostSuccessors + 2; ++i) read("a");

  for (std::size_t i = 0; i < Coalescer::mostSuccessors; ++i) {
    waiting = drop();
    ASSERT_THAT(waiting, SizeIs(1));
  }

  const Coalescer::End end = sieve->finish(waiting.front(), false);
  EXPECT_TRUE(end.leavesStubs);
  EXPECT_FALSE(end.successor);
}

TEST_F(CoalescerTest, HeirsThatAreTooLargeAreNotKept) {
  read("a");
  for (std::size_t bytes = 0; bytes <= Coalescer::mostSuccessorBytes; bytes += 1U << 20U)
    read("a", std::string(1U << 20U, 'x'));
  read("b");
  read("b", std::string(1U << 20U, 'x'));
  run();

  EXPECT_TRUE(sieve->finish(waiting.front(), false).leavesStubs) << "what the first ones kept was too much for it";
}

}  // namespace
}  // namespace tenure::supply
