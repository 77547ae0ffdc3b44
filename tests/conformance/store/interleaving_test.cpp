// An old and a new leader on one store, in every order of their steps: never do both have the last word.
#include <algorithm>

#include "conformance/store/store_suite.hpp"
#include "support/program.hpp"

namespace tenure::test {
namespace {

/// One leader's steps. Each raises a counter that it has read itself, so that a lost update shows in the sum.
/// A step that another one's lock holds up has not happened; the schedule comes back to it at the end.
class Actor {
 public:
  enum class Step { claim, begin, write, commit };
  enum class Progress { done, blocked, over };

  Actor(std::shared_ptr<IFencedStore> store, TestTerm term, std::vector<Step> steps)
      : store_(std::move(store)), term_(std::move(term)), steps_(std::move(steps)) {}

  bool finished() const { return next_ == steps_.size(); }
  bool hasClaimed() const { return claimed_; }
  bool hasCommitted() const { return committed_; }
  std::int64_t readAs() const { return read_; }

  Progress proceed() {
    if (finished()) return Progress::over;
    const Result<void> result = take(steps_[next_]);
    if (!result && result.error().is(Errc::storeBusy)) return Progress::blocked;
    if (!result) {
      EXPECT_TRUE(isTermOver(result.error().code)) << result.error().message();
      next_ = steps_.size();
      transaction_.reset();
      return Progress::over;
    }
    ++next_;
    return Progress::done;
  }

 private:
  Result<void> take(Step step) {
    switch (step) {
      case Step::claim: {
        Result<void> result = store_->claim(term_);
        claimed_ = result.has_value();
        return result;
      }
      case Step::begin: return begin();
      case Step::write: {
        const Result<void> raised = raiseCounter();
        const bool heldUp = !raised && raised.error().is(Errc::storeBusy);
        // One that could not take the lock is over.
        return heldUp && !begin() ? Error{Errc::storeFailed, "it did not begin again"} : raised;
      }
      case Step::commit: {
        Result<void> result = transaction_->commit();
        committed_ = result.has_value();
        if (!committed_ && result.error().is(Errc::storeBusy)) ADD_FAILURE() << "commit was held up";
        return result;
      }
    }
    return {};
  }

  Result<void> begin() {
    transaction_.reset();
    auto begun = store_->begin(term_);
    if (!begun) return begun.error();
    transaction_ = std::move(*begun);
    return {};
  }

  Result<void> raiseCounter() {
    const auto value = transaction_->get("counter");
    if (!value) return value.error();
    read_ = value->has_value() ? std::stoll(**value) : 0;
    return transaction_->put("counter", std::to_string(read_ + 1));
  }

  std::shared_ptr<IFencedStore> store_;
  TestTerm term_;
  std::vector<Step> steps_;
  std::size_t next_ = 0;
  std::unique_ptr<IFencedTransaction> transaction_;
  bool claimed_ = false;
  bool committed_ = false;
  std::int64_t read_ = 0;
};

using Step = Actor::Step;

/// Runs the steps in the order that `newsTurn` gives; what was blocked goes on when the other one is through.
void run(Actor& older, Actor& newer, const std::vector<bool>& newsTurn) {
  for (const bool isNews : newsTurn) {
    Actor& actor = isNews ? newer : older;
    const bool claimedBefore = newer.hasClaimed();
    const bool committedBefore = older.hasCommitted();
    actor.proceed();
    EXPECT_EQ(older.hasCommitted() && claimedBefore, committedBefore && claimedBefore)
        << "committed after the newer claim";
  }
  for (int rounds = 0; !older.finished() || !newer.finished(); ++rounds) {
    ASSERT_LT(rounds, 10) << "they block each other";
    older.proceed();
    newer.proceed();
  }
}

// shows: S1, readme/fencing-token-makes, readme/store-checks-token, fence/term-claims-store,
// shows: bring-a-store/conformance-suites-run
TEST_P(StoreSuite, InEveryInterleavingAStaleLeaderIsBlockedOrDefeated) {
  std::vector<bool> newsTurn{false, false, false, true, true, true, true};
  int schedules = 0;
  do {
    SCOPED_TRACE(testing::PrintToString(newsTurn));
    const std::unique_ptr<BackendWorld> world = GetParam().make();
    world->beImpatient();
    const auto oldStore = world->open().store;
    const TestTerm oldTerm(7);
    ASSERT_TRUE(test::eventually([&] { return oldStore->claim(oldTerm).has_value(); })) << "an impatient one";
    Actor older(oldStore, oldTerm, {Step::begin, Step::write, Step::commit});
    Actor newer(world->open().store, TestTerm(8), {Step::claim, Step::begin, Step::write, Step::commit});

    run(older, newer, newsTurn);

    ASSERT_TRUE(newer.hasCommitted());
    EXPECT_EQ(newer.readAs(), older.hasCommitted() ? 1 : 0) << "read a stale base";
    ++schedules;
  } while (std::next_permutation(newsTurn.begin(), newsTurn.end()));
  EXPECT_EQ(schedules, 35);
}

}  // namespace
}  // namespace tenure::test
