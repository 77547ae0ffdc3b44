// A frozen leader that holds the fence's row, in a process of its own, and the successor that needs it.
#include <libpq-fe.h>

#include <csignal>
#include <cstdio>
#include <map>
#include <set>

#include "backends/postgresql/store/session.hpp"
#include "leading.hpp"

namespace tenure::postgresql {
namespace {

using namespace std::chrono_literals;
using test::failsWith;
using test::PostgresServer;
using test::PostgresWorld;
using test::Program;
using test::RecordedEvents;
using test::succeeds;
using testing::HasSubstr;

constexpr std::int64_t frozenToken = 7;
/// Far beyond the lock limit of 2 s, and below the 10 s after which the network would end the holder.
constexpr auto longestWait = 9s;

Options optionsOfChild() {
  Options options;
  options.host = "127.0.0.1";
  options.port = static_cast<std::uint16_t>(std::stoi(std::getenv("CHILD_PORT")));
  options.database = "postgres";
  options.user = std::getenv("CHILD_ROLE");
  options.queue = "orders";
  options.idleInTransactionLimit = std::chrono::milliseconds{std::stoi(std::getenv("CHILD_IDLE"))};
  return options;
}

/// A send that stops before its Sync: for the server the session stays active, and no limit of its own ends it.
void sendHalfAPipeline(const Options& options) {
  const std::string words = "host=" + options.host + " port=" + std::to_string(options.port) +
                            " dbname=postgres user=" + options.user +
                            " application_name=" + storeSession(test::identityWith(frozenToken));
  PGconn* connection = PQconnectdb(words.c_str());
  ASSERT_EQ(PQenterPipelineMode(connection), 1);
  for (const char* sql : {"BEGIN", "UPDATE tenure_fence SET seq = seq + 1 WHERE election = 'orders'"})
    ASSERT_EQ(PQsendQueryParams(connection, sql, 0, nullptr, nullptr, nullptr, nullptr, 0), 1);
  ASSERT_EQ(PQsendFlushRequest(connection), 1);
  while (PQflush(connection) == 1) {
  }
  for (int replies = 0; replies < 2; ++replies) {  // the row is locked when the second has come
    PQclear(PQgetResult(connection));
    PQgetResult(connection);
  }
}

/// What the child runs; only started by the tests below.
TEST(Child, DISABLED_FreezesWithTheLock) {
  const Options options = optionsOfChild();
  Leader leader(options, frozenToken);
  ASSERT_THAT(leader.claim(), succeeds());
  auto transaction = leader.begin();
  if (std::string(std::getenv("CHILD_PLACE")) == "transaction") {
    ASSERT_THAT(putAndHold(*transaction, "k", "of the frozen one"), succeeds());
  } else {
    sendHalfAPipeline(options);
  }
  std::printf("frozen\n");
  std::fflush(stdout);
  raise(SIGSTOP);
  const Result<void> written = putAndHold(*transaction, "k", "of the frozen one");
  const Result<void> committed = written ? transaction->commit() : written;
  std::printf("thawed: %s\n", committed ? "committed" : committed.error().message().c_str());
  std::fflush(stdout);
}

class FrozenLeader {
 public:
  FrozenLeader(PostgresWorld& world, const std::string& place, std::chrono::milliseconds idleLimit)
      : program_({"/proc/self/exe", "--gtest_filter=Child.*", "--gtest_also_run_disabled_tests"}, folder_ / "out",
                 {"CHILD_PORT=" + std::to_string(world.server().port()), "CHILD_ROLE=" + world.role(),
                  "CHILD_PLACE=" + place, "CHILD_IDLE=" + std::to_string(idleLimit.count())}) {
    EXPECT_TRUE(program_.waitForOutput("frozen\n")) << program_.output();
    EXPECT_TRUE(program_.waitForState('T'));
  }
  std::string thaw() {
    program_.signal(SIGCONT);
    program_.waitForEnd();
    return program_.output();
  }

 private:
  test::TemporaryFolder folder_;
  Program program_;
};

class AFrozenLeader : public testing::TestWithParam<const char*> {
 protected:
  Options optionsOfSuccessor() {
    Options options = world_.options();
    options.lockLimit = 2s;
    return options;
  }

  PostgresWorld world_;
  RecordedEvents events_;
};
INSTANTIATE_TEST_SUITE_P(Places, AFrozenLeader, testing::Values("transaction", "pipeline"));

// shows: L6
TEST_P(AFrozenLeader, DelaysTheNextClaimByTheLockLimitAndALittle) {
  FrozenLeader frozen(world_, GetParam(), 1h);
  Leader successor(optionsOfSuccessor(), 8, events_);

  const BootTime start = BootClock::now();
  ASSERT_THAT(successor.claim(), succeeds());

  EXPECT_LT(BootClock::now() - start, longestWait);
  EXPECT_EQ(events_.of<HolderEvicted>().size() >= 1, true);
  EXPECT_THAT(successor.put("k", "of the successor"), succeeds());
}

TEST_P(AFrozenLeader, CommitsNothingWhenItThaws) {
  FrozenLeader frozen(world_, GetParam(), 1h);
  Leader successor(optionsOfSuccessor(), 8);
  ASSERT_THAT(successor.claim(), succeeds());
  ASSERT_THAT(successor.put("k", "of the successor"), succeeds());

  EXPECT_THAT(frozen.thaw(), testing::Not(HasSubstr("committed")));

  EXPECT_EQ(successor.get("k"), "of the successor");
}

TEST_P(AFrozenLeader, IsLeftAloneWhereEvictionIsNotWanted) {
  FrozenLeader frozen(world_, GetParam(), 1h);
  Options options = optionsOfSuccessor();
  options.lockLimit = 50ms;
  options.evictFrozenHolder = false;
  Leader successor(options, 8, events_);

  EXPECT_THAT(successor.claim(), failsWith(Errc::storeBusy));

  ASSERT_EQ(events_.of<StoreBusy>().size(), 1U);
  EXPECT_THAT(events_.of<StoreBusy>()[0].detail, HasSubstr("orders/7"));
}

TEST_P(AFrozenLeader, IsNotEvictedByATermThatIsOverItself) {
  FrozenLeader frozen(world_, GetParam(), 1h);
  Options options = optionsOfSuccessor();
  options.lockLimit = 50ms;
  Leader late(options, 8, events_);
  late.term.loseLease();

  EXPECT_THAT(late.claim(), failsWith(Errc::storeBusy));

  EXPECT_TRUE(events_.of<HolderEvicted>().empty());
}

/// A transaction on an election's fence in a session called `name`.
test::PostgresSession holding(PostgresWorld& world, const std::string& election, const std::string& name) {
  test::PostgresSession session("host=127.0.0.1 port=" + std::to_string(world.server().port()) +
                                " dbname=postgres user=" + world.role() + " application_name=" + name);
  session.ask("BEGIN");
  session.ask("UPDATE tenure_fence SET seq = seq WHERE election = '" + election + "'");
  return session;
}

TEST(AClaimThatIsHeldUp, NamesNoSessionOfAnotherElection) {
  PostgresWorld world;
  RecordedEvents events;
  ASSERT_THAT(Leader(world.options(), 7).claim(), succeeds());
  world.ask(
      "INSERT INTO tenure_fence SELECT 'invoices-of-production', ensemble, generation, token, seq, path,"
      " candidate, host, pid, start_time, boot_id, pid_namespace, claimed_at, change FROM tenure_fence");
  const std::string other = "invoices-of-production";  // longer than a session's name has room for
  const auto innocent = holding(world, other, storeSession(test::identityWith(3, other)));
  const auto culprit = holding(world, "orders", "somebody");
  Options options = world.options();
  options.lockLimit = 50ms;

  EXPECT_THAT(Leader(options, 8, events).claim(), failsWith(Errc::storeBusy));

  ASSERT_EQ(events.of<StoreBusy>().size(), 1U);
  EXPECT_THAT(events.of<StoreBusy>()[0].detail, HasSubstr("somebody"));
}

TEST(AFrozenTransaction, IsEndedByTheServersOwnLimitToo) {
  PostgresWorld world;
  FrozenLeader frozen(world, "transaction", 2s);
  Options options = world.options();
  options.evictFrozenHolder = false;

  Leader successor(options, 8);

  EXPECT_THAT(successor.claim(), succeeds());
}

TEST(Eviction, NeverMeetsANewerTermOrAnotherElection) {
  PostgresWorld world;
  Leader newer(world.options(), 9);
  ASSERT_THAT(newer.claim(), succeeds());
  auto holding = newer.begin();
  ASSERT_THAT(putAndHold(*holding, "k", "v"), succeeds());
  Options others = world.options();
  others.queue = "invoices";
  Database stranger(others, noEvents());
  ASSERT_THAT(stranger.store().claim(test::TestTerm(1, "invoices")), succeeds());
  Options impatient = world.options();
  impatient.lockLimit = 50ms;

  EXPECT_THAT(Leader(impatient, 8).claim(), failsWith(Errc::storeBusy));

  EXPECT_NE(sessionOf(world, "invoices/1"), "none");
  EXPECT_THAT(holding->commit(), succeeds());
}

TEST(Eviction, LetsARebasedGenerationEndOlderOnesWithHigherTokens) {
  PostgresWorld world;
  Leader old(world.options(), 900);
  ASSERT_THAT(old.claim(), succeeds());
  auto holding = old.begin();
  ASSERT_THAT(putAndHold(*holding, "k", "v"), succeeds());
  Options impatient = world.options();
  impatient.lockLimit = 50ms;
  TermIdentity rebuilt = test::identityWith(3);
  rebuilt.generation = 2;
  Database successor(impatient, noEvents());

  EXPECT_THAT(successor.store().claim(test::TestTerm(rebuilt)), succeeds());

  EXPECT_THAT(holding->commit(), testing::Not(succeeds()));
}

class NamedSessions : public testing::Test {
 protected:
  void open(const std::string& name) {
    sessions_.emplace_back("host=127.0.0.1 port=" + std::to_string(world_.server().port()) +
                           " dbname=postgres user=" + world_.role() + " application_name=" + name);
  }
  /// Those that a claim of `term` ends.
  std::set<std::string> endedBy(const TermIdentity& term) {
    const auto connection = Connection::open(world_.options(), storeSession(term)).value();
    std::set<std::string> names;
    const auto ended = Session::evictOlder(*connection, term);
    EXPECT_THAT(ended, succeeds());
    for (const std::int64_t process : ended.value()) names.insert(nameOf_.at(process));
    return names;
  }
  void remember() {
    for (const auto& session : sessions_)
      nameOf_[session.serverProcess()] = world_.ask("SELECT application_name FROM pg_stat_activity WHERE pid = " +
                                                    std::to_string(session.serverProcess()));
  }

  PostgresWorld world_;
  std::vector<test::PostgresSession> sessions_;
  std::map<std::int64_t, std::string> nameOf_;
};

// shows: operations/postgresql-claim-ends
TEST_F(NamedSessions, EvictionEndsThoseOfTheElectionsOlderTermsAndNoOther) {
  for (const char* name : {"orders/7", "orders/0", "orders/1.6", "orders/8", "orders/2.3", "orders/7/source",
                           "orders/8/source", "orders/7/other", "orders/", "orders", "orders2/7", "invoices/7",
                           "orders/x", "orders/-1", "orders/1.", "orders/.1", "orders/1.2.3", "psql"})
    open(name);
  remember();

  EXPECT_THAT(endedBy(test::identityWith(8)),
              testing::ElementsAre("orders/0", "orders/1.6", "orders/7", "orders/7/source"));

  EXPECT_TRUE(test::eventually([&] { return sessionOf(world_, "orders/7") == "none"; }));
  EXPECT_NE(sessionOf(world_, "orders/8"), "none");
}

TEST_F(NamedSessions, EvictionGoesByTheGenerationFirst) {
  for (const char* name : {"orders/900", "orders/2.3", "orders/2.4", "orders/3.1"}) open(name);
  remember();
  TermIdentity rebuilt = test::identityWith(4);
  rebuilt.generation = 2;

  EXPECT_THAT(endedBy(rebuilt), testing::ElementsAre("orders/2.3", "orders/900"));
}

TEST_F(NamedSessions, EvictionFindsThoseOfTheLongestNamesAndNumbers) {
  constexpr std::int64_t largest = std::numeric_limits<std::int64_t>::max();
  const std::string longest(64, 'e');
  TermIdentity older = test::identityWith(largest - 1, longest);
  older.generation = largest;
  TermIdentity newer = older;
  newer.token = FencingToken{largest};
  open(storeSession(older));
  open(storeSession(test::identityWith(1, std::string(63, 'e') + "f")));
  remember();

  EXPECT_THAT(endedBy(newer), testing::ElementsAre(storeSession(older)));
}

}  // namespace
}  // namespace tenure::postgresql
