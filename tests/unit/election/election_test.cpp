// The election and its shell on an ensemble in memory, in virtual time.
#include "unit/election/election_world.hpp"

namespace tenure::test {
namespace {

using ensemble::RequestKind;

TEST_F(ElectionTest, TheFirstLeadsAndTheOthersStandByInOrder) {
  const Member a = join("a");
  const Member b = join("b");
  const Member c = join("c");

  EXPECT_TRUE(a->leads());
  EXPECT_EQ(b->events.of<StoodBy>().back().predecessor, a->znode());
  EXPECT_EQ(c->events.of<StoodBy>().back().predecessor, b->znode());
  const Result<ElectionView> seen = view();
  ASSERT_TRUE(seen) << seen.error().message();
  ASSERT_EQ(seen->candidates.size(), 3U);
  EXPECT_EQ(seen->leader()->uuid, a->uuid);
  EXPECT_EQ(seen->candidates[2].record.id, CandidateId{"c"});
  EXPECT_EQ(seen->meta->ensemble, a->terms.front().ensemble);
}

TEST_F(ElectionTest, AHandoverIsAskedForThroughTheEnsembleAndTheOldLeaderGoesToTheBack) {
  const Member a = join("a");
  const Member b = join("b");

  ask(a, {});

  ASSERT_TRUE(until([&] { return b->leads(); }));
  EXPECT_THAT(a->askedBy, ::testing::ElementsAre("operator"));
  EXPECT_GT(b->terms.front().token, a->terms.front().token);
  EXPECT_FALSE(b->terms.front().uncleanPredecessor);
  EXPECT_TRUE(until([&] { return a->count<StoodBy>() == 1; }));
}

// shows: operations/alone-same-replica
TEST_F(ElectionTest, AloneItLeadsAgainUnderANewToken) {
  const Member a = join("a");
  a->handOver();
  ASSERT_TRUE(until([&] { return a->terms.size() == 2; }));
  EXPECT_GT(a->terms[1].token, a->terms[0].token);
}

// shows: L1
TEST_F(ElectionTest, APredecessorThatDiesIsFollowedAfterItsSessionAndNamedAsUnclean) {
  Member a = join("a");
  const Member b = join("b");
  const TermIdentity dead = a->terms.front();
  a.client.reset();
  a.replica.reset();

  ASSERT_TRUE(until([&] { return b->leads(); }));
  EXPECT_EQ(b->count<BarrierBegan>(), 1U);
  EXPECT_GT(b->terms.front().token, dead.token);
}

// shows: L1
TEST_F(ElectionTest, TheBarrierOfADeadHolderIsWaitedFor) {
  Member a = join("a", 7s);
  const Member b = join("b");
  a.client.reset();
  a.replica.reset();

  ASSERT_TRUE(until([&] { return b->count<BarrierBegan>() == 1; }));
  const BootTime began = loop.now();
  ASSERT_TRUE(until([&] { return b->leads(); }));
  EXPECT_GE(loop.now() - began, 7s);
  EXPECT_EQ(b->events.of<BarrierEnded>().front().how, "limit");
}

TEST_F(ElectionTest, WhoWaitsAtABarrierSaysSinceWhenUntilItLeads) {
  Member a = join("a", 7s);
  const Member b = join("b");
  EXPECT_EQ(view()->waiting(), nullptr);
  a.client.reset();
  a.replica.reset();

  ASSERT_TRUE(until([&] { return b->count<BarrierBegan>() == 1; }));
  const WallTime began = loop.wallNow();
  ASSERT_TRUE(until([&] { return view()->waiting() != nullptr; }));
  const ElectionView seen = *view();
  EXPECT_EQ(seen.waiting()->record.id.value, "b");
  EXPECT_EQ(seen.waiting()->record.waitsSince, began);
  EXPECT_EQ(seen.marker.id.value, "a");
  EXPECT_EQ(seen.marker.barrierLimit, 7s);

  ASSERT_TRUE(until([&] { return b->leads(); }));
  EXPECT_TRUE(until([&] { return view()->candidates.front().record.waitsSince == WallTime{}; }));
}

TEST_F(ElectionTest, WithoutABarrierNobodyWaits) {
  Member a = join("a");
  const Member b = join("b");
  a.client.reset();
  a.replica.reset();

  ASSERT_TRUE(until([&] { return b->leads(); }));

  EXPECT_EQ(view()->waiting(), nullptr);
  EXPECT_EQ(view()->candidates.front().record.waitsSince, WallTime{});
}

TEST_F(ElectionTest, Row26ALostCreateReplyIsFoundAgain) {
  const Member leader = join("leader");
  Member a = prepare("a");
  ensemble.loseNextReply(a.client->machine(), RequestKind::create);
  a->election.start();

  ASSERT_TRUE(until([&] { return a->count<StoodBy>() == 1; }));
  EXPECT_TRUE(a->events.of<Enrolled>().front().foundAgain);
  EXPECT_EQ(view()->candidates.size(), 2U);
}

TEST_F(ElectionTest, ItBecomesLeaderThoughTheReplyToTheMarkerIsLost) {
  const Member a = join("a");
  const Member b = join("b");
  ensemble.loseNextReply(b.client->machine(), RequestKind::multi);
  a->handOver();
  ASSERT_TRUE(until([&] { return b->leads(); }));
  EXPECT_EQ(b->terms.size(), 1U);
}

TEST_F(ElectionTest, ALostReplyToTheResignationLeavesNoGhost) {
  const Member a = join("a");
  const Member b = join("b");
  ensemble.loseNextReply(a.client->machine(), RequestKind::multi);
  a->handOver();
  ASSERT_TRUE(until([&] { return b->leads() && a->count<StoodBy>() == 1; }));
  EXPECT_FALSE(b->terms.front().uncleanPredecessor);
  EXPECT_EQ(view()->candidates.size(), 2U);
}

TEST_F(ElectionTest, AReplicaRestartedUnderItsOldIdStandsBehindWhatItLeftBehind) {
  Member a = join("a");
  a.client.reset();
  a.replica.reset();
  const Member again = join("a");

  EXPECT_FALSE(again->leads()) << "while the znode of its former life stands";
  ASSERT_TRUE(until([&] { return again->leads(); }));
  EXPECT_EQ(view().value().candidates.size(), 1U);
}

TEST_F(ElectionTest, AnExpiredLeaderLosesItsTermAtOnceAndRejoins) {
  const Member a = join("a");
  const Member b = join("b");
  ensemble.expire(a.client->session());

  ASSERT_TRUE(until([&] { return b->leads() && a->count<StoodBy>() == 1; }));
  EXPECT_EQ(a->lost.size(), 1U);
  EXPECT_FALSE(a->leads());
}

TEST_F(ElectionTest, ALeaderThatIsCutOffStopsBeforeItsSuccessorBegins) {
  const Member a = join("a");
  const Member b = join("b");
  for (int server = 1; server <= 3; ++server) ensemble.cut(a.client->machine(), MemoryEnsemble::server(server));

  ASSERT_TRUE(until([&] { return !a->lost.empty(); }));
  EXPECT_EQ(a->lost.front(), EndReason::leaseLost);
  EXPECT_FALSE(b->leads());
  ASSERT_TRUE(until([&] { return b->leads(); }));
}

// shows: design/server-cut-off
TEST_F(ElectionTest, AStaleServerThatAnswersReadsDoesNotKeepALeaderLeading) {
  const Member a = join("a");
  const Member b = join("b");
  ensemble.isolate(a.client->server());
  ASSERT_TRUE(until([&] { return !a->lost.empty(); }));
  EXPECT_FALSE(a->leads());
}

TEST_F(ElectionTest, Row10ADeletedParentIsMadeAgainAndTheTokenGrows) {
  const Member a = join("a");
  ASSERT_TRUE(await<std::vector<std::string>>([&](auto done) {
    operatorClient().multi({RemoveOp{paths.candidate(a->znode())}, RemoveOp{paths.candidates}}, done);
  }));
  ASSERT_TRUE(until([&] { return a->terms.size() == 2; }));
  EXPECT_GT(a->terms[1].token, a->terms[0].token);
  EXPECT_EQ(a->lost.front(), EndReason::znodeDeleted);
}

TEST_F(ElectionTest, Row11AnOperatorsDeleteEndsTheTermAndTheNextLeads) {
  const Member a = join("a");
  const Member b = join("b");
  ASSERT_TRUE(remove(paths.candidate(a->znode())));
  ASSERT_TRUE(until([&] { return b->leads(); }));
  EXPECT_EQ(a->lost.front(), EndReason::znodeDeleted);
  EXPECT_TRUE(until([&] { return a->count<StoodBy>() == 1; }));
}

TEST_F(ElectionTest, Row13SequenceNumbersThatComeRoundChangeNothing) {
  Member a = join("a");
  loop.advance(1s);
  ensemble.edit([](ensemble::DataTree& tree) { tree.setCreations(paths.candidates, 2147483646); });
  const Member b = join("b");
  const Member c = join("c");
  const Member d = join("d");

  EXPECT_TRUE(a->leads());
  a->handOver();
  ASSERT_TRUE(until([&] { return b->leads(); }));
  b->handOver();
  ASSERT_TRUE(until([&] { return c->leads(); }));
  c->handOver();
  ASSERT_TRUE(until([&] { return d->leads(); }));
}

TEST_F(ElectionTest, Row14ATokenBeyond2To53IsStillExact) {
  const Member warmUp = join("warm-up");
  ensemble.jumpTo((std::int64_t{1} << 53) + 1);
  warmUp->handOver();
  ASSERT_TRUE(until([&] { return warmUp->terms.size() == 2; }));
  EXPECT_EQ(view()->marker.token, warmUp->terms.back().token);
  EXPECT_GT(warmUp->terms.back().token.value, (std::int64_t{1} << 53) + 1);
}

TEST_F(ElectionTest, OneCandidateIsWokenAHandover) {
  const Member a = join("a");
  const Member b = join("b");
  const Member c = join("c");
  const Member d = join("d");
  a->handOver();
  ASSERT_TRUE(until([&] { return b->leads() && a->count<StoodBy>() == 1; }));
  EXPECT_EQ(c->count<StoodBy>(), 1U);
  EXPECT_EQ(d->count<StoodBy>(), 1U);
}

TEST_F(ElectionTest, LeavingFreesTheLeadershipAndLeavesNothingBehind) {
  const Member a = join("a");
  const Member b = join("b");
  a->election.leave(Resignation::clean);
  ASSERT_TRUE(until([&] { return a->left && b->leads(); }));
  EXPECT_FALSE(b->terms.front().uncleanPredecessor);
  EXPECT_EQ(view()->candidates.size(), 1U);
}

TEST_F(ElectionTest, NobodyLeadsTwiceAtATimeWhateverIsDropped) {
  std::vector<Member> members;
  for (const std::string id : {"a", "b", "c"}) members.push_back(join(id));
  Random random{7};
  for (int step = 0; step < 300; ++step) {
    Member& member = members[random.below(members.size())];
    switch (random.below(5)) {
      case 0: member.client->dropConnection(); break;
      case 1: ensemble.loseNextReply(member.client->machine()); break;
      case 2: ensemble.loseNextRequest(member.client->machine()); break;
      case 3:
        if (member->leads()) member->handOver();
        break;
      default: ensemble.expire(member.client->session()); break;
    }
    loop.advance(std::chrono::milliseconds{random.below(3'000)});
    int leaders = 0;
    for (const Member& each : members) leaders += each->leads() ? 1 : 0;
    ASSERT_LE(leaders, 1) << "at step " << step;
  }
  EXPECT_TRUE(until(
      [&] { return std::any_of(members.begin(), members.end(), [](const Member& each) { return each->leads(); }); }));
}

TEST_F(ElectionTest, ReadingAnElectionThatNobodyEnteredCreatesNothing) {
  EXPECT_TRUE(view().error().is(Errc::notFound));
  EXPECT_EQ(ensemble.tree().find("/tenure"), nullptr);
}

TEST_F(ElectionTest, AViewNamesTheOffenders) {
  const Member a = join("a");
  const auto plant = [this](const std::string& name) {
    return await<CreatedNode>(
        [&](auto done) { operatorClient().create(paths.candidate(name), "", CreateMode::persistent, done); });
  };
  ASSERT_TRUE(plant("lock-0000000001"));
  ASSERT_TRUE(plant(std::string(32, 'e') + "-0000000000"));

  const Result<ElectionView> seen = view();
  ASSERT_EQ(seen->offenders.size(), 2U);
  EXPECT_EQ(seen->candidates.size(), 1U);
}

}  // namespace
}  // namespace tenure::test
