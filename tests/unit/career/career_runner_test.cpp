/// The shell in virtual time, with phases that run when the test says so.
#include "career/career_runner.hpp"

#include "support/events.hpp"
#include "support/terms.hpp"
#include "testing/world/manual_loop.hpp"

namespace tenure::career {
namespace {

using namespace std::chrono_literals;
using tenure::test::ManualLoop;
using tenure::test::RecordedEvents;
using testing::ElementsAre;

/// Keeps the phase until the test lets it run.
class HeldWorker final : public IPhaseWorker {
 public:
  void run(Task phase) override {
    ASSERT_FALSE(held_) << "two phases at once";
    held_ = std::move(phase);
  }
  bool busy() const { return static_cast<bool>(held_); }
  void release() { std::exchange(held_, nullptr)(); }

 private:
  Task held_;
};

class Diary final : public ILeaderCareer {
 public:
  void prepare(const std::stop_token&) override { entries.push_back("prepare"); }
  void inaugurate(const Term&) override { entries.push_back("inaugurate"); }
  bool execute(const Term&) override { return entries.push_back("execute"), false; }
  void handOver(const Term& term) override {
    entries.push_back("handOver " + std::string(toString(term.endReason())) + (term.valid() ? " valid" : " invalid"));
  }
  std::vector<std::string> entries;
};

class Stage : public testing::Test {
 protected:
  Stage() { runner.exitWhenHung(); }

  std::shared_ptr<TermState> elect(std::int64_t token, Duration sessionTimeout = 24h) {
    auto term = std::make_shared<TermState>(tenure::test::identityWith(token), sessionTimeout, loop);
    term->lease().confirm(loop.now());
    runner.onElected(term);
    return term;
  }
  /// The running phase runs and comes home.
  void play() {
    worker.release();
    loop.runDue();
  }

  ManualLoop loop;
  HeldWorker worker;
  Diary diary;
  RecordedEvents events;
  std::vector<std::string> asked;
  CareerRunner runner{
      CareerMachine{CareerLimits{}},
      loop,
      worker,
      diary,
      Emitter{events, loop, ElectionName{"orders"}},
      {.resign =
           [this](Resignation how, bool failed) {
             asked.push_back(how == Resignation::clean ? "resign clean" : "resign unclean");
             if (failed) asked.back() += " failed";
           },
       .leave =
           [this](Resignation how) { asked.push_back(how == Resignation::clean ? "leave clean" : "leave unclean"); },
       .exit =
           [this](ExitStatus status, bool home) {
             asked.push_back("exit " + std::to_string(static_cast<int>(status)) + (home ? "" : " out"));
           }}};
};

using CareerRunnerTest = Stage;

// shows: readme/execute-runs-again
TEST_F(CareerRunnerTest, CallsThePhasesInOrder) {
  elect(7);
  play();
  play();
  runner.onHandoverRequested("test", loop.now());
  loop.runDue();
  play();

  EXPECT_THAT(diary.entries, ElementsAre("inaugurate", "execute", "handOver handover_asked valid"));
  EXPECT_THAT(asked, ElementsAre("resign clean"));
}

TEST_F(CareerRunnerTest, PreparesBeforeItIsElected) {
  runner.onNextInLine(true);
  play();
  elect(7);
  play();

  EXPECT_THAT(diary.entries, ElementsAre("prepare", "inaugurate"));
  EXPECT_EQ(events.of<Prepared>().size(), 1U);
}

TEST_F(CareerRunnerTest, AnElectionOvertakesAPreparationThatHasNotBegun) {
  runner.onNextInLine(true);
  elect(7);
  play();
  play();

  EXPECT_THAT(diary.entries, ElementsAre("inaugurate"));
}

TEST_F(CareerRunnerTest, ExecutesAgainAfterTheIdleInterval) {
  elect(7);
  play();
  play();

  loop.advance(999ms);
  EXPECT_FALSE(worker.busy());
  loop.advance(1ms);
  EXPECT_TRUE(worker.busy());
}

TEST_F(CareerRunnerTest, ManyWakeUpsAreOneExecute) {
  elect(7);
  play();
  play();
  for (int i = 0; i < 1000; ++i) runner.wake();
  loop.runDue();
  play();

  EXPECT_THAT(diary.entries, ElementsAre("inaugurate", "execute", "execute"));
  EXPECT_FALSE(worker.busy());
}

TEST_F(CareerRunnerTest, ARequestToEndReachesTheRunningPhaseAtOnce) {
  const auto term = elect(7);

  runner.onHandoverRequested("operator", loop.now());

  EXPECT_TRUE(term->stopSource().stop_requested());
  EXPECT_EQ(term->endReason(), EndReason::handoverAsked);
  EXPECT_TRUE(events.of<tenure::HandoverAsked>().empty()) << "the election has told it already";
}

TEST_F(CareerRunnerTest, HandsALostTermOverWithATermThatIsNoLongerValid) {
  const auto term = elect(7);
  play();
  play();

  term->lease().end();
  runner.onTermLost(EndReason::leaseLost);
  play();

  EXPECT_EQ(diary.entries.back(), "handOver lease_lost invalid");
  EXPECT_THAT(asked, ElementsAre("resign unclean"));
}

TEST_F(CareerRunnerTest, ATermThatWasKeptIsInvalidOnceItIsResigned) {
  const auto term = elect(7);
  play();
  play();
  runner.onHandoverRequested("operator", loop.now());
  play();

  EXPECT_FALSE(Term(term).valid());
}

TEST_F(CareerRunnerTest, ExecutesNothingWhileTheLeaseIsPastItsSoftLimit) {
  const auto term = elect(7, 12s);
  play();
  loop.advance(5s);
  play();
  EXPECT_THAT(diary.entries, ElementsAre("inaugurate"));

  term->lease().confirm(loop.now());
  loop.advance(leaseRetry);
  play();
  EXPECT_THAT(diary.entries, ElementsAre("inaugurate", "execute"));
}

TEST_F(CareerRunnerTest, APhaseThatReportsProgressMayTakeLong) {
  const auto term = elect(7);
  play();
  for (int i = 0; i < 10; ++i) {
    loop.advance(50s);
    Term(term).reportProgress();
  }
  EXPECT_TRUE(events.of<PhaseOverran>().empty());

  loop.advance(60s);
  EXPECT_EQ(events.of<PhaseOverran>().size(), 1U);
  EXPECT_TRUE(term->stopSource().stop_requested());
}

TEST_F(CareerRunnerTest, APhaseThatNeverReturnsLeavesWithItsTermInvalid) {
  const auto term = elect(7);
  play();
  loop.advance(65s);
  EXPECT_THAT(asked, ElementsAre("leave unclean"));
  EXPECT_FALSE(Term(term).valid());

  loop.advance(1s);
  EXPECT_THAT(asked, ElementsAre("leave unclean", "exit 70 out"));
}

TEST_F(CareerRunnerTest, ProgressFeedsTheLease) {
  const Term term(elect(7));
  play();
  loop.suspend(59s);
  term.reportProgress();
  loop.suspend(60s - 1ns);
  EXPECT_TRUE(term.mayBeginWork());

  loop.suspend(1ns);
  EXPECT_FALSE(term.mayBeginWork());
  EXPECT_TRUE(term.valid());
}

TEST_F(CareerRunnerTest, AHungPhaseFindsItsTermInvalidThoughNobodyHasComeToEndIt) {
  const Term term(elect(7));
  play();
  loop.suspend(65s);  // the session is healthy, the control thread late

  EXPECT_FALSE(term.valid());
  EXPECT_LE(term.remaining(), 0s);
  EXPECT_TRUE(asked.empty());
}

TEST_F(CareerRunnerTest, BetweenPhasesNobodyHangs) {
  const Term term(elect(7));
  play();
  play();
  loop.suspend(1h);
  EXPECT_TRUE(term.valid());
}

TEST_F(CareerRunnerTest, ProgressFeedsNoTermThatIsEnding) {
  const Term term(elect(7));
  play();
  loop.suspend(30s);
  runner.onHandoverRequested("operator", loop.now());
  loop.suspend(20s);
  term.reportProgress();
  loop.suspend(15s);
  EXPECT_FALSE(term.valid());
}

TEST_F(CareerRunnerTest, AStopBeforeAnyTermLeaves) {
  runner.stop();
  loop.runDue();
  runner.onLeft();
  EXPECT_THAT(asked, ElementsAre("leave clean", "exit 0"));
}

TEST_F(CareerRunnerTest, TheTermIsInEachOfItsEvents) {
  elect(7);
  play();
  runner.onHandoverRequested("operator", loop.now());
  play();
  play();

  for (const Event& event : events.all()) EXPECT_EQ(event.token, FencingToken{7});
  EXPECT_EQ(events.of<TermEnded>().size(), 1U);
}

}  // namespace
}  // namespace tenure::career
