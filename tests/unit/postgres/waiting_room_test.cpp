// A leader that was frozen between its look at what waits and its commit.
#include "backends/postgresql/waiting_room.hpp"

#include "backends/postgresql/connection.hpp"
#include "backends/postgresql/schema.hpp"
#include "leading.hpp"

namespace tenure::postgresql {
namespace {

using namespace std::chrono_literals;
using test::failsWith;
using test::succeeds;

TEST(FrozenReader, BringsNothingAfterItsSuccessor) {
  test::PostgresWorld world;
  const Options options = world.options();
  Leader former(options, 7);
  ASSERT_THAT(former.claim(), succeeds());
  ASSERT_THAT(former.database.source().attach(former.term), succeeds());
  const WallTime now = systemClock().wallNow();
  const NewMessage message{.id = MessageId{"due"}, .body = "body", .deliverAt = now - 1s};
  ASSERT_THAT(world.sink()->append({&message, 1}), succeeds());
  const std::unique_ptr<Connection> connection = Connection::open(options, "frozen").value();
  const std::int64_t queue = findQueue(*connection, whichQueue(options)).value();
  WaitingRoom frozen(options);
  frozen.attach(connection.get(), {queue, channelOf(*connection, queue).value()}, former.term->identity());
  const auto front = frozen.look().value();
  ASSERT_TRUE(front.due);

  Leader next(options, 8);
  ASSERT_THAT(next.claim(), succeeds());
  ASSERT_THAT(next.database.source().attach(next.term), succeeds());

  EXPECT_THAT(frozen.promote(front.now, 1000), failsWith(Errc::staleTerm));
  EXPECT_THAT(next.database.source().fetch(10, BootClock::now(), {}).value(), testing::SizeIs(1));
}

}  // namespace
}  // namespace tenure::postgresql
