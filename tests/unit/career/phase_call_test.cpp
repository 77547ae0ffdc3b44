/// How one call of user code comes home, whatever it throws and whatever its term looks like.
#include "career/phase_call.hpp"

#include "support/terms.hpp"
#include "testing/world/manual_loop.hpp"

namespace tenure::career {
namespace {

using namespace std::chrono_literals;
using Outcome = PhaseEnded::Outcome;
using tenure::test::ManualLoop;
using tenure::test::TestTerm;

class Scripted final : public ILeaderCareer {
 public:
  explicit Scripted(std::function<bool()> step) : step_(std::move(step)) {}
  void inaugurate(const Term&) override { step_(); }
  bool execute(const Term&) override { return ++steps, step_(); }
  int steps = 0;

 private:
  std::function<bool()> step_;
};

PhaseEnded execute(ILeaderCareer& career, const Term& term) {
  return callPhase(RunPhase{term.token(), Phase::execute}, career, term, 10);
}

PhaseEnded executeThrowing(std::function<void()> thrower) {
  Scripted career([thrower = std::move(thrower)] { return thrower(), true; });
  return execute(career, *TestTerm(7));
}

TEST(PhaseCall, ExecutesUntilThereIsNothingToDo) {
  Scripted career([&, left = 3]() mutable { return --left > 0; });
  EXPECT_EQ(execute(career, *TestTerm(7)).outcome, Outcome::idle);
  EXPECT_EQ(career.steps, 3);
}

TEST(PhaseCall, ComesHomeNowAndThenWhileThereIsWork) {
  Scripted career([] { return true; });
  EXPECT_EQ(execute(career, *TestTerm(7)).outcome, Outcome::again);
  EXPECT_EQ(career.steps, 10);
}

TEST(PhaseCall, BeginsNoStepOnceTheTermIsStopped) {
  const TestTerm term(7);
  Scripted career([&] { return term.requestStop(), true; });

  EXPECT_EQ(execute(career, *term).outcome, Outcome::withheld);
  EXPECT_EQ(career.steps, 1);
}

TEST(PhaseCall, BeginsNoStepPastTheSoftLimitOfTheLease) {
  ManualLoop clock;
  const TestTerm term(tenure::test::identityWith(7), 12s, clock);
  Scripted career([&] { return clock.advance(4s), true; });

  EXPECT_EQ(execute(career, *term).outcome, Outcome::withheld);
  EXPECT_EQ(career.steps, 1);
}

TEST(PhaseCall, AStoppedTermIsNotInaugurated) {
  const TestTerm term(7);
  term.requestStop();
  Scripted career([]() -> bool { throw std::logic_error("inaugurated all the same"); });

  EXPECT_EQ(callPhase({FencingToken{7}, Phase::inaugurate}, career, *term).outcome, Outcome::withheld);
}

TEST(PhaseCall, EachStepCountsAsProgress) {
  ManualLoop clock;
  const TestTerm term(tenure::test::identityWith(7), 12s, clock);
  Scripted career([&, left = 2]() mutable { return clock.advance(1s), --left > 0; });

  const BootTime before = clock.now();
  execute(career, *term);
  EXPECT_EQ(term.state().lastProgress(), before + 1s);
}

TEST(PhaseCall, AnEndTermSaysItsReasonAndError) {
  const PhaseEnded ended = executeThrowing([] {
    throw EndTerm(EndReason::fenced, {Errc::staleTerm, "8 has claimed"});
  });
  EXPECT_EQ(ended.outcome, Outcome::failed);
  EXPECT_EQ(ended.failure.reason, EndReason::fenced);
  EXPECT_EQ(ended.failure.error.detail, "8 has claimed");
}

TEST(PhaseCall, AResultsErrorKeepsItsCode) {
  const PhaseEnded ended = executeThrowing([] { static_cast<void>(Result<int>(Error{Errc::outcomeUnknown}).value()); });
  EXPECT_TRUE(ended.failure.error.is(Errc::outcomeUnknown));
  EXPECT_EQ(ended.failure.reason, EndReason::failed);
}

TEST(PhaseCall, AnErrorIsSaidOnce) {
  const auto message = [](const std::string& detail) {
    return executeThrowing([&] {
             static_cast<void>(Result<int>(Error{Errc::notFound, detail}).value());
           })
        .failure.error.message();
  };
  EXPECT_EQ(message("no such folder"), "not found: no such folder");
  EXPECT_EQ(message(""), "not found");
}

TEST(PhaseCall, AStaleTermIsFencedHoweverItIsThrown) {
  const PhaseEnded ended = executeThrowing([] { throw std::system_error(make_error_code(Errc::staleTerm)); });
  EXPECT_EQ(ended.failure.reason, EndReason::fenced);
}

TEST(PhaseCall, AnyExceptionIsCaughtWithItsWords) {
  EXPECT_EQ(executeThrowing([] { throw std::runtime_error("no paper"); }).failure.error.message(),
            "the career failed: no paper");
  EXPECT_TRUE(executeThrowing([] { throw 42; }).failure.error.is(Errc::careerFailed));
}

// --- preparing, which has no term

class Preparing final : public ILeaderCareer {
 public:
  explicit Preparing(std::function<void(const std::stop_token&)> prepare) : prepare_(std::move(prepare)) {}
  void prepare(const std::stop_token& stop) override { prepare_(stop); }
  bool execute(const Term&) override { return false; }

 private:
  std::function<void(const std::stop_token&)> prepare_;
};

TEST(PhaseCall, APreparationHasAStopTokenOfItsOwn) {
  std::stop_source stop;
  bool asked = false;
  Preparing career([&](const std::stop_token& token) {
    stop.request_stop();
    asked = token.stop_requested();
  });

  EXPECT_FALSE(callPrepare(Prepare{}, career, stop.get_token()).failure);
  EXPECT_TRUE(asked);
}

TEST(PhaseCall, APreparationThatIsStoppedBeforeItBeganIsNot) {
  std::stop_source stop;
  stop.request_stop();
  Preparing career([](const std::stop_token&) { throw std::logic_error("prepared all the same"); });
  EXPECT_FALSE(callPrepare(Prepare{}, career, stop.get_token()).failure);
}

TEST(PhaseCall, ACheckIsNoPreparation) {
  Preparing career([](const std::stop_token&) { throw std::logic_error("prepared all the same"); });
  EXPECT_FALSE(callPrepare(Prepare{Look::check}, career, {}).failure);
}

TEST(PhaseCall, WhateverAPreparationThrowsIsCaught) {
  Preparing career([](const std::stop_token&) { throw 7; });
  const PreparationEnded ended = callPrepare(Prepare{}, career, {});
  ASSERT_TRUE(ended.failure);
  EXPECT_TRUE(ended.failure->is(Errc::careerFailed));
}

}  // namespace
}  // namespace tenure::career
