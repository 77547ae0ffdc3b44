// The leadership goes to the one it is meant for: elections on an ensemble in memory, in virtual time.
#include "support/forwarding_coordination.hpp"
#include "unit/election/election_world.hpp"

namespace tenure::test {
namespace {

using ensemble::RequestKind;

class Targeted : public ElectionTest {
 protected:
  std::vector<std::string> line() {
    std::vector<std::string> ids;
    for (const CandidateView& each : view().value().candidates) ids.push_back(each.record.id.value);
    return ids;
  }
  bool everybodyStandsInLine() {
    return until([this] { return view()->candidates.size() == 5; });
  }

  const Member a = join("a");
  const Member b = join("b");
  const Member c = join("c");
  const Member d = join("d");
  const Member e = join("e");
};

TEST_F(Targeted, ThoseBetweenGoToTheBackAndTheTargetLeadsNext) {
  ask(a, d->uuid);

  ASSERT_TRUE(until([&] { return d->leads(); }));
  EXPECT_TRUE(b->terms.empty() && c->terms.empty()) << "nobody led in between";
  EXPECT_FALSE(d->terms.front().uncleanPredecessor);
  ASSERT_TRUE(everybodyStandsInLine());
  EXPECT_EQ(line()[0], "d");
  EXPECT_EQ(line()[1], "e") << "whoever stood behind the target has kept its place";
}

TEST_F(Targeted, WhoeverStandsBehindTheTargetIsNotWoken) {
  ask(a, d->uuid);
  ASSERT_TRUE(until([&] { return d->leads(); }));
  ASSERT_TRUE(everybodyStandsInLine());
  EXPECT_EQ(e->count<StoodBy>(), 1U);
}

TEST_F(Targeted, TheOneWhoIsNextNeedsNobodySentBack) {
  ask(a, b->uuid);
  ASSERT_TRUE(until([&] { return b->leads(); }));
  EXPECT_EQ(a->count<CandidateSentBack>(), 0U);
  EXPECT_EQ(c->count<CandidacyLost>(), 0U);
}

TEST_F(Targeted, ATargetThatIsGoneIsDeclinedAndTheLeaderStays) {
  d->election.leave(Resignation::clean);
  ASSERT_TRUE(until([&] { return d->left; }));
  ask(a, d->uuid);

  ASSERT_TRUE(until([&] { return a->count<HandoverDeclined>() == 1; }));
  EXPECT_TRUE(a->leads());
  EXPECT_EQ(b->count<CandidacyLost>(), 0U);
}

TEST_F(Targeted, ALostReplyToAnOfferChangesNothing) {
  ensemble.loseNextReply(a.client->machine(), RequestKind::multi);
  ask(a, d->uuid);
  ASSERT_TRUE(until([&] { return d->leads() || a->count<HandoverDeclined>() > 0; }));
  EXPECT_TRUE(d->leads());
}

// shows: operations/request-later-shown
TEST_F(Targeted, ARequestOutlivedByItsTermLapses) {
  ask(a, d->uuid, 5s);
  ASSERT_TRUE(until([&] { return a->count<HandoverScheduled>() == 1; }));
  a->handOver();
  ASSERT_TRUE(until([&] { return b->leads(); }));

  loop.advance(20s);
  EXPECT_TRUE(b->leads());
  EXPECT_TRUE(d->terms.empty());
}

TEST_F(Targeted, AScheduledRequestIsHonouredAtItsTime) {
  const BootTime asked = loop.now();
  ask(a, d->uuid, 5s);
  ASSERT_TRUE(until([&] { return d->leads(); }));
  EXPECT_GE(loop.now() - asked, 5s);
  EXPECT_LT(loop.now() - asked, 7s);
}

TEST_F(Targeted, AScheduledRequestCanBeTakenBack) {
  ask(a, d->uuid, 5s);
  ASSERT_TRUE(until([&] { return a->count<HandoverScheduled>() == 1; }));
  EXPECT_EQ(view()->request->to, d->uuid);
  ASSERT_TRUE(await<NodeStat>([&](auto done) { operatorClient().set(paths.handover, "", anyVersion, done); }));

  loop.advance(20s);
  EXPECT_TRUE(a->leads());
  EXPECT_EQ(a->count<HandoverCancelled>(), 1U);
}

TEST_F(Targeted, TheProgramNamesItsSuccessorById) {
  a->election.handOver(a->terms.front().token, CandidateId{"c"}, "program");
  ASSERT_TRUE(until([&] { return c->leads(); }));
  EXPECT_TRUE(b->terms.empty());
}

TEST_F(Targeted, TheProgramIsToldWhyAnIdIsDeclined) {
  a->election.handOver(a->terms.front().token, CandidateId{"nobody"}, "program");
  ASSERT_TRUE(until([&] { return a->count<HandoverDeclined>() == 1; }));
  EXPECT_THAT(a->events.of<HandoverDeclined>().front().why, testing::HasSubstr("no candidate is called"));

  a->election.handOver(a->terms.front().token, CandidateId{"a"}, "program");
  ASSERT_TRUE(until([&] { return a->count<HandoverDeclined>() == 2; }));
  EXPECT_THAT(a->events.of<HandoverDeclined>().back().why, testing::HasSubstr("leads already"));
}

TEST_F(Targeted, ARequestForAnyOneNeverGoesToAnObserver) {
  const Member watcher = joinWishing("watcher", Preference::never);
  a->election.handOver(a->terms.front().token, CandidateId{"watcher"}, "program");
  ASSERT_TRUE(until([&] { return a->count<HandoverDeclined>() == 1; }));
  EXPECT_THAT(a->events.of<HandoverDeclined>().front().why, testing::HasSubstr("observer"));
  EXPECT_EQ(view()->observers.size(), 1U);
}

/// To this leader the candidates do not say that they know the baton. Its orders to send somebody back are kept until
/// the test sends them.
class SlowToSendBack final : public ForwardingCoordination {
 public:
  using ForwardingCoordination::ForwardingCoordination;
  void multi(std::vector<MultiOp> ops, Callback<std::vector<std::string>> done) override {
    const bool sendsBack = ops.size() == 2 && std::holds_alternative<RemoveOp>(ops[1]);
    if (!sendsBack) return ForwardingCoordination::multi(std::move(ops), std::move(done));
    held_.push_back(std::move(ops));
  }
  void get(std::string path, WatchCallback watch, Callback<Node> done) override {
    ForwardingCoordination::get(std::move(path), std::move(watch), [done](Result<Node> node) {
      const std::string knows = R"("knowsBaton":true)";
      if (const auto at = node ? node->data.find(knows) : std::string::npos; at != std::string::npos)
        node->data.replace(at, knows.size(), R"("knowsBaton":false)");
      done(std::move(node));
    });
  }
  std::size_t holds() const { return held_.size(); }
  void release() {
    for (std::vector<MultiOp>& ops : std::exchange(held_, {}))
      ForwardingCoordination::multi(std::move(ops), [this](auto result) { result ? ++accepted : ++refused; });
  }
  int accepted = 0;
  int refused = 0;

 private:
  std::vector<std::vector<MultiOp>> held_;
};

class SentBackLate : public ElectionTest {
 protected:
  Member joinSlow(const std::string& id) {
    Member member;
    member.client = ensemble.connect();
    slow = std::make_unique<SlowToSendBack>(*member.client);
    member.replica = std::make_unique<Contender>(Contender::settingsOf(id, 0ms), loop, *slow);
    member->election.start();
    EXPECT_TRUE(until([&] { return member->leads(); }));
    return member;
  }

  std::unique_ptr<SlowToSendBack> slow;
};

// shows: operations/successor-earlier-version
TEST_F(SentBackLate, NobodyLosesItsPlaceOnceAnotherLeads) {
  const Member a = joinSlow("a");
  const Member b = join("b");
  const Member c = join("c");
  const Member d = join("d");
  ask(a, d->uuid);
  ASSERT_TRUE(until([&] { return slow->holds() == 2; }));
  ASSERT_TRUE(remove(paths.candidate(a->znode())));
  ASSERT_TRUE(until([&] { return b->leads(); }));

  slow->release();

  ASSERT_TRUE(until([&] { return slow->accepted + slow->refused == 2; }));
  EXPECT_EQ(slow->refused, 2);
  loop.advance(10s);
  EXPECT_TRUE(b->leads());
  EXPECT_EQ(b->count<CandidacyLost>() + c->count<CandidacyLost>(), 0U);
}

class Wishes : public ElectionTest {};

// shows: operations/preference-preferred-handed
TEST_F(Wishes, APreferredCandidateIsHandedTheLeadershipOnceItHasStoodByForAWhile) {
  const Member a = join("a");
  const Member b = join("b");
  const Member c = joinWishing("c", Preference::preferred);
  const BootTime joined = loop.now();

  ASSERT_TRUE(until([&] { return c->leads(); }, 5min));
  EXPECT_GE(loop.now() - joined, 60s);
  EXPECT_TRUE(b->terms.empty());
  loop.advance(10min);
  EXPECT_TRUE(c->leads()) << "and keeps it";
}

TEST_F(Wishes, APreferredCandidateWhoseTermsFailIsGivenFewerAndFewer) {
  const Member a = join("a");
  const Member c = joinWishing("c", Preference::preferred);
  const auto fails = [&] {
    if (!c->leads()) return;
    c->term.reset();
    c->election.resign(Resignation::clean, /*failed=*/true);
  };
  std::size_t terms = 0;
  for (const Duration stoodBy : {60s, 120s, 240s, 480s}) {
    const BootTime since = loop.now();
    ASSERT_TRUE(until([&] { return c->terms.size() > terms; }, 20min));
    EXPECT_GE(loop.now() - since, stoodBy);
    terms = c->terms.size();
    fails();
    ASSERT_TRUE(until([&] { return a->leads(); }));
  }
}

TEST_F(Wishes, AnObserverIsNeverElectedThoughItIsAlone) {
  const Member watcher = joinWishing("watcher", Preference::never);
  loop.advance(10min);
  EXPECT_TRUE(watcher->terms.empty());
  EXPECT_EQ(view()->observers.front().record.preference, Preference::never);
  EXPECT_TRUE(view()->candidates.empty());
}

TEST_F(Wishes, OnlyTheOneWhoIsNextMayPrepare) {
  const Member a = join("a");
  const Member b = join("b");
  const Member c = join("c");
  EXPECT_FALSE(a->next);
  EXPECT_TRUE(b->next);
  EXPECT_FALSE(c->next);

  ASSERT_TRUE(remove(paths.candidate(b->znode())));
  ASSERT_TRUE(until([&] { return c->next && b->count<StoodBy>() == 2; }));
  EXPECT_FALSE(b->next);
}

}  // namespace
}  // namespace tenure::test
