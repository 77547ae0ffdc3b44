// Lanes: commits of one claim beside each other, each fenced.
#include <future>

#include "leading.hpp"
#include "support/tcp_proxy.hpp"

namespace tenure::postgresql {
namespace {

using namespace std::chrono_literals;
using test::Direction;
using test::failsWith;
using test::PostgresWorld;
using test::RecordedEvents;
using test::succeeds;
using test::TcpProxy;

class Lanes : public testing::Test {
 protected:
  Lanes() { EXPECT_THAT(leader.claim(), succeeds()); }

  std::unique_ptr<IFencedStore> join(Leader& leadership, std::int64_t number) {
    std::unique_ptr<IFencedStore> lane = leadership.store().openLane(number);
    EXPECT_THAT(lane->claim(leadership.term), succeeds());
    return lane;
  }
  std::unique_ptr<IFencedTransaction> begin(IFencedStore& lane) { return lane.begin(leader.term).value(); }
  Result<void> put(IFencedStore& lane, const std::string& key) {
    const auto transaction = begin(lane);
    if (Result<void> written = transaction->put(key, "v"); !written) return written;
    return transaction->commit();
  }
  std::string stored(const std::string& key) {
    return world.ask("SELECT convert_from(value, 'UTF8') FROM tenure_state WHERE key = '" + key + "'");
  }
  Options impatient() {
    Options options = world.options();
    options.lockLimit = 50ms;
    return options;
  }

  PostgresWorld world;
  Leader leader{world.options(), 7};
};

// shows: lanes/postgresql-lanes-commit
TEST_F(Lanes, CommitBesideEachOther) {
  const auto one = join(leader, 1);
  const auto two = join(leader, 2);
  const auto open = begin(*one);
  ASSERT_THAT(putAndHold(*open, "of one", "v"), succeeds());

  EXPECT_THAT(put(*two, "of two"), succeeds()) << "while the other one's transaction is open";
  EXPECT_THAT(put(*two, "of two again"), succeeds());

  EXPECT_THAT(open->commit(), succeeds());
  EXPECT_EQ(world.ask("SELECT string_agg(lane || ':' || seq, ' ' ORDER BY lane) FROM tenure_lane"), "1:1 2:2");
}

// shows: lanes/lane-transactions-own
TEST_F(Lanes, JoinNoClaimButTheirOwnTerms) {
  Leader newer(world.options(), 8);

  EXPECT_THAT(newer.store().openLane(1)->claim(newer.term), failsWith(Errc::staleTerm)) << "it has yet to claim";
  ASSERT_THAT(newer.claim(), succeeds());
  EXPECT_THAT(leader.store().openLane(1)->claim(leader.term), failsWith(Errc::staleTerm));
  EXPECT_THAT(newer.store().openLane(1)->claim(newer.term), succeeds());
}

// shows: S1
TEST_F(Lanes, AreRefusedOnceANewerTermHasClaimed) {
  const auto lane = join(leader, 1);
  ASSERT_THAT(put(*lane, "before"), succeeds());
  Leader newer(world.options(), 8);
  ASSERT_THAT(newer.claim(), succeeds());

  EXPECT_THAT(put(*lane, "after"), failsWith(Errc::staleTerm));

  EXPECT_EQ(stored("after"), "none");
}

// shows: lanes/lane-transactions-own
TEST_F(Lanes, AClaimWaitsForTheirCommitsAndSeesThem) {
  const auto lane = join(leader, 1);
  const auto open = begin(*lane);
  ASSERT_THAT(putAndHold(*open, "k", "of the lane"), succeeds());
  Leader newer(world.options(), 8);

  auto claiming = std::async(std::launch::async, [&] { return newer.claim(); });
  ASSERT_TRUE(test::eventually([&] {
    return world.ask("SELECT count(*) FROM pg_stat_activity WHERE application_name = 'orders/8' AND usename = '" +
                     world.role() + "' AND wait_event_type = 'Lock'") == "1";
  }));
  ASSERT_THAT(open->commit(), succeeds());

  ASSERT_THAT(claiming.get(), succeeds());
  EXPECT_EQ(newer.get("k"), "of the lane");
}

TEST_F(Lanes, AClaimEndsThoseThatHoldItUp) {
  const auto one = join(leader, 1);
  const auto two = join(leader, 2);
  const auto ofOne = begin(*one);
  const auto ofTwo = begin(*two);
  ASSERT_THAT(putAndHold(*ofOne, "one", "v"), succeeds());
  ASSERT_THAT(putAndHold(*ofTwo, "two", "v"), succeeds());
  Leader newer(impatient(), 8);

  EXPECT_THAT(newer.claim(), succeeds());

  EXPECT_FALSE(ofOne->commit());
  EXPECT_FALSE(ofTwo->commit());
  EXPECT_EQ(stored("one") + stored("two"), "nonenone");
}

TEST_F(Lanes, OneThatWaitsForAClaimIsRefusedWhenThatIsThrough) {
  const auto lane = join(leader, 1);
  auto claim = world.session();
  claim.ask("BEGIN; UPDATE tenure_fence SET token = 8");

  auto putting = std::async(std::launch::async, [&] { return put(*lane, "k"); });
  ASSERT_TRUE(test::eventually([&] {
    return world.ask("SELECT count(*) FROM pg_stat_activity WHERE application_name = 'orders/7' AND usename = '" +
                     world.role() + "' AND wait_event_type = 'Lock'") == "1";
  }));
  claim.ask("COMMIT");

  EXPECT_THAT(putting.get(), failsWith(Errc::staleTerm));
  EXPECT_EQ(stored("k"), "none");
}

TEST_F(Lanes, AnotherOneUnderTheSameNumberFindsOutItsTwin) {
  const auto lane = join(leader, 1);
  const auto twin = join(leader, 1);

  EXPECT_THAT(put(*lane, "k"), failsWith(Errc::clonedLeader));

  EXPECT_THAT(put(*twin, "k"), succeeds());
}

TEST_F(Lanes, TheClaimItselfCommitsBetweenThem) {
  const auto lane = join(leader, 1);

  EXPECT_THAT(put(*lane, "a"), succeeds());
  EXPECT_THAT(leader.put("b", "v"), succeeds());
  EXPECT_THAT(put(*lane, "c"), succeeds());
}

class ALanesLostReply : public Lanes {
 protected:
  Options throughProxy() {
    Options options = world.options();
    options.port = proxy.port();
    return options;
  }

  TcpProxy proxy{world.server().port()};
};

TEST_F(ALanesLostReply, IsFoundToBeCommitted) {
  Leader leadership(throughProxy(), 9);
  ASSERT_THAT(leadership.claim(), succeeds());
  const auto lane = join(leadership, 1);
  const auto transaction = lane->begin(leadership.term).value();
  ASSERT_THAT(transaction->put("k", "in doubt"), succeeds());
  proxy.drop(Direction::toClient);
  auto committing = std::async(std::launch::async, [&] { return transaction->commit(); });
  ASSERT_TRUE(test::eventually([&] { return stored("k") == "in doubt"; }));
  proxy.cut();
  ASSERT_THAT(committing.get(), failsWith(Errc::outcomeUnknown));
  proxy.resume();

  EXPECT_EQ(lane->resolve(leadership.term).value(), CommitFate::committed);

  const auto next = lane->begin(leadership.term).value();
  EXPECT_THAT(next->put("l", "v"), succeeds());
  EXPECT_THAT(next->commit(), succeeds());
}

TEST_F(ALanesLostReply, IsFoundNotToBeCommittedAndNeverWillBe) {
  Leader leadership(throughProxy(), 9);
  ASSERT_THAT(leadership.claim(), succeeds());
  const auto lane = join(leadership, 1);
  const auto transaction = lane->begin(leadership.term).value();
  ASSERT_THAT(transaction->put("k", "in doubt"), succeeds());
  proxy.drop(Direction::toServer);
  auto committing = std::async(std::launch::async, [&] { return transaction->commit(); });
  proxy.cut();
  ASSERT_THAT(committing.get(), failsWith(Errc::outcomeUnknown));
  proxy.resume();

  EXPECT_EQ(lane->resolve(leadership.term).value(), CommitFate::notCommitted);

  EXPECT_EQ(stored("k"), "none");
}

}  // namespace
}  // namespace tenure::postgresql
