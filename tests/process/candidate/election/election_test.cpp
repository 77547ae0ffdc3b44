// The election on a real ensemble of three servers: what only real servers and a real network can show.
#include "election/machine/election.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "coordination/zookeeper.hpp"
#include "election/outside/view.hpp"
#include "support/await.hpp"
#include "support/contender.hpp"
#include "support/ensemble.hpp"
#include "support/forwarding_coordination.hpp"
#include "support/tcp_proxy.hpp"
#include "support/unobserved.hpp"

namespace tenure::test {
namespace {

using namespace std::chrono_literals;

/// Lets a test act right before a create goes out.
class BeforeCreate final : public ForwardingCoordination {
 public:
  BeforeCreate(ICoordination& inner, std::function<void(CreateMode)> hook)
      : ForwardingCoordination(inner), hook_(std::move(hook)) {}

  void create(std::string path, std::string data, CreateMode mode, Callback<CreatedNode> done) override {
    hook_(mode);
    ForwardingCoordination::create(std::move(path), std::move(data), mode, std::move(done));
  }

 private:
  std::function<void(CreateMode)> hook_;
};

class ElectionOnServers : public ::testing::Test {
 protected:
  struct Member {
    std::unique_ptr<Contender> replica;
    std::unique_ptr<ICoordination> client;  // goes first
    Contender* operator->() const { return replica.get(); }
    std::int64_t session() const { return replica->events.of<SessionConnected>().back().session; }
  };

  std::unique_ptr<ICoordination> connect(const std::string& hosts, std::chrono::milliseconds timeout) {
    ZooKeeperOptions options;
    options.hosts = hosts;
    options.sessionTimeout = timeout;
    options.allowShortSession = true;
    return std::move(makeZooKeeper(loop, options).value());
  }
  ElectionSettings settings(const std::string& id, std::chrono::milliseconds barrierLimit = 0ms) const {
    ElectionSettings with = Contender::settingsOf(id, barrierLimit);
    with.root = paths.root;
    return with;
  }
  Member join(const std::string& id, std::chrono::milliseconds timeout = 6s) {
    return joinThrough(ensemble.hosts(), id, timeout);
  }
  Member joinThrough(const std::string& hosts, const std::string& id, std::chrono::milliseconds timeout = 6s) {
    Member member;
    member.client = connect(hosts, timeout);
    member.replica = std::make_unique<Contender>(settings(id), loop.loop(), *member.client);
    member->election.start();
    EXPECT_TRUE(until([&] { return member->leads() || member->count<StoodBy>() > 0; })) << id;
    return member;
  }
  bool until(const std::function<bool()>& condition, std::chrono::milliseconds limit = 60s) {
    return loop.runUntil(condition, limit);
  }
  ICoordination& operatorClient() {
    if (!operator_) {
      operator_ = connect(ensemble.hosts(), 10s);
      operator_->start(nobody_);
      EXPECT_TRUE(until([this] { return nobody_.connected; }));
    }
    return *operator_;
  }
  ElectionView view() {
    return loop.await<ElectionView>([&](auto done) { readElection(operatorClient(), paths, done); }).value();
  }
  Result<void> remove(const std::string& path) {
    return loop.await<void>([&](auto done) { operatorClient().remove(path, anyVersion, done); });
  }

  Ensemble& ensemble = Ensemble::shared();
  ControlLoop loop;
  const ElectionPaths paths{"/test-" + freshUuid(), ElectionName{"orders"}};

 private:
  Unobserved nobody_;
  std::unique_ptr<ICoordination> operator_;
};

// shows: design/candidates-ranked-czxid
TEST_F(ElectionOnServers, CandidatesEnrolRankByCzxidAndBelongToTheirSessions) {
  const Member a = join("a");
  const Member b = join("b");
  const Member c = join("c");

  const ElectionView seen = view();
  ASSERT_EQ(seen.candidates.size(), 3U);
  EXPECT_EQ(seen.candidates[0].uuid, a->uuid);
  EXPECT_EQ(seen.candidates[1].uuid, b->uuid);
  EXPECT_EQ(seen.candidates[2].uuid, c->uuid);
  EXPECT_EQ(seen.leader()->czxid, a->terms.front().token.value);
  EXPECT_EQ(seen.candidates[0].session, a.session());
  EXPECT_EQ(seen.candidates[2].session, c.session());
  EXPECT_EQ(seen.marker.holder, thisProcess());
}

// shows: S7, send/former-leader-brings
TEST_F(ElectionOnServers, TwentyHandoversGoRoundWithGrowingTokens) {
  std::vector<Member> members;
  for (const std::string id : {"a", "b", "c"}) members.push_back(join(id));
  std::int64_t last = 0;
  std::vector<Duration> gaps;
  for (int i = 0; i < 20; ++i) {
    Member& leader = members[static_cast<std::size_t>(i) % members.size()];
    Member& next = members[static_cast<std::size_t>(i + 1) % members.size()];
    ASSERT_TRUE(until([&] { return leader->leads(); })) << i;
    EXPECT_GT(leader->term->identity().token.value, last);
    last = leader->term->identity().token.value;
    // Only who stands at the back again may follow later; otherwise the order would depend on its enrolment.
    ASSERT_TRUE(until([&] { return view().candidates.size() == members.size(); }));
    const BootTime asked = systemClock().now();
    leader->handOver();
    ASSERT_TRUE(until([&] { return next->leads(); })) << i;
    gaps.push_back(systemClock().now() - asked);
    EXPECT_FALSE(next->term->identity().uncleanPredecessor);
  }
  std::nth_element(gaps.begin(), gaps.begin() + 10, gaps.end());
  RecordProperty("medianGapUs",
                 std::to_string(std::chrono::duration_cast<std::chrono::microseconds>(gaps[10]).count()));
}

// shows: design/candidate-watches-before
TEST_F(ElectionOnServers, AHandoverWakesOneCandidate) {
  const Member a = join("a");
  std::vector<Member> standbys;
  for (const std::string id : {"b", "c", "d", "e", "f"}) standbys.push_back(join(id));

  const HandoverRequest request{a->terms.front().token, "operator", {}, systemClock().wallNow() + 30s};
  const Result<NodeStat> asked =
      loop.await<NodeStat>([&](auto done) { requestHandover(operatorClient(), paths, request, done); });

  ASSERT_TRUE(asked) << asked.error().message();
  ASSERT_TRUE(until([&] { return standbys.front()->leads() && a->count<StoodBy>() == 1; }));
  for (std::size_t i = 1; i < standbys.size(); ++i) EXPECT_EQ(standbys[i]->count<StoodBy>(), 1U);
}

TEST_F(ElectionOnServers, WhatCandidatesSayOfThemselvesChangesNoTokenAndWakesNobody) {
  const Member a = join("a");
  const Member b = join("b");
  const Member c = join("c");
  const FencingToken token = a->terms.front().token;

  a->election.tellReadiness(Readiness::inaugurated);
  b->election.tellReadiness(Readiness::notReady, "down");
  c->election.tellReadiness(Readiness::checking);

  ASSERT_TRUE(until([&] {
    const ElectionView seen = view();
    return seen.candidates[0].record.readiness == Readiness::inaugurated &&
           seen.candidates[1].record.whyNot == "down" && seen.candidates[2].record.readiness == Readiness::checking;
  }));
  EXPECT_TRUE(a->leads());
  EXPECT_EQ(view().candidates[0].czxid, token.value);
  for (const Member* each : {&b, &c}) EXPECT_EQ((*each)->count<StoodBy>(), 1U);

  c->election.tellReadiness(Readiness::ready);
  ASSERT_TRUE(until([&] { return b->count<SteppedAside>() == 1 && view().candidates.size() == 3; }));
  a->handOver();
  ASSERT_TRUE(until([&] { return c->leads(); }));
  EXPECT_TRUE(b->terms.empty());
}

// shows: operations/those-between-back
TEST_F(ElectionOnServers, ATargetedHandoverMovesThoseBetweenAndWakesNobodyBehindTheTarget) {
  const Member a = join("a");
  std::vector<Member> standbys;
  for (const std::string id : {"b", "c", "d", "e", "f"}) standbys.push_back(join(id));
  const Member& target = standbys[2];

  const HandoverRequest request{a->terms.front().token, "operator", target->uuid, systemClock().wallNow() + 30s};
  ASSERT_TRUE(loop.await<NodeStat>([&](auto done) { requestHandover(operatorClient(), paths, request, done); }));

  ASSERT_TRUE(until([&] { return target->leads() && view().candidates.size() == 6; }));
  EXPECT_TRUE(standbys[0]->terms.empty() && standbys[1]->terms.empty());
  EXPECT_EQ(view().candidates[1].uuid, standbys[3]->uuid);
  EXPECT_EQ(standbys[3]->count<StoodBy>(), 1U);
  EXPECT_EQ(standbys[4]->count<StoodBy>(), 1U);
}

// shows: L1
TEST_F(ElectionOnServers, AForcedExpiryEndsTheTermAndTheNextOneLeads) {
  const Member a = join("a");
  const Member b = join("b");

  ensemble.expireSession(a.session());

  ASSERT_TRUE(until([&] { return b->leads(); }));
  ASSERT_TRUE(until([&] { return a->count<StoodBy>() == 1; }));
  ASSERT_EQ(a->lost.size(), 1U);
  EXPECT_THAT(a->lost.front(), ::testing::AnyOf(EndReason::sessionExpired, EndReason::znodeDeleted));
  EXPECT_EQ(b->terms.front().uncleanPredecessor, std::nullopt);  // the same process held it: nobody to evict
}

TEST_F(ElectionOnServers, Row10ADeletedParentIsMadeAgainAndTheTokenGrows) {
  const Member a = join("a");
  // Both at once, or the leader would be back between the two.
  ASSERT_TRUE(loop.await<std::vector<std::string>>([&](auto done) {
    operatorClient().multi({RemoveOp{paths.candidate(a->znode())}, RemoveOp{paths.candidates}}, done);
  }));
  ASSERT_TRUE(until([&] { return a->terms.size() == 2 && a->leads(); }));
  EXPECT_GT(a->terms[1].token, a->terms[0].token);
}

TEST_F(ElectionOnServers, Row11AnOperatorsDeleteEndsTheTerm) {
  const Member a = join("a");
  const Member b = join("b");
  ASSERT_TRUE(remove(paths.candidate(a->znode())));
  ASSERT_TRUE(until([&] { return b->leads() && a->count<StoodBy>() == 1; }));
  EXPECT_EQ(a->lost, std::vector<EndReason>{EndReason::znodeDeleted});
}

// shows: operations/server-dies-costs
TEST_F(ElectionOnServers, ServersRestartingOneByOneChangeNoLeader) {
  const Member a = join("a", 40s);
  const Member b = join("b", 40s);
  const FencingToken token = a->terms.front().token;
  for (std::size_t server = 0; server < ensemble.size(); ++server) {
    ensemble.restart(server, [this] { loop.runReady(); });
    // Everybody is back, and a probe has been committed since: the lease reaches further than half the timeout.
    ASSERT_TRUE(until([&] { return a->leads() && Term{a->term}.remaining() > 12s; })) << "server " << server;
  }
  EXPECT_TRUE(a->lost.empty());
  EXPECT_EQ(a->terms.size(), 1U);
  EXPECT_EQ(view().leader()->czxid, token.value);
  EXPECT_FALSE(b->leads());
}

// shows: design/create-whose-reply
TEST_F(ElectionOnServers, Row26AnAmbiguousCreateIsFoundAgainAndNotRepeated) {
  const Member leader = join("leader");
  TcpProxy proxy{ensemble.port(0)};
  const auto client = connect(proxy.host(), 10s);
  int creates = 0;
  BeforeCreate watched{*client, [&](CreateMode mode) {
                         if (mode == CreateMode::ephemeralSequential && ++creates == 1) proxy.loseNextReply();
                       }};
  Contender a{settings("a"), loop.loop(), watched};
  a.election.start();

  ASSERT_TRUE(until([&] { return a.count<StoodBy>() == 1; }));
  EXPECT_EQ(creates, 1);
  EXPECT_TRUE(a.events.of<Enrolled>().front().foundAgain);
  EXPECT_EQ(view().candidates.size(), 2U);
  a.election.leave(Resignation::clean);
  EXPECT_TRUE(until([&] { return a.left; }));
}

// shows: readme/cut-off
TEST_F(ElectionOnServers, ACutOffLeaderStopsBeforeItsSuccessorBegins) {
  TcpProxy proxy{ensemble.port(0)};
  const Member a = joinThrough(proxy.host(), "a");
  const Member b = join("b");
  ASSERT_TRUE(a->leads());

  proxy.stall();

  ASSERT_TRUE(until([&] { return !a->lost.empty(); }));
  EXPECT_EQ(a->lost.front(), EndReason::leaseLost);
  EXPECT_FALSE(b->leads());
  ASSERT_TRUE(until([&] { return b->leads(); }));
  proxy.resume();
  EXPECT_TRUE(until([&] { return a->count<StoodBy>() == 1; }));
}

// shows: readme/leaves-next-takes
TEST_F(ElectionOnServers, LeavingHandsOverAtOnce) {
  const Member a = join("a");
  const Member b = join("b");
  a->election.leave(Resignation::clean);
  ASSERT_TRUE(until([&] { return a->left && b->leads(); }));
  EXPECT_EQ(b->count<BarrierBegan>(), 0U);
  EXPECT_EQ(view().candidates.size(), 1U);
}

TEST_F(ElectionOnServers, Row05AForeignPersistentChildIsIgnoredAndNamed) {
  const Member first = join("first");
  ASSERT_TRUE(loop.await<CreatedNode>([&](auto done) {
    operatorClient().create(paths.candidate(std::string(32, 'e') + "-0000000000"), "", CreateMode::persistent, done);
  }));
  const Member a = join("a");
  first->election.leave(Resignation::clean);
  ASSERT_TRUE(until([&] { return a->leads(); }));
  EXPECT_EQ(a->count<ForeignChildIgnored>(), 1U);
}

// shows: S7
TEST(ElectionAcrossARollOver, Row14TokensGrowWhenTheZxidRollsOver) {
  EnsembleOptions options;
  options.properties = {{"zookeeper.testingonly.initialZxid", "4294967232"}};
  Ensemble ensemble{options};
  ControlLoop loop;
  ZooKeeperOptions zookeeper;
  zookeeper.hosts = ensemble.hosts();
  zookeeper.sessionTimeout = 20s;
  const auto client = std::move(makeZooKeeper(loop, zookeeper).value());
  Contender a{"a", loop.loop(), *client};
  a.election.start();
  ASSERT_TRUE(loop.runUntil([&] { return a.leads(); }));
  const std::int64_t epochBefore = a.terms.front().token.value >> 32;

  std::int64_t last = 0;
  while (a.terms.back().token.value >> 32 == epochBefore) {
    ASSERT_GT(a.terms.back().token.value, last);
    last = a.terms.back().token.value;
    const std::size_t terms = a.terms.size();
    ASSERT_LT(terms, 500U) << "the zxid never rolled over";
    a.handOver();
    ASSERT_TRUE(loop.runUntil([&] { return a.terms.size() > terms && a.leads(); }, 120s));
  }
  EXPECT_GT(a.terms.back().token.value, last);
  a.election.leave(Resignation::clean);
  EXPECT_TRUE(loop.runUntil([&] { return a.left; }));
}

}  // namespace
}  // namespace tenure::test
