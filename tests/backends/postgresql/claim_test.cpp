// Claims that meet: with each other, and with a transaction in every order of their steps, evicting as they do in use.
#include <sys/socket.h>

#include <algorithm>
#include <future>

#include "leading.hpp"
#include "support/loopback.hpp"

namespace tenure::postgresql {
namespace {

using namespace std::chrono_literals;
using test::failsWith;
using test::PostgresWorld;
using test::RecordedEvents;
using test::succeeds;

TEST(Claim, FirstOnesThatMeetAreOrderedToo) {
  for (int round = 0; round < 5; ++round) {
    PostgresWorld world;
    std::vector<std::unique_ptr<Leader>> leaders;
    for (std::int64_t token = 7; token < 11; ++token)
      leaders.push_back(std::make_unique<Leader>(world.options(), token));
    std::vector<std::future<Result<void>>> claiming;
    for (const auto& leader : leaders)
      claiming.push_back(std::async(std::launch::async, [&leader] { return leader->claim(); }));

    for (auto& claimed : claiming) {
      const Result<void> result = claimed.get();
      EXPECT_TRUE(result || result.error().is(Errc::tokenRegression)) << result.error().message();
    }

    EXPECT_EQ(world.ask("SELECT token FROM tenure_fence"), "10");
    EXPECT_THAT(leaders.back()->put("k", "v"), succeeds());
  }
}

// shows: operations/postgresql-next-line
TEST(Claim, TakesTheSessionThatTheNextInLineHadOpened) {
  PostgresWorld world;
  Leader next(world.options(), 8);
  ASSERT_THAT(next.store().prepare({}), succeeds());
  const std::string opened = sessionOf(world, "tenure standby");
  ASSERT_NE(opened, "none");

  ASSERT_THAT(next.claim(), succeeds());

  EXPECT_EQ(sessionOf(world, "orders/8"), opened);
  EXPECT_EQ(sessionOf(world, "tenure standby"), "none");
  EXPECT_THAT(next.put("k", "v"), succeeds());
}

// shows: operations/postgresql-next-line
TEST(Claim, DoesNotNeedTheSessionThatTheNextInLineHadOpened) {
  PostgresWorld world;
  Leader next(world.options(), 8);
  ASSERT_THAT(next.store().prepare({}), succeeds());
  terminate(world, "tenure standby");

  ASSERT_THAT(next.claim(), succeeds());

  EXPECT_THAT(next.put("k", "v"), succeeds());
}

TEST(Claim, APreparationThatFindsNoServerSaysSoAndSoDoesTheClaim) {
  PostgresWorld world;
  Options options = world.options();
  options.port = 1;
  Leader next(options, 8);

  EXPECT_THAT(next.store().prepare({}), failsWith(Errc::unavailable));

  EXPECT_THAT(next.claim(), failsWith(Errc::unavailable));
}

TEST(Claim, APreparationWhoseServerSaysNothingEndsWithTheStop) {
  const test::Descriptor silent = test::listenOn(std::uint16_t{0});
  Options options = test::PostgresWorld().options();
  options.host = "127.0.0.1";
  options.port = test::portOf(silent);
  options.connectLimit = 10min;
  Leader next(options, 8);
  std::stop_source stop;

  auto preparing = std::async(std::launch::async, [&] { static_cast<void>(next.store().prepare(stop.get_token())); });
  ASSERT_TRUE(accept(silent.get(), nullptr, nullptr) >= 0) << "it has connected";
  stop.request_stop();

  EXPECT_EQ(preparing.wait_for(30s), std::future_status::ready);
}

// shows: S4
TEST(Claim, WaitsForACommitThatIsUnderWayAndSeesItsEffect) {
  PostgresWorld world;
  Leader older(world.options(), 7);
  ASSERT_THAT(older.claim(), succeeds());
  auto transaction = older.begin();
  ASSERT_THAT(putAndHold(*transaction, "k", "of the older"), succeeds());
  Leader newer(world.options(), 8);

  auto claiming = std::async(std::launch::async, [&] { return newer.claim(); });
  ASSERT_TRUE(test::eventually([&] {
    return world.ask("SELECT count(*) FROM pg_stat_activity WHERE application_name = 'orders/8' AND usename = '" +
                     world.role() + "' AND wait_event_type = 'Lock'") == "1";
  }));
  ASSERT_THAT(transaction->commit(), succeeds());

  ASSERT_THAT(claiming.get(), succeeds());
  EXPECT_EQ(newer.get("k"), "of the older");
}

// shows: fence/share-holds-claim
TEST(Claim, AStatementHoldsTheRowAgainstACheckUnderTheLockAndNotAgainstAForeignKey) {
  PostgresWorld world;
  Leader leader(world.options(), 7);
  ASSERT_THAT(leader.claim(), succeeds());
  auto transaction = leader.begin();
  ASSERT_THAT(putAndHold(*transaction, "k", "v"), succeeds());
  auto stranger = world.session();
  stranger.ask("SET lock_timeout = 50");

  EXPECT_EQ(stranger.tryToRun("SELECT 1 FROM tenure_fence FOR SHARE"), "55P03");
  EXPECT_EQ(stranger.tryToRun("SELECT 1 FROM tenure_fence FOR KEY SHARE"), "") << "which is why nobody may rely on it";
}

TEST(Claim, IsNotHeldUpByAProducerThatStopsInTheMiddle) {
  PostgresWorld world;
  ASSERT_THAT(Leader(world.options(), 7).claim(), succeeds());
  auto producer = world.session();
  producer.ask("BEGIN; UPDATE tenure_queue SET last = last + 1");
  Options impatient = world.options();
  impatient.lockLimit = 50ms;
  Leader leader(impatient, 8);

  EXPECT_THAT(leader.claim(), succeeds());

  EXPECT_THAT(leader.database.source().attach(leader.term), succeeds());
}

/// The older one's steps; one that fails ends it.
struct Older {
  enum class Step { begin, write, commit };
  explicit Older(const Options& options) : leader(options, 7) { EXPECT_THAT(leader.claim(), succeeds()); }

  void proceed() {
    if (next == steps.size()) return;
    const Result<void> done = take(steps[next++]);
    if (!done) next = steps.size();
    if (!done) transaction.reset();
    EXPECT_TRUE(done || isTermOver(done.error().code) || done.error().is(Errc::unavailable) ||
                isOutcomeUnknown(done.error().code))
        << done.error().message();
  }
  Result<void> take(Step step) {
    if (step == Step::begin) {
      auto begun = leader.store().begin(leader.term);
      if (!begun) return begun.error();
      transaction = std::move(*begun);
      return {};
    }
    if (step == Step::write) return putAndHold(*transaction, "counter", "of the older");
    const Result<void> done = transaction->commit();
    committed = done.has_value();
    return done;
  }

  Leader leader;
  std::vector<Step> steps{Step::begin, Step::write, Step::commit};
  std::size_t next = 0;
  std::unique_ptr<IFencedTransaction> transaction;
  bool committed = false;
};

// shows: S4
TEST(Claim, InEveryInterleavingEvictsOrDefeatsAndNeverReadsAStaleBase) {
  std::vector<bool> newsTurn{false, false, false, true, true, true};
  do {
    SCOPED_TRACE(testing::PrintToString(newsTurn));
    PostgresWorld world;
    Options options = world.options();
    options.lockLimit = 50ms;
    Older older(options);
    Leader newer(options, 8);
    std::unique_ptr<IFencedTransaction> transaction;
    std::string read;
    const std::vector<std::function<Result<void>()>> steps{[&] { return newer.claim(); },
                                                           [&]() -> Result<void> {
                                                             transaction = newer.begin();
                                                             const auto value = transaction->get("counter");
                                                             if (!value) return value.error();
                                                             read = value->value_or("none");
                                                             return putAndHold(*transaction, "counter", "of the newer");
                                                           },
                                                           [&] { return transaction->commit(); }};
    std::size_t next = 0;
    bool claimed = false;
    for (const bool isNews : newsTurn) {
      const bool committedBefore = older.committed;
      if (isNews) {
        ASSERT_THAT(steps[next++](), succeeds());
        claimed = true;
      } else {
        older.proceed();
      }
      EXPECT_EQ(older.committed && claimed, committedBefore && claimed) << "committed after the newer claim";
    }

    EXPECT_EQ(read, older.committed ? "of the older" : "none");
    EXPECT_EQ(newer.get("counter"), "of the newer");
  } while (std::next_permutation(newsTurn.begin(), newsTurn.end()));
}

// shows: operations/postgresql-claim-ends
TEST(Claim, SaysWhomItEvicted) {
  PostgresWorld world;
  Leader older(world.options(), 7);
  ASSERT_THAT(older.claim(), succeeds());
  auto transaction = older.begin();
  ASSERT_THAT(putAndHold(*transaction, "k", "v"), succeeds());
  const std::string session = sessionOf(world, "orders/7");
  Options impatient = world.options();
  impatient.lockLimit = 50ms;
  RecordedEvents events;

  ASSERT_THAT(Leader(impatient, 8, events).claim(), succeeds());

  ASSERT_EQ(events.of<HolderEvicted>().size(), 1U);
  EXPECT_EQ(std::to_string(events.of<HolderEvicted>()[0].pid), session);
  EXPECT_GE(events.of<HolderEvicted>()[0].waited, 50ms);
  EXPECT_THAT(putAndHold(*transaction, "k", "w"), failsWith(Errc::unavailable));
  EXPECT_THAT(older.put("k", "w"), failsWith(Errc::staleTerm));
}

}  // namespace
}  // namespace tenure::postgresql
