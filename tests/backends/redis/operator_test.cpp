// What operators see and do; the conformance suite asks the rest of every backend.
#include "scene.hpp"

namespace tenure::test {
namespace {

using testing::IsEmpty;

TEST(Operator, SeesNoQueueWhereThereIsNone) {
  redis::Options options = RedisWorld().options();
  options.queue = "nobody-made-it";

  EXPECT_THAT(redis::openAdmin(options)->stats(), failsWith(Errc::notFound));
  EXPECT_THAT(redis::openAdmin(options)->deadLetters(1), failsWith(Errc::notFound));
}

TEST(Operator, PurgesAllOfMany) {
  RedisWorld world;
  Leader leader(world.options(), TestTerm(7));
  ASSERT_THAT(leader.claim(), succeeds());
  const auto transaction = leader.begin();
  for (int i = 0; i < 250; ++i) {
    DeadLetter letter = letterOf({});
    letter.message.id = MessageId{std::to_string(i)};
    ASSERT_THAT(transaction->deadLetter(ledger, letter), succeeds());
  }
  ASSERT_THAT(transaction->commit(), succeeds());
  const auto admin = redis::openAdmin(world.options());

  EXPECT_EQ(admin->purgeDeadLetters({}).value().size(), 250U);

  EXPECT_THAT(admin->deadLetters().value(), IsEmpty());
}

}  // namespace
}  // namespace tenure::test
