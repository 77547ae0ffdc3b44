// Servers that are open to anybody, stall, refuse, forget to answer, hand a session to somebody else, or may only read:
// rows 17, 22 and 25 to 28 of the forty faults, on a real ensemble. Throttling and a follower that lags are in
// tests/unit/election, on the one in memory: no real server can be brought to them at will.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "coordination/zookeeper.hpp"
#include "election/outside/view.hpp"
#include "support/await.hpp"
#include "support/contender.hpp"
#include "support/ensemble.hpp"
#include "support/forwarding_coordination.hpp"
#include "support/loopback.hpp"
#include "support/results.hpp"
#include "support/session_closer.hpp"
#include "support/tcp_proxy.hpp"
#include "support/unobserved.hpp"

namespace tenure::test {
namespace {

using namespace std::chrono_literals;

/// Lets a test act right before a multi goes out.
class BeforeMulti final : public ForwardingCoordination {
 public:
  BeforeMulti(ICoordination& inner, std::function<void(const std::vector<MultiOp>&)> hook)
      : ForwardingCoordination(inner), hook_(std::move(hook)) {}

  void multi(std::vector<MultiOp> ops, Callback<std::vector<std::string>> done) override {
    hook_(ops);
    ForwardingCoordination::multi(std::move(ops), std::move(done));
  }

 private:
  std::function<void(const std::vector<MultiOp>&)> hook_;
};

template <class Op>
bool holds(const std::vector<MultiOp>& ops) {
  return std::any_of(ops.begin(), ops.end(), [](const MultiOp& op) { return std::holds_alternative<Op>(op); });
}

class Servers : public ::testing::Test {
 protected:
  struct Member {
    std::unique_ptr<Contender> replica;
    std::unique_ptr<ICoordination> client;  // goes first
    Contender* operator->() const { return replica.get(); }
    std::int64_t session() const { return replica->events.of<SessionConnected>().back().session; }
  };

  std::unique_ptr<ICoordination> connect(const std::string& hosts, const std::string& digest = {}) {
    ZooKeeperOptions options;
    options.hosts = hosts;
    options.digest = Secret(digest);
    options.sessionTimeout = 6s;
    return std::move(makeZooKeeper(loop, options).value());
  }
  ElectionSettings settings(const std::string& id) const {
    ElectionSettings with = Contender::settingsOf(id, 0ms);
    with.root = paths.root;
    return with;
  }
  Member start(const std::string& hosts, const std::string& id) {
    Member member;
    member.client = connect(hosts);
    member.replica = std::make_unique<Contender>(settings(id), loop.loop(), *member.client);
    member->election.start();
    return member;
  }
  Member join(const std::string& hosts, const std::string& id) {
    Member member = start(hosts, id);
    EXPECT_TRUE(until([&] { return member->leads() || member->count<StoodBy>() > 0; })) << id;
    return member;
  }
  bool until(const std::function<bool()>& condition) { return loop.runUntil(condition, 60s); }
  /// A connected client without a candidate.
  std::unique_ptr<ICoordination> operatorOf(const Ensemble& ensemble) {
    auto client = connect(ensemble.hosts());
    client->start(nobody_);
    EXPECT_TRUE(until([this] { return nobody_.connected; }));
    return client;
  }
  std::size_t candidates(ICoordination& client) {
    return loop.await<ElectionView>([&](auto done) { readElection(client, paths, done); }).value().candidates.size();
  }

  ControlLoop loop;
  const ElectionPaths paths{"/test-" + freshUuid(), ElectionName{"orders"}};

 private:
  Unobserved nobody_;
};

TEST_F(Servers, Row17AnElectionThatAnybodyMayChangeIsWarnedOfAndRefusedWhenAskedFor) {
  Ensemble& ensemble = Ensemble::shared();
  const Member careless = join(ensemble.hosts(), "a");  // without credentials, it makes everything open to the world

  EXPECT_TRUE(careless->leads());
  EXPECT_EQ(careless->count<Warned>(), 1U);
  Member strict;
  strict.client = connect(ensemble.hosts());
  ElectionSettings with = settings("b");
  with.strictAcl = true;
  strict.replica = std::make_unique<Contender>(with, loop.loop(), *strict.client);
  strict->election.start();
  ASSERT_TRUE(until([&] { return !strict->fatal.empty(); }));
  EXPECT_TRUE(strict->fatal.front().is(Errc::configurationRefused));
  EXPECT_EQ(strict->count<Enrolled>(), 0U);
}

TEST_F(Servers, Row17WhatIsMadeWithADigestIsItsMakersAlone) {
  Ensemble& ensemble = Ensemble::shared();
  Member owner;
  owner.client = connect(ensemble.hosts(), "tenure:secret");
  ElectionSettings with = settings("a");
  with.strictAcl = true;
  owner.replica = std::make_unique<Contender>(with, loop.loop(), *owner.client);
  owner->election.start();
  ASSERT_TRUE(until([&] { return owner->leads(); }));
  EXPECT_EQ(owner->count<Warned>(), 0U);

  const auto stranger = operatorOf(ensemble);

  for (const std::string& path : {paths.root, paths.candidates, paths.marker}) {
    EXPECT_THAT(loop.await<Node>([&](auto done) { stranger->get(path, {}, done); }), failsWith(Errc::permissionDenied))
        << path;
    EXPECT_THAT(loop.await<NodeStat>([&](auto done) { stranger->set(path, "x", anyVersion, done); }),
                failsWith(Errc::permissionDenied))
        << path;
  }
  EXPECT_THAT(loop.await<CreatedNode>([&](auto done) {
    stranger->create(paths.candidates + "/" + freshUuid() + "-", "", CreateMode::ephemeralSequential, done);
  }),
              failsWith(Errc::permissionDenied));
}

TEST_F(Servers, Row22AServerThatAcceptsAndSaysNothingIsPassedOver) {
  const Descriptor silent = listenOn(0);
  const std::string hosts = "127.0.0.1:" + std::to_string(portOf(silent)) + "," + Ensemble::shared().hosts(0);

  for (int i = 0; i < 4; ++i) {  // the client begins anywhere in its list
    const Member a = join(hosts, "a");
    EXPECT_TRUE(a->leads());
    a->election.leave(Resignation::clean);
    ASSERT_TRUE(until([&] { return a->left; }));
  }
}

TEST_F(Servers, Row25AQuotaKeepsACandidateOutAndTheLeaderIn) {
  Ensemble ensemble({.servers = 1, .properties = {{"zookeeper.enforceQuota", "true"}}});
  const Member a = join(ensemble.hosts(), "a");
  ASSERT_TRUE(a->leads());
  const auto client = operatorOf(ensemble);
  const std::string quota = "/zookeeper/quota" + paths.root;
  const auto create = [&](const std::string& path, const std::string& data) {
    return loop.await<CreatedNode>([&](auto done) { client->create(path, data, CreateMode::persistent, done); });
  };
  ASSERT_TRUE(create(quota, ""));
  ASSERT_TRUE(create(quota + "/zookeeper_stats", "count=0,bytes=0"));
  ASSERT_TRUE(create(quota + "/zookeeper_limits", "count=-1,bytes=-1;byteHardLimit=-1;countHardLimit=1"));

  const Member b = start(ensemble.hosts(), "b");

  ASSERT_TRUE(until([&] { return b->count<ElectionFailed>() >= 2; }));
  EXPECT_EQ(b->count<Enrolled>(), 0U);
  EXPECT_TRUE(b->fatal.empty());
  EXPECT_TRUE(a->leads());
  EXPECT_TRUE(a->lost.empty());
  ASSERT_TRUE(loop.await<void>([&](auto done) { client->remove(quota + "/zookeeper_limits", anyVersion, done); }));
  EXPECT_TRUE(until([&] { return b->count<StoodBy>() == 1; }));
}

TEST_F(Servers, Row26TheMarkersWriteThatAppliedWithoutAnAnswerIsNotRepeated) {
  Ensemble& ensemble = Ensemble::shared();
  TcpProxy proxy{ensemble.port(0)};
  const auto client = connect(proxy.host());
  int marks = 0;
  BeforeMulti watched{*client, [&](const std::vector<MultiOp>& ops) {
                        if (holds<SetOp>(ops) && ++marks == 1) proxy.loseNextReply();
                      }};
  Contender a{settings("a"), loop.loop(), watched};
  a.election.start();

  ASSERT_TRUE(until([&] { return a.leads(); }));
  EXPECT_EQ(a.count<SessionConnected>(), 2U);
  EXPECT_EQ(a.terms.size(), 1U);
  EXPECT_EQ(a.count<Enrolled>(), 1U);
  EXPECT_EQ(a.term->identity().uncleanPredecessor, std::nullopt);
  EXPECT_EQ(candidates(*operatorOf(ensemble)), 1U);
  a.election.leave(Resignation::clean);
  EXPECT_TRUE(until([&] { return a.left; }));
}

TEST_F(Servers, Row26AFarewellThatAppliedWithoutAnAnswerLetsTheNextOneLead) {
  Ensemble& ensemble = Ensemble::shared();
  TcpProxy proxy{ensemble.port(0)};
  const auto client = connect(proxy.host());
  bool leaving = false;
  BeforeMulti watched{*client, [&](const std::vector<MultiOp>& ops) {
                        if (holds<RemoveOp>(ops) && std::exchange(leaving, false)) proxy.loseNextReply();
                      }};
  Contender a{settings("a"), loop.loop(), watched};
  a.election.start();
  ASSERT_TRUE(until([&] { return a.leads(); }));
  const Member b = join(ensemble.hosts(1), "b");

  leaving = true;
  a.handOver();

  ASSERT_TRUE(until([&] { return b->leads(); }));
  EXPECT_EQ(b->term->identity().uncleanPredecessor, std::nullopt);
  EXPECT_TRUE(until([&] { return a.count<StoodBy>() == 1; }));
  EXPECT_EQ(candidates(*operatorOf(ensemble)), 2U);
  a.election.leave(Resignation::clean);
  EXPECT_TRUE(until([&] { return a.left; }));
}

TEST_F(Servers, Row27WhoseSessionSomebodyElseTookHoldOfLeadsNoMore) {
  Ensemble& ensemble = Ensemble::shared();
  const Member a = join(ensemble.hosts(0), "a");
  const Member b = join(ensemble.hosts(2), "b");
  ASSERT_TRUE(a->leads());
  const std::int64_t session = a.session();

  const Descriptor thief = attachToSession(ensemble.port(1), session);

  ASSERT_TRUE(thief.valid());
  ASSERT_TRUE(until([&] { return !a->leads() || a->count<SessionConnected>() > 1; }));
  // Whoever of the two had the session last, only one term is valid at a time, and tokens grow.
  ASSERT_TRUE(until([&] { return a->leads() != b->leads(); }));
  if (b->leads()) {
    EXPECT_GT(b->terms.back().token, a->terms.front().token);
  }
  EXPECT_TRUE(a->fatal.empty());
}

TEST_F(Servers, Row28AServerThatMayOnlyReadMakesNoLeader) {
  Ensemble ensemble({.servers = 3, .properties = {{"readonlymode.enabled", "true"}}});
  ensemble.kill(1);
  ensemble.kill(2);
  ASSERT_TRUE(until([&] { return ensemble.isReadOnly(0); }));
  TcpProxy proxy{ensemble.port(0)};

  const Member a = start(proxy.host(), "a");

  ASSERT_TRUE(until([&] { return proxy.accepted() >= 3; }));
  EXPECT_EQ(a->count<SessionConnected>(), 0U);
  ensemble.start(1);
  EXPECT_TRUE(until([&] { return a->leads(); }));
  EXPECT_EQ(a->terms.size(), 1U);
}

TEST_F(Servers, Row28AReplicaOnAnObserverLeadsAndStopsWhenTheObserverStandsAlone) {
  std::map<std::pair<std::size_t, std::uint16_t>, std::unique_ptr<TcpProxy>> links;  // of the observer, to the others
  EnsembleOptions options{.servers = 4, .observers = 1};
  options.peerRoute = [&](std::size_t from, std::size_t to, std::uint16_t port) {
    if (from != 3) return port;
    auto& link = links[{to, port}];
    link = std::make_unique<TcpProxy>(port, 5s);
    return link->port();
  };
  Ensemble ensemble{options};
  const Member a = join(ensemble.hosts(3), "a");
  const Member b = join(ensemble.hosts(0), "b");
  ASSERT_TRUE(a->leads());

  for (const auto& [way, link] : links) link->stall();

  ASSERT_TRUE(until([&] { return !a->lost.empty(); }));
  EXPECT_FALSE(b->leads());
  ASSERT_TRUE(until([&] { return b->leads(); }));
  for (const auto& [way, link] : links) link->resume();
  EXPECT_TRUE(until([&] { return a->count<StoodBy>() == 1; }));
}

}  // namespace
}  // namespace tenure::test
