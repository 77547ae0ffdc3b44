// A leader that was frozen between its look at what waits and its commit.
#include "backends/sqlite/waiting_room.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "backends/sqlite/schema.hpp"
#include "support/results.hpp"
#include "support/sqlite_world.hpp"
#include "support/terms.hpp"

namespace tenure::sqlite {
namespace {

using namespace std::chrono_literals;
using test::failsWith;
using test::Replica;
using test::succeeds;
using test::TestTerm;

// shows: send/former-leader-brings, scheduled/leader-brings-nothing
TEST(FrozenReader, BringsNothingAfterItsSuccessor) {
  test::SqliteWorld world;
  const TestTerm first{7};
  const TestTerm second{8};
  Replica former = world.open();
  ASSERT_THAT(former.store->claim(first), succeeds());
  ASSERT_THAT(former.source->attach(first), succeeds());
  const WallTime now = systemClock().wallNow();
  const NewMessage message{.id = MessageId{"due"}, .body = "body", .deliverAt = now - 1s};
  ASSERT_THAT(world.sink()->append({&message, 1}), succeeds());
  std::shared_ptr<Connection> connection = Connection::open(world.options()).value();
  const std::int64_t queue = findQueue(*connection, whichQueue(world.options())).value();
  WaitingRoom frozen;
  frozen.attach(connection, queue, world.options().queue, first->identity());
  const auto front = frozen.look().value();
  ASSERT_TRUE(front.due);

  Replica next = world.open();
  ASSERT_THAT(next.store->claim(second), succeeds());
  ASSERT_THAT(next.source->attach(second), succeeds());

  EXPECT_THAT(frozen.promote(front.now, 1000), failsWith(Errc::staleTerm));
  EXPECT_THAT(next.source->fetch(10, BootClock::now(), {}).value(), testing::SizeIs(1));
}

}  // namespace
}  // namespace tenure::sqlite
