// A queue that an earlier version has left is told as such, and nothing of it is read or changed.
#include "scene.hpp"
#include "support/findings.hpp"

namespace tenure::test {
namespace {

using testing::HasSubstr;

class EarlierLayout : public testing::TestWithParam<std::vector<std::string>> {
 protected:
  void SetUp() override {
    std::vector<std::string> command = GetParam();
    command[1] = world_.key(command[1]);
    world_.server().ask(command);
  }
  template <class Answer>
  static void expectRefused(const Answer& answer) {
    ASSERT_THAT(answer, failsWith(Errc::configurationRefused));
    EXPECT_THAT(answer.error().detail, HasSubstr("written by an earlier version of Tenure"));
  }

  RedisWorld world_;
};

TEST_P(EarlierLayout, IsRefusedToLeadersAndOperators) {
  Leader leader(world_.options(), TestTerm(7));
  const auto admin = redis::openAdmin(world_.options());

  expectRefused(leader.store().prepare({}));
  expectRefused(leader.claim());
  expectRefused(admin->stats());
  expectRefused(admin->fenceRows());
  expectRefused(admin->deadLetters());
  EXPECT_THAT(admin->inspect().value(), finds(Severity::refusal, "queue", "of an earlier version"));
}

INSTANTIATE_TEST_SUITE_P(Redis, EarlierLayout,
                         testing::Values(std::vector<std::string>{"HSET", "fence", "token", "00000000000000000007"},
                                         std::vector<std::string>{"HSET", "queue", "election", "orders", "path", "/"}));

TEST(EarlierQueue, IsRefusedToSourcesAndSinks) {
  RedisWorld world;
  world.server().ask({"HSET", world.key("queue"), "election", "orders", "path", "/"});
  Leader leader(world.options(), TestTerm(7));

  EXPECT_THAT(leader.source().attach(leader.term()), failsWith(Errc::configurationRefused));
  EXPECT_THAT(redis::openSink(world.options()).value()->append(std::vector{newMessage("m")}),
              failsWith(Errc::configurationRefused));

  EXPECT_EQ(world.server().ask({"EXISTS", world.key("messages")}), "0");
}

}  // namespace
}  // namespace tenure::test
