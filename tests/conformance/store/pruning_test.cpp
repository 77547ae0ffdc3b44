// Forgetting idempotency keys: by age alone, a step at a time, and under the fence.
#include "conformance/store/store_suite.hpp"

namespace tenure::test {
namespace {

using namespace std::chrono_literals;

class PruningSuite : public StoreSuite {
 protected:
  static Pruning everything(std::size_t atMost = 100) {
    return {.consumer = consumer, .before = systemClock().wallNow() + 1h, .after = {}, .atMost = atMost};
  }
  static void admitAll(const Leader& leader, const std::vector<std::string>& ids) {
    for (const std::string& id : ids) ASSERT_EQ(admit(leader, id).value(), Admission::fresh);
  }
};

// shows: messages/message-comes-again
TEST_P(PruningSuite, KeysStayUntilTheyAreOldEnough) {
  const Leader leader = leaderWith(7);
  admitAll(leader, {"a", "b"});
  Pruning yesterday = everything();
  yesterday.before = systemClock().wallNow() - 24h;

  const Pruned pruned = leader.store->prune(leader.term, yesterday).value();

  EXPECT_EQ(pruned.looked, 2U);
  EXPECT_EQ(pruned.removed, 0U);
  EXPECT_EQ(admit(leader, "a").value(), Admission::duplicate);
}

// shows: messages/leader-forgets-older
TEST_P(PruningSuite, GoesOnFromStepToStepUntilTheEnd) {
  const Leader leader = leaderWith(7);
  admitAll(leader, {"a", "b", "c", "d", "e"});
  Pruning step = everything(2);
  std::size_t removed = 0;

  do {
    const Pruned pruned = leader.store->prune(leader.term, step).value();
    removed += pruned.removed;
    step.after = pruned.last;
  } while (!step.after.empty());

  EXPECT_EQ(removed, 5U);
  EXPECT_EQ(admit(leader, "c").value(), Admission::fresh);
}

// shows: messages/keys-carry-consumer
TEST_P(PruningSuite, LeavesAnotherConsumersKeysAlone) {
  const Leader leader = leaderWith(7);
  admitAll(leader, {"a"});
  Pruning ofAnother = everything();
  ofAnother.consumer = ConsumerName{"another"};

  EXPECT_EQ(leader.store->prune(leader.term, ofAnother).value().removed, 0U);

  EXPECT_EQ(admit(leader, "a").value(), Admission::duplicate);
}

TEST_P(PruningSuite, AStaleTermRemovesNothing) {
  const Leader stale = leaderWith(7);
  admitAll(stale, {"a"});
  const Leader leader = leaderWith(8);

  EXPECT_THAT(stale.store->prune(stale.term, everything()), failsWith(Errc::staleTerm));

  EXPECT_EQ(admit(leader, "a").value(), Admission::duplicate);
}

TEST_P(PruningSuite, CommitsGoOnAfterIt) {
  const Leader leader = leaderWith(7);
  admitAll(leader, {"a"});
  ASSERT_EQ(leader.store->prune(leader.term, everything()).value().removed, 1U);

  EXPECT_THAT(put(leader, "k", "v"), succeeds());
  EXPECT_EQ(leader.store->prune(leader.term, everything()).value().looked, 0U);
}

TEST_P(PruningSuite, AKeyThatLiesInTheFutureKeepsAllThatItIsLookedAtWith) {
  const Leader leader = leaderWith(7);
  admitAll(leader, {"a", "b"});
  Pruning step = everything();
  step.now = systemClock().wallNow() - 1h;

  const Pruned pruned = leader.store->prune(leader.term, step).value();

  EXPECT_TRUE(pruned.future);
  EXPECT_EQ(pruned.removed, 0U);
  EXPECT_EQ(admit(leader, "a").value(), Admission::duplicate);
}

// shows: messages/ages-store-clock
TEST_P(PruningSuite, KeysAreMadeByTheClockThatTheStoreTellsOrElseByOurs) {
  const Leader leader = leaderWith(7);
  const auto now = [&] { return leader.store->clock().value().value_or(systemClock().wallNow()); };
  Pruning step = everything();
  step.before = now();
  admitAll(leader, {"a"});

  EXPECT_EQ(leader.store->prune(leader.term, step).value().removed, 0U);

  step.before = now() + 1ms;
  EXPECT_EQ(leader.store->prune(leader.term, step).value().removed, 1U);
}

INSTANTIATE_TEST_SUITE_P(Backends, PruningSuite, testing::ValuesIn(with(&Backend::leaderPrunes, storeBackends())),
                         [](const auto& each) { return each.param.name; });

}  // namespace
}  // namespace tenure::test
