#include "cli/handlers/run_career.hpp"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <thread>

#include "cli/handlers/child_command.hpp"
#include "support/events.hpp"
#include "support/program.hpp"
#include "support/terms.hpp"

namespace tenure::cli {
namespace {

using namespace std::chrono_literals;
using testing::Contains;
using testing::HasSubstr;
using testing::Pair;

class RunCareerTest : public testing::Test {
 protected:
  RunCareerTest() { mkfifo(bell.c_str(), 0600); }

  RunCareer careerOf(const std::string& script, OnExit onExit = OnExit::exit) {
    RunSettings settings{.arguments = {"sh", "-c", script}, .onExit = onExit, .drain = 10s};
    return {supervisor, settings, nullptr, Emitter(events, systemClock(), ElectionName{"orders"}), [this] { ++left; }};
  }
  /// Executes while another thread waits for the command to ring, and does `then`.
  template <class Then>
  bool executeAndWhenItRings(RunCareer& career, Then then) {
    const Descriptor end{::open(bell.c_str(), O_RDWR | O_CLOEXEC)};
    std::jthread other([&] {
      pollfd rung{end.get(), POLLIN, 0};
      EXPECT_EQ(poll(&rung, 1, 30'000), 1);
      then();
    });
    return career.execute(term);
  }
  EndReason reasonThrownBy(RunCareer& career) {
    try {
      career.execute(term);
    } catch (const EndTerm& end) {
      return end.reason();
    }
    return EndReason::none;
  }

  Supervisor supervisor = std::move(Supervisor::start().value());
  test::TemporaryFolder folder;
  const std::string bell = folder / "bell";
  const std::string ring = "echo > " + bell + "; ";
  test::RecordedEvents events;
  test::TestTerm term{7};
  int left = 0;
};

TEST_F(RunCareerTest, TellsTheTermInTheEnvironment) {
  const auto environment = environmentOf(term->identity());

  EXPECT_THAT(environment, Contains(Pair("TENURE_ELECTION", "orders")));
  EXPECT_THAT(environment, Contains(Pair("TENURE_TOKEN", "7")));
  EXPECT_THAT(environment, Contains(Pair("TENURE_TERM", "00000000000000000000000000000001/1/7")));
  EXPECT_THAT(environment, Contains(Pair("TENURE_ID", "replica-7")));
}

TEST_F(RunCareerTest, LeavesWithTheCodeOfACommandThatEndedByItself) {
  RunCareer career = careerOf("exit 3");

  EXPECT_FALSE(career.execute(term));

  EXPECT_EQ(left, 1);
  EXPECT_EQ(career.exitCode(ExitStatus::done), 3);
  ASSERT_EQ(events.of<CommandEnded>().size(), 1U);
  EXPECT_EQ(events.of<CommandEnded>().front().how, "exit status 3");
}

TEST_F(RunCareerTest, EndsTheTermOfACommandThatFailed) {
  RunCareer career = careerOf("exit 3", OnExit::resign);

  EXPECT_EQ(reasonThrownBy(career), EndReason::failed);
  EXPECT_EQ(left, 0);
}

TEST_F(RunCareerTest, AsksTheCommandToEndWhenTheTermIsAskedTo) {
  RunCareer career = careerOf("trap 'exit 9' TERM; " + ring + "tail -f /dev/null & wait");

  EXPECT_FALSE(executeAndWhenItRings(career, [&] { term.requestStop(EndReason::handoverAsked); }));

  EXPECT_EQ(left, 0) << "the term is ending anyway";
  EXPECT_THAT(events.of<CommandEnded>().front().how, HasSubstr("exit status 9, asked at the end of the term"));
}

TEST_F(RunCareerTest, KillsTheCommandOfATermThatIsGoneAndLeavesWith76) {
  RunCareer career = careerOf("trap '' TERM; " + ring + "exec tail -f /dev/null");

  executeAndWhenItRings(career, [&] {
    term.loseLease();
    term.requestStop(EndReason::sessionExpired);
  });
  career.handOver(term);

  EXPECT_EQ(left, 1);
  EXPECT_EQ(career.exitCode(ExitStatus::done), 76);
}

TEST_F(RunCareerTest, LosesATermWhoseLeaseEndedTheCommand) {
  RunCareer career = careerOf("exec tail -f /dev/null");
  term = test::TestTerm(test::identityWith(8), 600ms);

  EXPECT_EQ(reasonThrownBy(career), EndReason::leaseLost);
}

// shows: singleton/killed-before-lease
TEST(KillDeadline, EndsAMarginBeforeTheHardLimitWheneverItIsAsked) {
  const test::TestTerm term(test::identityWith(7), 10s);
  const BootTime confirmed = term.state().lease().confirmedAt();

  EXPECT_EQ(killDeadlineOf(term), confirmed + 5s - killMargin);
}

TEST(KillDeadline, ARequestLeavesItAndEverythingElseEndsItAtOnce) {
  for (const EndReason reason : {EndReason::handoverAsked, EndReason::stopAsked}) {
    const test::TestTerm term(7);
    term.requestStop(reason);
    EXPECT_GT(killDeadlineOf(term), BootClock::now());
  }
  for (const EndReason reason : {EndReason::aborted, EndReason::leaseLost, EndReason::hung, EndReason::fenced}) {
    const test::TestTerm term(7);
    term.requestStop(reason);
    EXPECT_EQ(killDeadlineOf(term), BootTime::min());
  }
  const test::TestTerm ended(7);
  ended.loseLease();
  EXPECT_EQ(killDeadlineOf(ended), BootTime::min());
}

}  // namespace
}  // namespace tenure::cli
