// Short transactions that overlap without end. Row locks are not fair: whoever shares one overtakes whoever waits to
// have it alone.
#include <libpq-fe.h>

#include <algorithm>
#include <atomic>
#include <future>
#include <thread>

#include "backends/postgresql/store/session.hpp"
#include "guide_recipe.hpp"
#include "leading.hpp"
#include "support/tcp_proxy.hpp"

namespace tenure::postgresql {
namespace {

using namespace std::chrono_literals;
using test::Direction;
using test::failsWith;
using test::PostgresSession;
using test::PostgresWorld;
using test::RecordedEvents;
using test::succeeds;
using test::TcpProxy;

constexpr int crowdSize = 10;
/// Far beyond every limit of a claim, and far below the 30 s of a statement.
constexpr auto wellInTime = 10s;

std::vector<std::string> lookWithoutATurn(const TermIdentity& term) {
  return {"SELECT 1 / count(*) FROM (SELECT FROM tenure_fence WHERE election = '" + term.election.value +
          "' AND token = " + std::to_string(term.token.value) + " FOR SHARE) AS fence"};
}

/// Programs of one term that repeat a short transaction under the fence, and connect again when they are ended. Each
/// ends its transaction only when another one has looked as well, however slow the machine: there is always one that
/// has.
class Crowd {
 public:
  Crowd(PostgresWorld& world, const TermIdentity& term, const std::vector<std::string>& look) : world_(world) {
    world.ask("CREATE TABLE ledger(n int); GRANT ALL ON ledger TO PUBLIC");
    words_ = "host=127.0.0.1 port=" + std::to_string(world.server().port()) + " dbname=postgres user=" + world.role() +
             " application_name=" + storeSession(term);
    for (int number = 0; number < crowdSize; ++number)
      members_.emplace_back([this, look](const std::stop_token& stop) { work(look, stop); });
    EXPECT_TRUE(test::eventually([&] { return entries() >= 2 * crowdSize; })) << "they are at work";
  }

  int entries() const { return std::stoi(world_.ask("SELECT count(*) FROM ledger")); }
  /// When this returns, each of them has been refused since.
  void awaitRefusals() {
    const int before = refusals_;
    EXPECT_TRUE(test::eventually([&] { return refusals_ >= before + 3 * crowdSize; }));
  }

 private:
  void work(const std::vector<std::string>& look, const std::stop_token& stop) {
    std::vector<std::string> beginning{"BEGIN"};
    beginning.insert(beginning.end(), look.begin(), look.end());
    while (!stop.stop_requested()) {
      PostgresSession session(words_);
      const auto runs = [&session](const std::string& sql) { return session.tryToRun(sql).empty(); };
      while (!stop.stop_requested() && PQstatus(session.handle()) == CONNECTION_OK) {
        bool done = std::all_of(beginning.begin(), beginning.end(), runs);
        if (done) awaitAnother(++looks_, stop);
        done = done && runs("INSERT INTO ledger VALUES(1)") && runs("COMMIT");
        if (done) continue;
        ++refusals_;
        session.tryToRun("ROLLBACK");
      }
    }
  }

  /// Those who take turns wait behind a claim, and cannot look while it waits for us: not for ever.
  void awaitAnother(int look, const std::stop_token& stop) const {
    const BootTime giveUp = BootClock::now() + 300ms;
    while (looks_ == look && !stop.stop_requested() && BootClock::now() < giveUp) std::this_thread::yield();
  }

  PostgresWorld& world_;
  std::string words_;
  std::atomic<int> looks_{0};
  std::atomic<int> refusals_{0};
  std::vector<std::jthread> members_;
};

class AClaimBesideACrowd : public testing::Test {
 protected:
  AClaimBesideACrowd() { EXPECT_THAT(older.claim(), succeeds()); }
  Leader successor(std::chrono::milliseconds lockLimit) {
    Options options = world.options();
    options.lockLimit = lockLimit;
    return Leader(options, 8, events);
  }
  TermIdentity olderTerm() const { return Term(older.term).identity(); }

  PostgresWorld world;
  RecordedEvents events;
  Leader older{world.options(), 7};
};

// shows: fence/turn-makes-fair
TEST_F(AClaimBesideACrowd, ThatOnlyLocksTheRowEndsItAndTellsSo) {
  Leader next = successor(1s);
  Crowd crowd(world, olderTerm(), lookWithoutATurn(olderTerm()));

  ASSERT_THAT(next.claim(), succeeds());

  const int entries = crowd.entries();
  ASSERT_GE(events.of<HolderEvicted>().size(), 1U);
  EXPECT_GE(events.of<HolderEvicted>()[0].waited, 1s);
  crowd.awaitRefusals();
  EXPECT_EQ(crowd.entries(), entries) << "none of their later commits was accepted";
}

// shows: fence/turn-makes-fair
TEST_F(AClaimBesideACrowd, ThatDoesAsTheGuideSaysIsNextInLine) {
  Leader next = successor(30s);
  Crowd crowd(world, olderTerm(), recipeOfTheGuide(olderTerm()));

  const BootTime start = BootClock::now();
  ASSERT_THAT(next.claim(), succeeds());

  const int entries = crowd.entries();
  EXPECT_LT(BootClock::now() - start, wellInTime);
  EXPECT_TRUE(events.of<HolderEvicted>().empty()) << "nobody held it up";
  crowd.awaitRefusals();
  EXPECT_EQ(crowd.entries(), entries);
}

/// Lanes of one claim whose transactions overlap without end, each counting its commits.
class BusyLanes {
 public:
  BusyLanes(IFencedStore& main, const Term& term, int count) : commits_(static_cast<std::size_t>(count)) {
    for (int number = 1; number <= count; ++number) {
      stores_.push_back(main.openLane(number));
      EXPECT_THAT(stores_.back()->claim(term), succeeds());
    }
    for (std::size_t at = 0; at < stores_.size(); ++at)
      threads_.emplace_back([this, at, term](const std::stop_token& stop) {
        while (!stop.stop_requested()) {
          const auto transaction = stores_[at]->begin(term).value();
          const auto slept = transaction->sql()->execute("SELECT pg_sleep(" +
                                                         std::to_string(0.02 + 0.003 * static_cast<double>(at)) + ")");
          EXPECT_THAT(slept, succeeds());
          EXPECT_THAT(transaction->commit(), succeeds());
          ++commits_[at];
        }
      });
    awaitOneMoreOfEach();
  }

  void awaitOneMoreOfEach() {
    const std::vector<int> before(commits_.begin(), commits_.end());
    for (std::size_t at = 0; at < commits_.size(); ++at)
      EXPECT_TRUE(test::eventually([&] { return commits_[at] > before[at] + 1; })) << "lane " << at + 1;
  }

 private:
  std::vector<std::unique_ptr<IFencedStore>> stores_;
  std::vector<std::atomic<int>> commits_;
  std::vector<std::jthread> threads_;
};

class BesideEightLiveLanes : public testing::Test {
 protected:
  BesideEightLiveLanes() { EXPECT_THAT(leadership.claim(), succeeds()); }
  static Options throughProxy(PostgresWorld& world, TcpProxy& proxy) {
    Options options = world.options();
    options.port = proxy.port();
    return options;
  }
  void loseTheReply(IFencedStore& store) {
    const auto transaction = store.begin(leadership.term).value();
    ASSERT_THAT(transaction->put("k", "in doubt"), succeeds());
    proxy.drop(Direction::toClient);
    auto committing = std::async(std::launch::async, [&] { return transaction->commit(); });
    ASSERT_TRUE(test::eventually([&] { return world.ask("SELECT count(*) FROM tenure_state") == "1"; }));
    proxy.cut();
    ASSERT_THAT(committing.get(), failsWith(Errc::outcomeUnknown));
    proxy.resume();
  }

  PostgresWorld world;
  TcpProxy proxy{world.server().port()};
  Leader leadership{throughProxy(world, proxy), 7};
  Database direct{world.options(), noEvents()};  // the same term, on its own way
};

TEST_F(BesideEightLiveLanes, ALostReplyOfAnotherLaneIsResolvedAndNoLaneStarves) {
  ASSERT_THAT(direct.store().claim(leadership.term), succeeds());
  const auto lane = leadership.store().openLane(9);
  ASSERT_THAT(lane->claim(leadership.term), succeeds());
  loseTheReply(*lane);
  BusyLanes lanes(direct.store(), leadership.term, 8);

  const BootTime start = BootClock::now();
  const Result<CommitFate> fate = lane->resolve(leadership.term);
  const Duration waited = BootClock::now() - start;

  ASSERT_THAT(fate, succeeds());
  EXPECT_EQ(*fate, CommitFate::committed);
  EXPECT_LT(waited, wellInTime);
  lanes.awaitOneMoreOfEach();
}

TEST_F(BesideEightLiveLanes, TheClaimItselfCommitsAndResolvesToo) {
  ASSERT_THAT(direct.store().claim(leadership.term), succeeds());
  ASSERT_THAT(leadership.claim(), succeeds());
  loseTheReply(leadership.store());
  BusyLanes lanes(direct.store(), leadership.term, 8);

  const BootTime start = BootClock::now();
  EXPECT_THAT(leadership.store().resolve(leadership.term), succeeds());
  EXPECT_THAT(leadership.put("l", "v"), succeeds());

  EXPECT_LT(BootClock::now() - start, wellInTime);
  lanes.awaitOneMoreOfEach();
}

/// What a session may lock so that a claim waits somewhere else than at the fence's row.
class AClaimThatWaits : public testing::TestWithParam<const char*> {
 protected:
  AClaimThatWaits() {
    EXPECT_THAT(Leader(world.options(), 7).claim(), succeeds());
    options.lockLimit = 300ms;
  }
  PostgresSession locking(const std::string& name) {
    PostgresSession session("host=127.0.0.1 port=" + std::to_string(world.server().port()) +
                            " dbname=postgres user=" + world.role() + " application_name=" + name);
    session.ask("BEGIN");
    session.ask(GetParam());
    return session;
  }

  PostgresWorld world;
  RecordedEvents events;
  Options options = world.options();
};
INSTANTIATE_TEST_SUITE_P(Places, AClaimThatWaits,
                         testing::Values("LOCK TABLE tenure_schema", "LOCK TABLE tenure_queue",
                                         "LOCK TABLE tenure_fence", "SELECT 1 FROM tenure_fence FOR KEY SHARE"));

// shows: L6, fence/still-holds-claim
TEST_P(AClaimThatWaits, ForAnOlderTermEndsIt) {
  const auto holding = locking("orders/7");
  Leader next(options, 8, events);

  EXPECT_THAT(next.claim(), succeeds());

  ASSERT_EQ(events.of<HolderEvicted>().size(), 1U);
  EXPECT_EQ(events.of<HolderEvicted>()[0].pid, holding.serverProcess());
}

// shows: fence/still-holds-claim
TEST_P(AClaimThatWaits, ForAStrangerGivesUpWithinItsLimit) {
  const auto holding = locking("somebody");
  Leader next(options, 8, events);

  const BootTime start = BootClock::now();
  EXPECT_THAT(next.claim(), failsWith(Errc::storeBusy));

  EXPECT_LT(BootClock::now() - start, wellInTime);
  EXPECT_TRUE(events.of<HolderEvicted>().empty());
  ASSERT_EQ(events.of<StoreBusy>().size(), 1U);
  EXPECT_EQ(events.of<StoreBusy>()[0].holderPid, holding.serverProcess());
}

/// A fresh queue is taken by its first claim, which then waits for whoever is writing to it.
TEST(AFirstClaim, GivesUpWithinItsLimitWhereAProducerIsStoppedInTheMiddle) {
  PostgresWorld world;
  world.ask("INSERT INTO tenure_queue(name) VALUES('orders')");
  auto producer = world.session();
  producer.ask("BEGIN; UPDATE tenure_queue SET last = last + 1");
  Options options = world.options();
  options.lockLimit = 300ms;
  Leader leader(options, 7);

  const BootTime start = BootClock::now();
  EXPECT_THAT(leader.claim(), failsWith(Errc::storeBusy));

  EXPECT_LT(BootClock::now() - start, wellInTime);
}

}  // namespace
}  // namespace tenure::postgresql
