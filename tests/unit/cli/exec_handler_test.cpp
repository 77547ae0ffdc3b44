#include "cli/handlers/exec_handler.hpp"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <sstream>
#include <thread>

#include "cli/handlers/command_output.hpp"
#include "process/descriptor.hpp"
#include "support/events.hpp"
#include "support/terms.hpp"
#include "telemetry/event_line.hpp"

namespace tenure::cli {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;
using Kind = Outcome::Kind;

/// An external handler never touches its transaction.
class UntouchedTransaction final : public Transaction {
 public:
  Result<std::optional<std::string>> get(std::string_view) override { return touched(); }
  Result<void> put(std::string_view, std::string_view) override { return touched(); }
  Result<void> erase(std::string_view) override { return touched(); }

 private:
  static Error touched() {
    ADD_FAILURE() << "the transaction was touched";
    return Errc::unsupported;
  }
};

class ExecHandler : public testing::Test {
 protected:
  ExecHandler() {
    message.id.value = "m-1";
    message.group.value = "g 1";
    message.body = "body";
    mkfifo(bell.c_str(), 0600);
    mkfifo(answer.c_str(), 0600);
  }
  ~ExecHandler() override {
    unlink(bell.c_str());
    unlink(answer.c_str());
    unlink(file.c_str());
  }

  Outcome handle(const std::string& command) {
    settings.command = command;
    settings.whenAsked = whenAsked;
    return makeExecHandler(supervisor, settings, emit)({message, transaction, *term, 3, &steps});
  }
  std::vector<std::string> saidOn(const std::string& stream) const {
    std::vector<std::string> lines;
    for (const CommandSaid& said : events.of<CommandSaid>())
      if (said.stream == stream) lines.push_back(said.line);
    return lines;
  }
  struct Steps final : IProgress {
    void reportProgress() noexcept override { ++count; }
    int count = 0;
  };
  Steps steps;
  ExecSettings settings{};
  test::RecordedEvents events;
  const Emitter emit{events, systemClock(), {"orders"}};
  WhenAsked whenAsked = WhenAsked::finish;
  /// Runs a command that rings the bell and then waits to be killed; `then` happens in between.
  template <class Then>
  Outcome handleAndWhenItRings(const std::string& rest, Then then) {
    const Descriptor end{::open(bell.c_str(), O_RDWR | O_CLOEXEC)};
    std::jthread other([&] {
      pollfd rung{end.get(), POLLIN, 0};
      EXPECT_EQ(poll(&rung, 1, 30'000), 1);
      then();
    });
    return handle("echo > " + bell + "; " + rest);
  }
  std::string written() const {
    std::ostringstream content;
    content << std::ifstream(file).rdbuf();
    return content.str();
  }
  static std::string path(const std::string& name) {
    return testing::TempDir() + "tenure-exec-" + std::to_string(getpid()) + "-" + name;
  }

  Supervisor supervisor = std::move(Supervisor::start().value());
  test::TestTerm term{7};
  UntouchedTransaction transaction;
  Message message;
  const std::string bell = path("bell");
  const std::string answer = path("answer");
  const std::string file = path("file");
};

// shows: exactly-once/exec-runs-command, messages/five-verdicts-handler
TEST_F(ExecHandler, TurnsExitCodesIntoOutcomes) {
  EXPECT_EQ(handle("exit 0").kind, Kind::done);
  EXPECT_EQ(handle("exit 65").kind, Kind::reject);
  EXPECT_EQ(handle("exit 75").kind, Kind::retryLater);
  EXPECT_EQ(handle("exit 99").kind, Kind::skip);
  EXPECT_EQ(handle("exit 1").kind, Kind::failed);
  EXPECT_EQ(handle("exit 1").reason, "exit status 1");
  EXPECT_EQ(handle("kill -SEGV $$").reason, "killed by SIGSEGV");
}

TEST_F(ExecHandler, TellsTheCommandWhatItIsAbout) {
  handle("(echo \"$TENURE_MESSAGE_ID,$TENURE_GROUP,$TENURE_TOKEN,$TENURE_ATTEMPT\"; cat) > " + file);

  EXPECT_EQ(written(), "m-1,g 1,7,3\nbody");
}

TEST_F(ExecHandler, TellsTheCommandTimeNumberAndHeaders) {
  message.enqueuedAt = WallTime{1'777'885'953'481ms};
  message.headers = {
      {"tenure-number", "17"}, {"trace-id", "a b"}, {"trace.id", "second"}, {"nul", std::string(1, '\0')}};

  handle("echo \"$TENURE_TIME,$TENURE_NUMBER,$TENURE_HEADER_TRACE_ID,${TENURE_HEADER_NUL-absent}\" > " + file);

  EXPECT_EQ(written(), "2026-05-04T09:12:33.481Z,17,a b,absent\n");
}

TEST_F(ExecHandler, HeadersBeyondTheirRoomAreLeftOutAndTheCommandRuns) {
  message.headers = {{"large", std::string(40'000, 'x')}, {"small", "1"}};

  handle("echo \"${TENURE_HEADER_LARGE-absent},$TENURE_HEADER_SMALL\" > " + file);

  EXPECT_EQ(written(), "absent,1\n");
}

// shows: exactly-once/exec-fences
TEST_F(ExecHandler, TellsTheCommandItsTermAndItsStoreAndNothingOfTheServiceManager) {
  settings.environment = {{"TENURE_STORE_FILE", "/srv/ledger.db"}};
  setenv("NOTIFY_SOCKET", "/run/systemd/notify", 1);

  handle("echo \"$TENURE_ELECTION,$TENURE_GENERATION,$TENURE_TOKEN,$TENURE_STORE_FILE,${NOTIFY_SOCKET-none}\" > " +
         file);

  unsetenv("NOTIFY_SOCKET");
  const TermIdentity& identity = term->identity();
  EXPECT_EQ(written(),
            identity.election.value + "," + std::to_string(identity.generation) + ",7,/srv/ledger.db,none\n");
}

// shows: operations/command-output
TEST_F(ExecHandler, EachLineThatTheCommandWritesIsAnEventWithItsMessage) {
  EXPECT_EQ(handle("printf 'one\\n\\ntwo'; echo oops >&2").kind, Kind::done);

  EXPECT_THAT(saidOn("stdout"), testing::ElementsAre("one", "two"));
  EXPECT_THAT(saidOn("stderr"), testing::ElementsAre("oops"));
  EXPECT_EQ(events.of<CommandSaid>()[0].message, "m-1");
  EXPECT_THAT(events.of<CommandOutputCut>(), testing::IsEmpty());
}

// shows: operations/command-output
TEST_F(ExecHandler, ACommandThatTalksTooMuchIsCutAndTheRestIsCounted) {
  EXPECT_EQ(handle("head -c 1000000 /dev/zero | tr '\\0' x; echo; seq 200000").kind, Kind::done);

  std::size_t told = 0;
  for (const std::string& line : saidOn("stdout")) told += line.size();
  EXPECT_EQ(saidOn("stdout").front().size(), CommandOutput::longestLine);
  EXPECT_LE(told, CommandOutput::mostOfAMessage);
  const auto cut = events.of<CommandOutputCut>();
  ASSERT_EQ(cut.size(), 1U);
  EXPECT_GT(cut[0].bytes, 1'000'000);
}

// shows: operations/command-output
TEST_F(ExecHandler, AnyBytesOfALineFitIntoALineOfTheLog) {
  EXPECT_EQ(handle("head -c 4096 /dev/zero | tr '\\0' '\\200'; echo; head -c 4096 /dev/zero").kind, Kind::done);

  const std::vector<Event> all = events.all();
  ASSERT_GE(all.size(), 3U);
  for (const Event& event : all) {
    EXPECT_LE(formatEvent(event).size(), maxLineBytes);
    EXPECT_LE(formatEventAsJson(event).size(), maxLineBytes);
    if (const auto* said = event.body.as<CommandSaid>()) {
      EXPECT_THAT(formatEventAsJson(event), HasSubstr(said->line[0] == '\0' ? "\\u0000" : "\xEF\xBF\xBD"));
    }
  }
}

// shows: L3, operations/job-of-an-hour
TEST_F(ExecHandler, ACommandWithoutALimitReportsProgressAndIsToldWhenItIsSlow) {
  settings.slowAfter = 20ms;

  EXPECT_EQ(handle("sleep 0.2").kind, Kind::done);

  EXPECT_GT(steps.count, 0);
  EXPECT_GE(events.of<HandlerSlow>().size(), 2U) << "and at each doubling";
  EXPECT_EQ(events.of<SlowHandlerEnded>().size(), 1U);
  settings.hasLimit = true;
  steps.count = 0;
  EXPECT_EQ(handle("sleep 0.1").kind, Kind::done);
  EXPECT_EQ(steps.count, 0);
}

TEST_F(ExecHandler, TheReasonEndsWithWhatTheCommandSaidLastOnStandardError) {
  settings.inheritsOutput = true;
  testing::internal::CaptureStderr();

  EXPECT_EQ(handle("echo 'no such customer' >&2; exit 3").reason, "exit status 3: no such customer");
  EXPECT_EQ(handle("echo 'unreadable' >&2; exit 65").reason, "exit status 65: unreadable");
  const std::string tail = handle("seq 100000 >&2; exit 1").reason;

  EXPECT_THAT(tail, testing::EndsWith("99999\n100000"));
  EXPECT_LE(tail.size(), ChildEnd::errorsKept + 40);
  EXPECT_THAT(testing::internal::GetCapturedStderr(), HasSubstr("no such customer")) << "and it is passed on";
}

TEST_F(ExecHandler, ACommandThatNeverStopsTalkingIsKilledAtItsDeadlineAllTheSame) {
  testing::internal::CaptureStderr();
  test::TestTerm shortTerm(test::identityWith(8), 600ms);

  const Outcome outcome =
      makeExecHandler(supervisor, {.command = "yes >&2"}, emit)({message, transaction, *shortTerm, 1});

  EXPECT_EQ(outcome.kind, Kind::retryLater);
  testing::internal::GetCapturedStderr();
}

TEST_F(ExecHandler, LetsTheCommandFinishWhenTheTermEndsInOrder) {
  const Outcome outcome = handleAndWhenItRings("read word < " + answer + "; exit 0", [&] {
    term.requestStop(EndReason::stopAsked);
    std::ofstream(answer) << "go on\n";
  });

  EXPECT_EQ(outcome.kind, Kind::done);
}

TEST_F(ExecHandler, KillsTheCommandWhenTheLeaseIsLost) {
  const Outcome outcome = handleAndWhenItRings("trap '' TERM; exec tail -f /dev/null", [&] { term.loseLease(); });

  EXPECT_EQ(outcome.kind, Kind::retryLater);
  EXPECT_THAT(outcome.reason, HasSubstr("term was lost"));
}

TEST_F(ExecHandler, KillsTheCommandWhenTheDrainIsAborted) {
  const Outcome outcome = handleAndWhenItRings("trap '' TERM; exec tail -f /dev/null", [&] {
    term.requestStop(EndReason::stopAsked);
    term.state().setEndReason(EndReason::aborted);
  });

  EXPECT_EQ(outcome.kind, Kind::retryLater);
}

// shows: operations/handler-declared-cut
TEST_F(ExecHandler, ACommandThatMayBeCutIsAskedToEndWithItsTerm) {
  whenAsked = WhenAsked::cut;
  const Outcome outcome =
      handleAndWhenItRings("exec tail -f /dev/null", [&] { term.requestStop(EndReason::handoverAsked); });

  EXPECT_EQ(outcome.kind, Kind::retryLater);
}

// shows: operations/handler-declared-cut
TEST_F(ExecHandler, ACommandThatMayBeCutIsKilledWhereItDoesNotHeedThat) {
  whenAsked = WhenAsked::cut;
  const Outcome outcome = handleAndWhenItRings("trap '' TERM; while :; do read -r _ <> " + answer + "; done",
                                               [&] { term.requestStop(EndReason::handoverAsked); });

  EXPECT_EQ(outcome.kind, Kind::retryLater);
}

TEST_F(ExecHandler, ACommandThatOverrunsItsLimitHasFailed) {
  const Outcome outcome = handleAndWhenItRings("exec tail -f /dev/null", [&] { term.requestStop(EndReason::hung); });

  EXPECT_EQ(outcome.kind, Kind::failed);
}

TEST_F(ExecHandler, TheCommandDoesNotOutliveItsLease) {
  test::TestTerm shortTerm(test::identityWith(8), 600ms);
  const Delivery delivery{message, transaction, *shortTerm, 1};

  const Outcome outcome = makeExecHandler(supervisor, {.command = "trap '' TERM; tail -f /dev/null"}, emit)(delivery);

  EXPECT_EQ(outcome.kind, Kind::retryLater);
  EXPECT_FALSE(shortTerm->mayBeginWork());
}

TEST_F(ExecHandler, ACommandThatKillsItsShimHasFailedAndTheNextOneRuns) {
  EXPECT_EQ(handle("kill -9 $PPID; exec sleep 600").kind, Kind::failed);

  EXPECT_EQ(handle("exit 0").kind, Kind::done);
}

TEST_F(ExecHandler, EndsTheTermWhenTheSupervisorIsGone) {
  const Descriptor process = openProcess(supervisor.pid());
  signalThrough(process, SIGKILL);
  pollfd gone{process.get(), POLLIN, 0};
  ASSERT_EQ(poll(&gone, 1, 30'000), 1);

  EXPECT_THROW(handle("exit 0"), EndTerm);
}

/// Whether the term ends with an unknown outcome, which leaves the marker busy.
bool endsUnknown(const Result<ChildEnd>& end) {
  try {
    static_cast<void>(outcomeOfCommand(end, EndReason::none));
    return false;
  } catch (const EndTerm& ended) {
    return isOutcomeUnknown(ended.error().code);
  }
}

TEST(ExecOutcome, IsUnknownWhileSomethingOfTheCommandMayStillRun) {
  EXPECT_TRUE(endsUnknown(ChildEnd{.exitCode = 0, .nothingLeft = false}));
  EXPECT_TRUE(endsUnknown(ChildEnd{.exitCode = {}, .cause = EndCause::shimLost, .nothingLeft = false}));
  EXPECT_FALSE(endsUnknown(ChildEnd{.exitCode = {}, .cause = EndCause::shimLost}));
  EXPECT_TRUE(endsUnknown(Error{Errc::timedOut, "the shim does not answer"}));
  EXPECT_FALSE(endsUnknown(ChildEnd{.exitCode = 1}));
  EXPECT_FALSE(endsUnknown(Error{Errc::unsupported, "the supervisor is gone"}));
}

TEST_F(ExecHandler, AMessageThatCannotBePassedOnHasFailed) {
  message.group.value = std::string("a\0b", 3);

  EXPECT_THAT(handle("exit 0").reason, HasSubstr("TENURE_GROUP"));
}

TEST(ExecOutcome, OfACommandThatWasKilledIsAgainLaterButAtMostOnceAFailure) {
  ChildEnd killed;
  killed.signal = SIGTERM;
  killed.cause = EndCause::overdue;

  EXPECT_EQ(outcomeOfCommand(killed, EndReason::none).kind, Outcome::Kind::retryLater);
  EXPECT_EQ(outcomeOfCommand(killed, EndReason::none, Guarantee::atMostOnce).kind, Outcome::Kind::failed);
}

}  // namespace
}  // namespace tenure::cli
