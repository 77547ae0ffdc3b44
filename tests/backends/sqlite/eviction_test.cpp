// A frozen leader that holds the file's lock, in a process of its own, and the successor that needs it.
#include <gmock/gmock.h>
#include <sqlite3.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <sstream>
#include <thread>

#include "backends/sqlite/lock_holder.hpp"
#include "process/process_identity.hpp"
#include "support/events.hpp"
#include "support/program.hpp"
#include "support/results.hpp"
#include "support/sqlite_world.hpp"
#include "support/terms.hpp"

namespace tenure::sqlite {
namespace {

using namespace std::chrono_literals;
using test::failsWith;
using test::RecordedEvents;
using test::succeeds;
using testing::HasSubstr;

constexpr std::int64_t frozenToken = 7;

/// Takes the lock and freezes with it.
void freezeHolding(const std::string& lock, sqlite3* db) {
  const auto run = [db](const char* sql) { ASSERT_EQ(sqlite3_exec(db, sql, nullptr, nullptr, nullptr), SQLITE_OK); };
  sqlite3_stmt* reading = nullptr;
  if (lock == "waiting") {
    run("BEGIN IMMEDIATE; INSERT INTO tenure_state VALUES('invoices', 'k', 'of another election')");
    std::printf("frozen %lld\n", static_cast<long long>(thisProcess().startTime));
    std::fflush(stdout);
    ::pause();
  }
  if (lock == "reserved") {
    run("BEGIN IMMEDIATE; INSERT INTO tenure_state VALUES('orders', 'k', 'of the frozen one')");
  } else if (lock == "exclusive") {
    // More pages than the cache holds: the file is changed already, and the journal is hot.
    run("PRAGMA cache_size=5; BEGIN EXCLUSIVE; WITH RECURSIVE i(n) AS (SELECT 1 UNION ALL"
        " SELECT n + 1 FROM i WHERE n < 2000) INSERT INTO tenure_state SELECT 'orders', 'k' || n, zeroblob(500) FROM "
        "i");
  } else {
    ASSERT_EQ(sqlite3_prepare_v2(db, "SELECT * FROM tenure_schema", -1, &reading, nullptr), SQLITE_OK);
    ASSERT_EQ(sqlite3_step(reading), SQLITE_ROW);
  }
  std::printf("frozen %lld\n", static_cast<long long>(thisProcess().startTime));
  std::fflush(stdout);
  raise(SIGSTOP);
  sqlite3_finalize(reading);
}

/// For another election that it hosts on the same file: holds the lock in a statement that counts so far.
class OtherElection {
 public:
  explicit OtherElection(Options options) : database_((options.queue = "invoices", std::move(options)), noEvents()) {
    EXPECT_THAT(database_.store().claim(term_), succeeds());
    transaction_ = database_.store().begin(term_).value();
    EXPECT_THAT(transaction_->get("k"), succeeds()) << "what is read is read under the lock";
  }
  void count(const std::string& upTo) {
    EXPECT_TRUE(transaction_->sql()->execute("WITH RECURSIVE i(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM i" + upTo +
                                             ") SELECT count(*) FROM i"));
  }
  Result<void> commit() { return transaction_->commit(); }

 private:
  Database database_;
  const test::TestTerm term_{frozenToken, "invoices"};
  std::unique_ptr<IFencedTransaction> transaction_;
};

/// What the child runs; only started by the tests below. As a leader it claims first, as a stranger it does not.
TEST(Child, DISABLED_FreezesWithTheLock) {
  const Options options{.file = std::getenv("CHILD_FILE"), .queue = "orders"};
  ASSERT_THAT(openSink(options), succeeds()) << "the schema is there";
  Database database(options, noEvents());
  if (std::string(std::getenv("CHILD_ROLE")) == "leader") {
    const char* token = std::getenv("CHILD_TOKEN");
    ASSERT_THAT(database.store().claim(test::TestTerm(token == nullptr ? frozenToken : std::stoi(token))), succeeds());
  }
  if (std::getenv("CHILD_LOCK") == std::string("at work")) {
    OtherElection other(options);
    std::printf("frozen %lld\n", static_cast<long long>(thisProcess().startTime));
    std::fflush(stdout);
    return other.count("");
  }
  sqlite3* db = nullptr;
  ASSERT_EQ(sqlite3_open(options.file.c_str(), &db), SQLITE_OK);
  freezeHolding(std::getenv("CHILD_LOCK"), db);
  sqlite3_close(db);
}

class FrozenProcess {
 public:
  FrozenProcess(const std::string& role, const test::SqliteWorld& world, const std::string& lock,
                std::int64_t token = frozenToken)
      : program_({"/proc/self/exe", "--gtest_filter=Child.*", "--gtest_also_run_disabled_tests"},
                 world.options().file.string() + ".out",
                 {"CHILD_FILE=" + world.options().file.string(), "CHILD_LOCK=" + lock, "CHILD_ROLE=" + role,
                  "CHILD_TOKEN=" + std::to_string(token)}) {
    EXPECT_TRUE(program_.waitForOutput("frozen ")) << program_.output();
    if (lock != "at work" && lock != "waiting") {
      EXPECT_TRUE(program_.waitForState('T'));
    }
    const std::string output = program_.output();
    identity_ = thisProcess();
    identity_.pid = program_.pid();
    std::istringstream(output.substr(output.find("frozen ") + 7)) >> identity_.startTime;
  }

  const ProcessIdentity& identity() const { return identity_; }
  bool isStopped() const { return program_.state() == 'T'; }
  bool isAlive() { return !program_.waitForEnd(0ms).has_value(); }
  bool wasKilled() { return program_.waitForEnd().value_or(test::Ending{}).signal == SIGKILL; }

 private:
  test::Program program_;
  ProcessIdentity identity_;
};

/// The next term, whose predecessor left no idle marker.
test::TestTerm successorOf(const std::optional<ProcessIdentity>& uncleanPredecessor) {
  TermIdentity identity = test::identityWith(frozenToken + 1);
  identity.uncleanPredecessor = uncleanPredecessor;
  return test::TestTerm(identity);
}

class Eviction : public testing::TestWithParam<std::string> {
 protected:
  Eviction() { world_.beImpatient(); }
  Result<void> claim(const Term& term, Options options) {
    Database database(std::move(options), events_);
    return database.store().claim(term);
  }
  Result<void> claim(const Term& term) { return claim(term, world_.options()); }

  test::SqliteWorld world_;
  RecordedEvents events_;
};
INSTANTIATE_TEST_SUITE_P(Locks, Eviction, testing::Values("reserved", "exclusive", "shared"),
                         [](const auto& lock) { return lock.param; });

// shows: L6, urls/claim-waits-file
TEST_P(Eviction, AFrozenPredecessorThatHoldsTheLockIsKilledAndItsWorkUndone) {
  FrozenProcess frozen("leader", world_, GetParam());

  EXPECT_THAT(claim(successorOf(frozen.identity())), succeeds());

  EXPECT_TRUE(frozen.wasKilled());
  ASSERT_EQ(events_.of<HolderEvicted>().size(), 1U);
  EXPECT_EQ(events_.of<HolderEvicted>()[0].pid, frozen.identity().pid);
  EXPECT_EQ(world_.ask("SELECT count(*) FROM tenure_state"), "0");
  EXPECT_EQ(world_.ask("SELECT token FROM tenure_fence"), "8");
  EXPECT_EQ(world_.ask("PRAGMA integrity_check"), "ok");
}

// shows: urls/claim-waits-file
TEST_P(Eviction, AHolderThatIsNotProvenToBeThePredecessorIsLeftAloneAndNamed) {
  FrozenProcess frozen("stranger", world_, GetParam());
  ProcessIdentity another = frozen.identity();
  another.startTime += 1;  // the same pid, used again

  const Result<void> claimed = claim(successorOf(another));

  EXPECT_THAT(claimed, failsWith(Errc::storeBusy));
  EXPECT_THAT(claimed.error().detail, HasSubstr(std::to_string(frozen.identity().pid)));
  ASSERT_FALSE(events_.of<StoreBusy>().empty());
  EXPECT_EQ(events_.of<StoreBusy>()[0].holderPid, frozen.identity().pid);
  EXPECT_TRUE(frozen.isStopped());
}

TEST_P(Eviction, AfterACleanHandoverNobodyIsSuspected) {
  FrozenProcess frozen("leader", world_, GetParam());

  EXPECT_THAT(claim(successorOf(std::nullopt)), failsWith(Errc::storeBusy));

  EXPECT_TRUE(frozen.isStopped());
}

// shows: urls/claim-waits-file
TEST_P(Eviction, SwitchedOffItOnlyReports) {
  FrozenProcess frozen("leader", world_, GetParam());
  Options options = world_.options();
  options.evictFrozenHolder = false;

  EXPECT_THAT(claim(successorOf(frozen.identity()), options), failsWith(Errc::storeBusy));

  EXPECT_TRUE(frozen.isStopped());
  EXPECT_FALSE(events_.of<StoreBusy>().empty());
}

TEST_P(Eviction, ATermThatIsOverItselfKillsNobody) {
  FrozenProcess frozen("leader", world_, GetParam());
  const test::TestTerm late = successorOf(frozen.identity());
  late.loseLease();

  EXPECT_THAT(claim(late), failsWith(Errc::storeBusy));

  EXPECT_TRUE(frozen.isStopped());
}

class EvictionOfTheStoredHolder : public Eviction {};
// An exclusive lock keeps the fence row from being read; then only the predecessor itself can be proven.
INSTANTIATE_TEST_SUITE_P(Locks, EvictionOfTheStoredHolder, testing::Values("reserved", "shared"),
                         [](const auto& lock) { return lock.param; });

TEST_P(EvictionOfTheStoredHolder, FollowsFromAPredecessorThatDiedBeforeItsClaim) {
  FrozenProcess frozen("leader", world_, GetParam());
  ProcessIdentity dead = thisProcess();
  dead.pid = frozen.identity().pid;
  dead.startTime = 1;

  EXPECT_THAT(claim(successorOf(dead)), succeeds());

  EXPECT_TRUE(frozen.wasKilled());
}

class EvictionWithoutAStop : public Eviction {};
INSTANTIATE_TEST_SUITE_P(Holders, EvictionWithoutAStop, testing::Values("at work"));

/// In a long statement, be it for another election that it hosts on the same file.
// shows: urls/claim-waits-file
TEST_P(EvictionWithoutAStop, LeavesAPredecessorAloneThatIsAtWork) {
  FrozenProcess busy("leader", world_, GetParam());

  const Result<void> claimed = claim(successorOf(busy.identity()));

  EXPECT_THAT(claimed, failsWith(Errc::storeBusy));
  ASSERT_FALSE(events_.of<StoreBusy>().empty());
  EXPECT_EQ(events_.of<StoreBusy>()[0].holderPid, busy.identity().pid);
  EXPECT_THAT(events_.of<StoreBusy>()[0].detail, HasSubstr("at work"));
  EXPECT_TRUE(events_.of<HolderEvicted>().empty());
  EXPECT_TRUE(busy.isAlive());
}

/// Nor does it kill itself, as its own predecessor in the one election and the holder in the other.
TEST_P(EvictionWithoutAStop, LeavesItsOwnProcessAloneThatHostsTheOtherElection) {
  ASSERT_THAT(openSink(world_.options()), succeeds()) << "the schema is there";
  OtherElection other(world_.options());
  std::thread atWork([&] { other.count(" LIMIT 3000000"); });

  EXPECT_THAT(claim(successorOf(thisProcess())), failsWith(Errc::storeBusy));
  atWork.join();
  EXPECT_THAT(claim(successorOf(thisProcess())), failsWith(Errc::storeBusy)) << "and between two statements";
  EXPECT_THAT(other.commit(), succeeds());

  EXPECT_THAT(claim(successorOf(thisProcess())), succeeds());
  EXPECT_TRUE(events_.of<HolderEvicted>().empty());
}

class EvictionOfAnIdleHolder : public Eviction {};
INSTANTIATE_TEST_SUITE_P(Holders, EvictionOfAnIdleHolder, testing::Values("waiting"));

TEST_P(EvictionOfAnIdleHolder, FollowsWhenItHasNotRunBetweenTwoLooks) {
  FrozenProcess stuck("leader", world_, GetParam());

  EXPECT_THAT(claim(successorOf(stuck.identity())), succeeds());

  EXPECT_TRUE(stuck.wasKilled());
  ASSERT_EQ(events_.of<HolderEvicted>().size(), 1U);
  EXPECT_GE(events_.of<HolderEvicted>()[0].waited, frozenFor);
}

TEST_P(EvictionOfTheStoredHolder, IsNeverThatOfANewerTerm) {
  FrozenProcess newer("leader", world_, GetParam(), frozenToken + 2);
  ProcessIdentity dead = thisProcess();
  dead.pid = newer.identity().pid;
  dead.startTime = 1;

  EXPECT_FALSE(claim(successorOf(dead)));

  EXPECT_TRUE(events_.of<HolderEvicted>().empty());
  EXPECT_TRUE(newer.isStopped());
}

TEST(LockHolder, IsNobodyWhenNobodyHoldsTheLock) {
  const test::SqliteWorld world;
  Database database(world.options(), noEvents());
  ASSERT_THAT(database.store().claim(test::TestTerm(1)), succeeds());

  EXPECT_EQ(lockHolder(world.options().file), std::nullopt);
}

TEST(LockHolder, IsNobodyWhenTheFileIsNotOpen) {
  const test::SqliteWorld world;
  FrozenProcess frozen("leader", world, "reserved");

  EXPECT_EQ(lockHolder(world.options().file), std::nullopt);
}

}  // namespace
}  // namespace tenure::sqlite
