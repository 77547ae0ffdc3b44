// What the next in line finds out about its server before it is elected.
#include <gmock/gmock.h>

#include "leading.hpp"
#include "support/results.hpp"
#include "support/tcp_proxy.hpp"

namespace tenure::postgresql {
namespace {

using test::failsWith;
using test::PostgresWorld;
using test::succeeds;
using testing::HasSubstr;

// shows: operations/standby-looks-credentials, messages/rights-asked-claim
TEST(PostgresStandby, SaysWhichRightsItLacks) {
  PostgresWorld world;
  const std::string name = "standby" + world.role();
  const std::string role = '"' + name + '"';
  const std::string schema = '"' + world.role() + '"';
  world.ask("CREATE ROLE " + role + " LOGIN; ALTER ROLE " + role + " SET search_path = " + schema +
            "; GRANT USAGE ON SCHEMA " + schema + " TO " + role + "; GRANT SELECT ON ALL TABLES IN SCHEMA " + schema +
            " TO " + role);
  Options options = world.options();
  options.user = name;
  Leader standby(options, 8);

  const Result<void> looked = standby.store().prepare({});

  ASSERT_THAT(looked, failsWith(Errc::permissionDenied));
  EXPECT_THAT(looked.error().detail, HasSubstr("tenure_fence"));
  Leader unasked(options, 9);
  const Result<void> claimed = unasked.claim();
  ASSERT_THAT(claimed, failsWith(Errc::permissionDenied)) << "who leads at once is asked as well";
  EXPECT_THAT(claimed.error().detail, HasSubstr("tenure_fence"));
  world.ask("DROP OWNED BY " + role + "; DROP ROLE " + role);
}

TEST(PostgresStandby, SaysThatTheFenceIsLost) {
  PostgresWorld world;
  world.ask("ALTER TABLE tenure_fence RENAME TO elsewhere");
  Leader standby(world.options(), 8);
  EXPECT_THAT(standby.store().prepare({}), failsWith(Errc::fenceLost));
}

TEST(PostgresStandby, LooksAgainOverTheSameSession) {
  PostgresWorld world;
  Leader standby(world.options(), 8);
  ASSERT_THAT(standby.store().prepare({}), succeeds());
  world.ask("ALTER TABLE tenure_fence RENAME TO elsewhere");
  EXPECT_THAT(standby.store().prepare({}), failsWith(Errc::fenceLost));

  world.ask("ALTER TABLE elsewhere RENAME TO tenure_fence");
  EXPECT_THAT(standby.store().prepare({}), succeeds());
}

/// Something on the way has forgotten the connections that were kept, and says nothing.
class ADeadKeptSession : public testing::Test {
 protected:
  Options throughProxy() {
    Options options = world_.options();
    options.port = proxy_.port();
    return options;
  }

  PostgresWorld world_;
  test::TcpProxy proxy_{world_.server().port()};
  Leader standby_{throughProxy(), 8};
};

// shows: operations/kept-session-dead
TEST_F(ADeadKeptSession, IsReplacedByTheClaimWithinASecond) {
  ASSERT_THAT(standby_.store().prepare({}), succeeds());
  proxy_.forgetConnections();
  const BootTime began = BootClock::now();

  EXPECT_THAT(standby_.claim(), succeeds());

  EXPECT_LT(BootClock::now() - began, std::chrono::seconds{5}) << "far below any limit of an answer";
  EXPECT_THAT(standby_.put("k", "1"), succeeds());
}

// shows: operations/kept-session-dead
TEST_F(ADeadKeptSession, IsReplacedByTheAttachmentWithinASecond) {
  ASSERT_THAT(standby_.store().prepare({}), succeeds());
  ASSERT_THAT(standby_.database.source().prepare({}), succeeds());
  ASSERT_THAT(standby_.claim(), succeeds());
  proxy_.forgetConnections();
  const BootTime began = BootClock::now();

  EXPECT_THAT(standby_.database.source().attach(standby_.term), succeeds());

  EXPECT_LT(BootClock::now() - began, std::chrono::seconds{5}) << "far below any limit of an answer";
}

/// The source of the next in line, prepared while the term before reads the queue.
class APreparedSource : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_THAT(former_.claim(), succeeds());
    ASSERT_THAT(former_.database.source().attach(former_.term), succeeds());
    ASSERT_THAT(source().prepare({}), succeeds());
    ASSERT_NE(opened(), "none");
  }
  IMessageSource& source() { return next_.database.source(); }
  void append(const std::string& id) {
    ASSERT_THAT(world_.sink()->append(std::vector{NewMessage{MessageId{id}, {}, "body", {}}}), succeeds());
  }
  std::string opened() { return sessionOf(world_, "tenure standby"); }

  PostgresWorld world_;
  Leader former_{world_.options(), 7};
  Leader next_{world_.options(), 8};
};

// shows: operations/postgresql-next-line
TEST_F(APreparedSource, ReadsInTheSessionThatItHadOpened) {
  const std::string session = opened();

  ASSERT_THAT(source().attach(next_.term), succeeds());

  EXPECT_EQ(sessionOf(world_, "orders/8/source"), session);
  EXPECT_EQ(world_.ask("SELECT token FROM tenure_reader"), "8");
  source().detach();
  EXPECT_TRUE(test::eventually([&] { return sessionOf(world_, "orders/8/source") == "none"; }));
}

TEST_F(APreparedSource, HearsWhatIsAppended) {
  ASSERT_THAT(source().attach(next_.term), succeeds());
  EXPECT_LT(soonestArrival(world_, source(), "orders/8/source"), 500ms);
}

TEST_F(APreparedSource, LooksAgainOverTheSameSession) {
  const std::string session = opened();
  EXPECT_THAT(source().prepare({}), succeeds());
  EXPECT_EQ(opened(), session);
}

// shows: operations/postgresql-next-line
TEST_F(APreparedSource, DoesNotNeedThatSession) {
  terminate(world_, "tenure standby");

  ASSERT_THAT(source().attach(next_.term), succeeds());

  EXPECT_THAT(source().fetch(1, BootClock::now(), {}), succeeds());
}

// shows: operations/postgresql-next-line
TEST_F(APreparedSource, ReadsNoQueueThatBecameAnotherElections) {
  world_.ask("UPDATE tenure_queue SET election = 'invoices'");

  const Result<void> attached = source().attach(next_.term);

  ASSERT_THAT(attached, failsWith(Errc::queueOwned));
  EXPECT_THAT(attached.error().detail, HasSubstr("invoices"));
  EXPECT_EQ(world_.ask("SELECT token FROM tenure_reader"), "7");
}

// shows: operations/postgresql-next-line
TEST_F(APreparedSource, ReadsNoQueueThatANewerTermReads) {
  Leader newer(world_.options(), 9);
  ASSERT_THAT(newer.database.source().attach(newer.term), succeeds());

  EXPECT_THAT(source().attach(next_.term), failsWith(Errc::staleTerm));

  EXPECT_EQ(world_.ask("SELECT token FROM tenure_reader"), "9");
}

TEST_F(APreparedSource, ReadsAQueueThatWasMadeAnewMeanwhile) {
  world_.ask("DELETE FROM tenure_reader; DELETE FROM tenure_queue");

  ASSERT_THAT(source().attach(next_.term), succeeds());

  append("a");
  EXPECT_EQ(source().fetch(1, BootClock::now(), {}).value().size(), 1U);
}

TEST_F(APreparedSource, ReadsNoOtherQueueThatHasItsNumberByNow) {
  world_.ask("UPDATE tenure_queue SET name = 'elsewhere'");

  ASSERT_THAT(source().attach(next_.term), succeeds());

  append("a");
  EXPECT_EQ(source().fetch(1, BootClock::now(), {}).value().size(), 1U);
  EXPECT_EQ(world_.ask("SELECT count(*) FROM tenure_queue"), "2");
}

TEST_F(APreparedSource, HearsOfATableThatWasRestoredMeanwhile) {
  world_.ask(
      "CREATE TABLE copy (LIKE tenure_message INCLUDING ALL);"
      "ALTER TABLE tenure_message RENAME TO old; ALTER TABLE copy RENAME TO tenure_message;"
      "ALTER TABLE tenure_message OWNER TO \"" +
      world_.role() + '"');
  ASSERT_THAT(source().attach(next_.term), succeeds());
  EXPECT_LT(soonestArrival(world_, source(), "orders/8/source"), 500ms);
}

TEST_F(APreparedSource, ReadsNoDatabaseOfALaterVersion) {
  world_.ask("UPDATE tenure_schema SET version = version + 1");
  EXPECT_THAT(source().attach(next_.term), failsWith(Errc::configurationRefused));
}

}  // namespace
}  // namespace tenure::postgresql
