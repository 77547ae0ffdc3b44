#include "process/child.hpp"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <signal.h>
#include <unistd.h>

#include <cctype>
#include <csignal>
#include <fstream>
#include <thread>

#include "process/control_group.hpp"
#include "process/descriptor.hpp"
#include "processes.hpp"

namespace tenure::test {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr const char* forEver = "exec tail -f /dev/null";

class Child : public testing::Test {
 protected:
  ChildEnd run(const std::string& command, std::string_view input = {}) {
    return runChild(supervisor, marked.command(command, input)).value();
  }
  /// Runs a command that rings, and does `then` on another thread when it has.
  template <class Then>
  ChildEnd runAndWhenItRings(const std::string& command, const ChildLimits& limits, Then then) {
    std::jthread other([&] {
      rung = doorbell.nextLine();
      then();
    });
    return runChild(supervisor, marked.command(command), limits).value();
  }
  std::string ring(const std::string& words = "$$") const { return "echo " + words + " > " + doorbell.path() + "; "; }

  Supervisor supervisor = std::move(Supervisor::start().value());
  Marked marked;
  Doorbell doorbell;
  std::string rung;
};

TEST_F(Child, ReportsTheExitCode) {
  EXPECT_EQ(run("exit 0").exitCode, 0);
  EXPECT_EQ(run("exit 75").exitCode, 75);
  EXPECT_EQ(run("no-such-command 2> /dev/null").exitCode, 127);
  EXPECT_EQ(run("exit 3").description(), "exit status 3");
}

TEST_F(Child, IsExecutedWithItsArgumentsAsTheyAre) {
  const std::string file = temporaryPath("argument");
  ChildCommand command = marked.command("");
  command.arguments = {"sh", "-c", "printf '%s.' \"$@\" > " + file, "sh", "a b", "", "$HOME"};

  EXPECT_EQ(runChild(supervisor, command).value().exitCode, 0);

  EXPECT_EQ(readFile(file), "a b..$HOME.");
  unlink(file.c_str());
}

TEST_F(Child, ThatCannotBeExecutedEndsAsInAShell) {
  testing::internal::CaptureStderr();
  ChildCommand command = marked.command("");
  command.arguments = {"no-such-command"};
  EXPECT_EQ(runChild(supervisor, command).value().exitCode, 127);
  command.arguments = {"/dev/null"};
  EXPECT_EQ(runChild(supervisor, command).value().exitCode, 126);

  EXPECT_EQ(testing::internal::GetCapturedStderr(),
            "tenure: no-such-command: No such file or directory\ntenure: /dev/null: Permission denied\n");
}

TEST_F(Child, MayGetOurOwnStandardInput) {
  const int before = dup(STDIN_FILENO);
  const std::string file = temporaryPath("input");
  std::ofstream(file) << "from our own\n";
  const int input = open(file.c_str(), O_RDONLY | O_CLOEXEC);
  dup2(input, STDIN_FILENO);
  ChildCommand command = marked.command("read a b c && test \"$c\" = own");
  command.passInput = true;

  EXPECT_EQ(runChild(supervisor, command).value().exitCode, 0);

  dup2(before, STDIN_FILENO);
  for (const int descriptor : {before, input}) close(descriptor);
  unlink(file.c_str());
}

TEST_F(Child, ReadsItsTermFromADescriptorThatEndsWhenItIsAskedToEnd) {
  std::stop_source stop;
  const std::string file = temporaryPath("term");
  ChildCommand command = marked.command("trap '' TERM; while read -r line <&7; do echo \"$line\" >> " + file +
                                        "; test \"$line\" = LAST=1 && " + ring() + "done; echo over >> " + file);
  command.environment = {{"TENURE_TOKEN", "17"}, {"LAST", "1"}};
  command.termDescriptor = 7;
  std::jthread other([&] {
    doorbell.nextLine();
    stop.request_stop();
  });

  EXPECT_EQ(runChild(supervisor, command, {.stop = stop.get_token()}).value().exitCode, 0);

  EXPECT_EQ(readFile(file), "TENURE_TOKEN=17\nLAST=1\nover\n");
  unlink(file.c_str());
}

TEST_F(Child, WhoseTimeIsUpIsNotStarted) {
  const std::string file = temporaryPath("started");

  const ChildEnd end =
      runChild(supervisor, marked.command("> " + file), {.until = [] { return BootTime::min(); }}).value();

  EXPECT_EQ(end.cause, EndCause::overdue);
  EXPECT_TRUE(end.killed);
  EXPECT_NE(access(file.c_str(), F_OK), 0);
}

TEST_F(Child, InAControlGroupOfItsOwnDiesInOneBlowHoweverItForks) {
  if (!ControlGroup::make(getpid())) GTEST_SKIP() << "needs control-group: none is ours to make here";
  std::stop_source stop;
  ChildCommand command = marked.command("trap '' TERM; cat /proc/self/cgroup | tail -n 1 > " + doorbell.path() +
                                        "; for i in $(seq 200); do setsid sleep 600 & done; wait");
  command.controlGroup = true;
  std::jthread other([&] {
    rung = doorbell.nextLine();
    stop.request_stop();
  });

  const ChildEnd end = runChild(supervisor, command, {.stop = stop.get_token(), .grace = 1ms}).value();

  EXPECT_THAT(rung, HasSubstr("/tenure-"));
  EXPECT_TRUE(end.nothingLeft);
  EXPECT_THAT(marked.processes(), IsEmpty());
}

TEST_F(Child, TellsHowLongItRanWithoutWhatTheSupervisorNeededToStartIt) {
  constexpr Duration late = 40ms;  // a supervisor that was stopped is continued after 50 ms
  signalThrough(openProcess(supervisor.pid()), SIGSTOP);
  const BootTime asked = BootClock::now();
  const auto until = [] { return BootTime::max(); };

  const ChildEnd end = runChild(supervisor, marked.command("exit 0"), {.until = until}).value();

  EXPECT_GT(end.ran, Duration::zero());
  EXPECT_LE(end.ran + late, BootClock::now() - asked);
}

TEST_F(Child, ReportsTheSignalThatKilledIt) {
  const ChildEnd end = run("kill -SEGV $$");

  EXPECT_EQ(end.exitCode, std::nullopt);
  EXPECT_EQ(end.signal, SIGSEGV);
  EXPECT_EQ(end.cause, EndCause::itself);
  EXPECT_EQ(end.description(), "killed by SIGSEGV");
}

TEST_F(Child, GetsAnyBytesOnStandardInput) {
  std::string body(1U << 20U, '\0');
  for (std::size_t i = 0; i < body.size(); ++i) body[i] = static_cast<char>(i * 7 % 256);
  const std::string copy = temporaryPath("copy");

  EXPECT_EQ(run("cat > " + copy, body).exitCode, 0);

  EXPECT_TRUE(readFile(copy) == body);
  unlink(copy.c_str());
}

TEST_F(Child, NeedNotReadItsStandardInput) {
  const std::string body(1U << 20U, 'x');
  EXPECT_EQ(run("exit 4", body).exitCode, 4);
  EXPECT_EQ(run("head -c 10 > /dev/null", body).exitCode, 0);
  EXPECT_EQ(run("exec 0<&-; exit 5", body).exitCode, 5);
}

TEST_F(Child, SeesAnEmptyInputAsItsEnd) { EXPECT_EQ(run("test -z \"$(cat)\"").exitCode, 0); }

TEST_F(Child, GetsItsEnvironmentOnTopOfOurs) {
  ChildCommand command = marked.command("test \"$TENURE_GROUP\" = \"a 'b' $HOME=\n\" && test -n \"$PATH\"");
  command.environment.emplace_back("TENURE_GROUP", std::string("a 'b' ") + getenv("HOME") + "=\n");

  EXPECT_EQ(runChild(supervisor, command).value().exitCode, 0);
}

TEST_F(Child, WithNulInItsEnvironmentIsRefused) {
  ChildCommand command = marked.command("exit 0");
  command.environment.emplace_back("TENURE_GROUP", std::string("a\0b", 3));

  const Result<ChildEnd> end = runChild(supervisor, command);

  ASSERT_FALSE(end);
  EXPECT_TRUE(end.error().is(Errc::invalidArgument));
  EXPECT_THAT(end.error().detail, HasSubstr("TENURE_GROUP"));
}

TEST_F(Child, WithTooLongACommandIsRefused) {
  const Result<ChildEnd> end = runChild(supervisor, marked.command(": " + std::string(200'000, 'x')));

  ASSERT_FALSE(end);
  EXPECT_TRUE(end.error().is(Errc::invalidArgument));
  EXPECT_EQ(run("exit 0").exitCode, 0);
}

TEST_F(Child, StartsWithDefaultSignals) {
  std::signal(SIGPIPE, SIG_IGN);
  const std::string report = temporaryPath("signals");

  run("grep -E '^Sig(Blk|Ign)' /proc/self/status > " + report);

  std::signal(SIGPIPE, SIG_DFL);
  EXPECT_EQ(readFile(report), "SigBlk:\t0000000000000000\nSigIgn:\t0000000000000000\n");
  unlink(report.c_str());
}

// shows: security/command-inherits-socket
TEST_F(Child, InheritsNothingButItsStandardDescriptors) {
  const int inherited = dup(STDERR_FILENO);  // not close-on-exec
  const Supervisor late = std::move(Supervisor::start().value());
  const std::string report = temporaryPath("descriptors");

  runChild(late, marked.command("exec ls /proc/self/fd > " + report)).value();

  EXPECT_EQ(readFile(report), "0\n1\n2\n3\n");  // 3 is the folder that ls reads
  unlink(report.c_str());
  close(inherited);
}

TEST_F(Child, HasASessionOfItsOwn) { EXPECT_EQ(run("test $(cut -d' ' -f6 /proc/$$/stat) = $$").exitCode, 0); }

TEST_F(Child, CountsAsRunningUntilItIsProvenToHaveEnded) {
  EXPECT_TRUE(supervisor.nothingRuns());
  std::stop_source stop;
  runAndWhenItRings(ring() + forEver, {.stop = stop.get_token()}, [&] {
    EXPECT_FALSE(supervisor.nothingRuns());
    stop.request_stop();
  });
  EXPECT_TRUE(supervisor.nothingRuns());
  run("exit 3");
  EXPECT_TRUE(supervisor.nothingRuns());
}

TEST_F(Child, IsAskedToEndWhenAStopIsRequested) {
  std::stop_source stop;

  const ChildEnd end = runAndWhenItRings("trap 'exit 9' TERM; " + ring() + "tail -f /dev/null & wait",
                                         {.stop = stop.get_token()}, [&] { stop.request_stop(); });

  EXPECT_EQ(end.exitCode, 9);
  EXPECT_EQ(end.cause, EndCause::stopAsked);
  EXPECT_TRUE(marked.allGone());
}

TEST_F(Child, WhatItForksWhileItEndsIsAskedToEndAsWell) {
  std::stop_source stop;

  const ChildEnd end = runAndWhenItRings("trap 'tail -f /dev/null & exit 0' TERM; " + ring() + "while :; do :; done",
                                         {.stop = stop.get_token(), .grace = 1h}, [&] { stop.request_stop(); });

  EXPECT_EQ(end.exitCode, 0);
  EXPECT_FALSE(end.killed);
  EXPECT_THAT(marked.processes(), IsEmpty());
}

TEST_F(Child, NothingOfItIsAskedTwice) {
  std::stop_source stop;
  const std::string file = temporaryPath("asked");
  const std::string slow = "(trap 'echo asked >> " + file + "' TERM; " + ring() +
                           "tail -f /dev/null & wait; i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done) & wait";

  const ChildEnd end = runAndWhenItRings(slow, {.stop = stop.get_token(), .grace = 1h}, [&] { stop.request_stop(); });

  EXPECT_EQ(end.signal, SIGTERM);
  EXPECT_EQ(readFile(file), "asked\n");
  unlink(file.c_str());
}

TEST_F(Child, IsKilledAfterTheGraceWhenItIgnoresTheStop) {
  std::stop_source stop;

  const ChildEnd end = runAndWhenItRings("trap '' TERM; " + ring() + forEver, {.stop = stop.get_token(), .grace = 50ms},
                                         [&] { stop.request_stop(); });

  EXPECT_EQ(end.signal, SIGKILL);
  EXPECT_EQ(end.cause, EndCause::stopAsked);
  EXPECT_TRUE(end.nothingLeft);
  EXPECT_THAT(marked.processes(), IsEmpty());
}

TEST_F(Child, EndsAtOnceWhenTheStopCameBeforeIt) {
  std::stop_source stop;
  stop.request_stop();

  EXPECT_EQ(runChild(supervisor, marked.command(forEver), {.stop = stop.get_token(), .grace = 1ms}).value().cause,
            EndCause::stopAsked);
}

TEST_F(Child, IsKilledAtItsDeadline) {
  const BootTime until = BootClock::now() + 50ms;

  const ChildEnd end =
      runChild(supervisor, marked.command("trap '' TERM; tail -f /dev/null"), {.until = [until] { return until; }})
          .value();

  EXPECT_GE(BootClock::now(), until);
  EXPECT_EQ(end.cause, EndCause::overdue);
  EXPECT_TRUE(marked.allGone());
}

TEST_F(Child, RunsOnWhileItsDeadlineIsMoved) {
  const ChildLimits limits{.until = [] { return BootClock::now() + 200ms; }};

  const ChildEnd end = runAndWhenItRings("head -n 1 " + temporaryPath("no-file") + " 2> /dev/null; " + ring() +
                                             "i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done; exit 6",
                                         limits, [] {});

  EXPECT_EQ(end.exitCode, 6);
}

TEST_F(Child, DiesWhenItsDeadlineIsTakenBack) {
  std::atomic<bool> lost = false;
  const ChildLimits limits{.until = [&] { return lost ? BootTime::min() : BootTime::max(); }};

  const ChildEnd end = runAndWhenItRings(ring() + forEver, limits, [&] { lost = true; });

  EXPECT_EQ(end.cause, EndCause::overdue);
  EXPECT_EQ(end.signal, SIGKILL);
}

TEST_F(Child, ThatHasRunForLongMayStillTakeAMomentToDie) {
  const BootTime lostAt = BootClock::now() + 3s;
  const ChildLimits limits{.until = [&] { return BootClock::now() < lostAt ? BootTime::max() : BootTime::min(); },
                           .answer = 2s};

  const Result<ChildEnd> end = runChild(supervisor, marked.command(forEver), limits);

  ASSERT_TRUE(end) << end.error().message();
  EXPECT_EQ(end->cause, EndCause::overdue);
}

TEST_F(Child, TakesItsDoubleForkedOffspringWithIt) {
  std::stop_source stop;
  const std::string daemon = "(setsid nohup sh -c '" + ring("daemon") + forEver + "' > /dev/null 2>&1 &) ; ";

  const ChildEnd end = runAndWhenItRings(daemon + forEver, {.stop = stop.get_token()}, [&] { stop.request_stop(); });

  EXPECT_EQ(rung, "daemon");
  EXPECT_TRUE(end.nothingLeft);
  EXPECT_THAT(marked.processes(), IsEmpty());
}

TEST_F(Child, LeavesNothingBehindWhenItEndsByItself) {
  const ChildEnd end = run("(setsid nohup " + std::string(forEver).substr(5) + " > /dev/null 2>&1 &); exit 3");

  EXPECT_EQ(end.exitCode, 3);
  EXPECT_EQ(end.cause, EndCause::itself);
  EXPECT_THAT(marked.processes(), IsEmpty());
}

TEST_F(Child, IsKilledEvenWhenItIsStopped) {
  const ChildCommand stopsItself = marked.command("(trap '' TERM; kill -STOP $(sh -c 'echo $PPID')) & exit 2");

  EXPECT_EQ(runChild(supervisor, stopsItself, {.grace = 20ms}).value().exitCode, 2);

  EXPECT_THAT(marked.processes(), IsEmpty());
}

TEST_F(Child, AHundredTimesLeavesNoProcessAndNoDescriptor) {
  run("exit 0");
  const std::size_t descriptors = openDescriptors();

  for (int i = 0; i < 100; ++i) EXPECT_EQ(run("sed s/x/y/ > /dev/null", "body\n").exitCode, 0);

  EXPECT_EQ(openDescriptors(), descriptors);
  EXPECT_THAT(marked.processes(), IsEmpty());
  for (const pid_t shim : childrenOf(supervisor.pid())) EXPECT_TRUE(hasEnded(shim));
}

TEST_F(Child, RunsBesideOthers) {
  std::vector<std::jthread> threads;
  std::array<std::optional<int>, 4> codes;
  for (std::size_t i = 0; i < codes.size(); ++i)
    threads.emplace_back(
        [&, i] { codes[i] = runChild(supervisor, marked.command("exit " + std::to_string(i))).value().exitCode; });
  threads.clear();

  EXPECT_THAT(codes, testing::ElementsAre(0, 1, 2, 3));
}

}  // namespace
}  // namespace tenure::test
