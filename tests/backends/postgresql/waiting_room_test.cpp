// The reader of a waiting room: one that was frozen, and one beside a snapshot that stays open.
#include "backends/postgresql/rows/waiting_room.hpp"

#include "backends/postgresql/rows/schema.hpp"
#include "backends/postgresql/session/connection.hpp"
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

/// A reader that works beside a transaction that stays open, for which each row that is gone is kept as a dead entry of
/// the index.
class BesideATransaction : public testing::Test {
 protected:
  static constexpr int together = 10'000;
  explicit BesideATransaction(std::string others) : others_(std::move(others)) {}

  void SetUp() override {
    ASSERT_THAT(leader_.claim(), succeeds());
    ASSERT_THAT(leader_.database.source().attach(leader_.term), succeeds());
    const std::int64_t queue = findQueue(*connection_, whichQueue(options_)).value();
    room_.attach(connection_.get(), {queue, channelOf(*connection_, queue).value()}, leader_.term->identity());
    other_.ask("CREATE TABLE other(n int)");
    other_.ask(others_);
  }
  std::size_t promoteAll() {
    const auto promoted = room_.promote(room_.look().value().now, 1000);
    EXPECT_THAT(promoted, succeeds());
    return promoted ? promoted->messages : 0;
  }
  void sendAndConsume() {
    const std::string many = std::to_string(together);
    ASSERT_THAT(connection_->run("INSERT INTO tenure_waiting(queue, body) SELECT '" + options_.queue +
                                 "', 'body' FROM generate_series(1, " + many + ")"),
                succeeds());
    for (std::size_t came = 0; came < together && !HasFailure();) came += promoteAll();
    ASSERT_THAT(connection_->run("DELETE FROM tenure_message"), succeeds());
  }
  /// How much of the index one look reads.
  std::int64_t blocksOfALook() {
    const std::int64_t before = blocksRead();
    for (int i = 0; i < 10; ++i) EXPECT_THAT(room_.look(), succeeds());
    return (blocksRead() - before) / 10;
  }

 private:
  std::int64_t blocksRead() {
    EXPECT_THAT(connection_->run("SELECT pg_stat_force_next_flush()"), succeeds());
    return connection_
        ->ask(
            "SELECT idx_blks_read + idx_blks_hit FROM pg_statio_user_indexes"
            " WHERE indexrelid = 'tenure_waiting_due'::regclass")
        .value()
        .integer(0, 0);
  }

  test::PostgresWorld world_;
  const Options options_ = world_.options();
  Leader leader_{options_, 7};
  const std::unique_ptr<Connection> connection_ = Connection::open(options_, "reader").value();
  WaitingRoom room_{options_};

 protected:
  test::PostgresSession other_ = world_.session();

 private:
  const std::string others_;
};

struct BesideASnapshot : BesideATransaction {
  BesideASnapshot()
      : BesideATransaction("BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM tenure_waiting") {}
};
struct BesideAWriter : BesideATransaction {
  BesideAWriter() : BesideATransaction("BEGIN; INSERT INTO other VALUES(1)") {}
};
/// A sender's transaction has drawn a place, and commits after senders that drew later places.
struct BesideASender : BesideATransaction {
  BesideASender() : BesideATransaction("BEGIN; INSERT INTO tenure_waiting(queue, body) VALUES('orders', 'late')") {}
};

// shows: send/behind-snapshot-stays
TEST_F(BesideAWriter, ALookReadsAsLittleAfterManyMessagesAsAfterTheFirst) {
  sendAndConsume();
  const std::int64_t first = blocksOfALook();

  for (int i = 0; i < 3; ++i) ASSERT_NO_FATAL_FAILURE(sendAndConsume());

  EXPECT_LE(blocksOfALook(), 3 * first);
}

TEST_F(BesideASender, ItsMessageIsSeenByTheLookAfterItsCommit) {
  for (int i = 0; i < 2; ++i) ASSERT_NO_FATAL_FAILURE(sendAndConsume());
  ASSERT_EQ(promoteAll(), 0U);

  other_.ask("COMMIT");

  EXPECT_EQ(promoteAll(), 1U);
}

/// TENURE_SENT=2000000 is the long form.
// shows: send/behind-snapshot-stays
TEST_F(BesideASnapshot, ALookReadsAsLittleAfterManyMessagesAsAfterTheFirst) {
  const char* asked = std::getenv("TENURE_SENT");
  const int messages = asked == nullptr ? 200'000 : std::atoi(asked);
  sendAndConsume();
  const std::int64_t first = blocksOfALook();
  EXPECT_GT(first, 0);

  for (int sent = together; sent < messages; sent += together) ASSERT_NO_FATAL_FAILURE(sendAndConsume());

  const std::int64_t last = blocksOfALook();
  RecordProperty("blocks", std::to_string(first) + " " + std::to_string(last));
  std::printf("blocks a look: %ld after the first %d messages, %ld after %d\n", first, together, last, messages);
  EXPECT_LE(last, 3 * first);
}

}  // namespace
}  // namespace tenure::postgresql
