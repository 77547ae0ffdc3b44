/// One handler in each language (tests/programs/workers) over `tenure worker test`: what is printed is the same. Perl's
/// is written from the page of the wire alone, without a client.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <iostream>

#include "../cli/tool.hpp"
#include "process/descriptor.hpp"

namespace tenure::test {
namespace {

using namespace std::chrono_literals;
using testing::AllOf;
using testing::HasSubstr;

const std::string workerPrograms = std::string(TENURE_SOURCE_DIR) + "/tests/programs/workers";

/// Where languages differ, and may.
struct Language {
  std::string program;           // by which it is found on this machine
  std::string probe;             // ends with 0 where it is there
  std::string script;            // of those in the folder; of Go, what is built
  std::string raised;            // before the text of an exception
  std::string time;              // 2030-01-02T03:04:05.678Z as the value of a parameter
  std::string notANumber = "";   // as it prints one
  std::string notOfSql = "";     // the type of a value that is none of SQL
  std::string startedLike = "";  // as a worker that is started by hand says
};
void PrintTo(const Language& language, std::ostream* out) { *out << language.program; }

const Language inPython{.program = "python3",
                        .probe = "python3 --version",
                        .script = "cases.py",
                        .raised = "ValueError: ",
                        .time = "2030-01-02T03:04:05.678000+00:00",
                        .notANumber = "nan",
                        .notOfSql = "object",
                        .startedLike = "python3 …"};
const Language inNode{.program = "node",
                      .probe = "node --version",
                      .script = "cases.mjs",
                      .raised = "RangeError: ",
                      .time = "2030-01-02T03:04:05.678Z",
                      .notANumber = "NaN",
                      .notOfSql = "Set",
                      .startedLike = "node …"};
const Language inGo{.program = "go",
                    .probe = "go version",
                    .script = "cases_go",
                    .raised = "",
                    .time = "2030-01-02T03:04:05.678Z",
                    .notANumber = "NaN",
                    .notOfSql = "chan int",
                    .startedLike = "./…"};
const Language inPerl{.program = "perl",
                      .probe = "perl -MIO::Socket::UNIX -MJSON::PP -e 1",
                      .script = "cases.pl",
                      .raised = "",
                      .time = "2030-01-02T03:04:05.678Z",
                      .startedLike = "perl …"};

/// The handler in Go, built once in this process; the error of the compiler where that failed.
const Result<std::string>& handlerInGo() {
  static const TemporaryFolder folder;
  static const Result<std::string> built = []() -> Result<std::string> {
    Program::Arguments environment{"GOFLAGS=-mod=mod -buildvcs=false", "GOPROXY=off", "GOTOOLCHAIN=local",
                                   "GOWORK=off"};
    if (std::getenv("HOME") == nullptr) {
      environment.push_back("GOCACHE=" + (folder / "cache").string());
      environment.push_back("GOPATH=" + (folder / "path").string());
    }
    const std::string program = folder / "cases";
    const std::string command = "cd '" + workerPrograms + "/cases_go' && go build -o '" + program + "' .";
    Program build({"/bin/sh", "-c", command}, folder / "build.log", environment);
    if (build.waitForEnd(10min).value_or(Ending{}).exitCode == 0) return program;
    return Error{Errc::unavailable, "the handler in Go was not built: " + build.output()};
  }();
  return built;
}

class LanguageTool : public Tool {
 protected:
  struct Printed {
    int exit = -1;
    std::string answers;
    std::string told;  // what the worker writes, and complaints
  };

  /// Skips the test, and says so, where the language is not there.
  void use(const Language& language) {
    Program probe({"/bin/sh", "-c", language.probe}, at("probe"));
    if (exitOf(probe) != 0) {
      const std::string absent =
          "needs " + language.program + ": it is not on this machine, and its client is not tested";
      std::cerr << absent << std::endl;
      GTEST_SKIP() << absent;
    }
    if (language.program != "go") {
      command_ = language.program + " '" + workerPrograms + "/" + language.script + "'";
      return;
    }
    ASSERT_TRUE(handlerInGo()) << handlerInGo().error().detail;
    command_ = "'" + *handlerInGo() + "'";
  }

  Program startHandling(const std::filesystem::path& messages) {
    return {{"/bin/sh", "-c", "exec \"$0\" worker test \"$1\" 2>\"$2\"", std::string(TENURE_BINARY_DIR) + "/tenure",
             command_ + "; echo \"exit $?\"", at("told")},
            at("answers"),
            {},
            messages};
  }

  Printed handle(const std::string& messages) {
    write("messages", messages);
    Program program = startHandling(at("messages"));
    const int exit = exitOf(program);
    return {exit, program.output(), readFile(at("told"))};
  }

  /// The program itself, without Tenure.
  Run runAlone(const std::string& argument = "") {
    Program program({"/bin/sh", "-c", command_ + " " + argument}, at("alone"));
    const int exit = exitOf(program);
    return {exit, program.output()};
  }

  static std::string message(const std::string& id, const std::string& body, const std::string& rest = {}) {
    return R"({"id":")" + id + R"(","body":")" + body + "\"" + rest + "}\n";
  }

  std::string command_;
};

class AnyLanguage : public LanguageTool, public testing::WithParamInterface<Language> {
 protected:
  void SetUp() override { use(GetParam()); }
};

TEST_P(AnyLanguage, AnswersWithEachOutcomeAndEffect) {
  const Printed printed =
      handle(message("m-1", "done", R"(,"group":"anna")") + message("m-2", "later") + message("m-3", "bad") +
             message("m-4", "none") + message("m-5", "nothing") + message("m-6", "raise"));

  EXPECT_EQ(printed.answers, R"(m-1  done
  sql         insert into ledger values(:id, :body)  :body="done"  :id="m-1"  rows=1
  sql         delete from open  rows=0
  send        invoices  m-1/3  group=anna  "done"
  send        reminders  r-1  in 2h  "x"
  send        reminders  r-2  at 2030-01-02T03:04:05.678Z  "é"
  cancel      o-1-timeout
  reschedule  o-1-check  2030-01-02T03:04:05.678Z
  put         bytes  "\x01\xff"
  put         last  "m-1"
  erase       old
m-2  retry  closed
m-3  reject  no such order
m-4  skip  nothing to do
m-5  done
m-6  failed  )" + GetParam().raised +
                                 "no customer\n")
      << printed.told;
  EXPECT_EQ(printed.exit, 65);
}

TEST_P(AnyLanguage, SendsEveryValueOfSql) {
  const Printed printed = handle(message("m-1", "values"));

  EXPECT_EQ(printed.answers, "m-1  done\n  sql         s  :at=\"" + GetParam().time +
                                 R"("  :bytes=2 bytes  :empty=0 bytes  :json="[\"é\"]"  :least=-9223372036854775808)"
                                 R"(  :most=9223372036854775807  :no=null  :real=1.5  :text="é \"quoted\"\n"  :yes=1)"
                                 "\n")
      << printed.told;
}

TEST_P(AnyLanguage, SeesAMessageAsItWasSentAndBytesThatAreNoText) {
  const Printed printed = handle(message("m-1", "", R"(,"group":"é","headers":{"source":"shop é"})") +
                                 R"({"id_base64":"//4=","group_base64":"/w==","body_base64":"/wA="})" + "\n");

  EXPECT_EQ(printed.answers, R"(m-1  done
  sql         echo  :attempt=1  :body=0 bytes  :deadline=null  :group="é"  :id="m-1"  :number=null  :source="shop é"  )"
                             R"(:timed=1  :token=1
\xff\xfe  done
  sql         echo  :attempt=1  :body=2 bytes  :deadline=null  :group=1 bytes  :id=2 bytes  :number=null  :source=null  )"
                             ":timed=1  :token=1\n")
      << printed.told;
}

TEST_P(AnyLanguage, KnowsItsStateByKeysAndItsLinesAreTold) {
  const Printed printed =
      handle(message("m-1", "add 2", R"(,"group":"é")") + message("m-2", "add 3", R"(,"group":"é")") +
             message("m-3", "add 4", R"(,"group":"b")"));

  EXPECT_EQ(printed.answers,
            "m-1  done\n  put         total:é  \"2\"\nm-2  done\n  put         total:é  \"5\"\n"
            "m-3  done\n  put         total:b  \"4\"\n")
      << printed.told;
  EXPECT_EQ(printed.told, "stdout: begins\nstdout: ends\nstdout: exit 0\n");
}

TEST_P(AnyLanguage, GoesOnAfterAnAnswerThatCannotBeUsed) {
  const Printed printed = handle(message("m-1", "refused") + message("m-2", "big") + message("m-3", "progress") +
                                 message("m-4", "nothing"));

  EXPECT_THAT(printed.answers, testing::MatchesRegex("m-1  failed  the worker's answer: .*no queue.*\n"
                                                     "m-2  failed  a frame of 167773[0-9][0-9] bytes: at most 16777216 "
                                                     "are allowed\nm-3  done\nm-4  done\n"))
      << printed.told;
  EXPECT_THAT(printed.told, HasSubstr("stderr: tenure refused the answer to 1: the worker's answer: \"queue\""));
}

TEST_P(AnyLanguage, AnswersTheMessageInHandWhenItIsAskedToStop) {
  const Printed printed = handle(message("m-1", "stop"));

  EXPECT_EQ(printed.exit, 0);
  EXPECT_EQ(printed.answers, "m-1  done\n  put         stopped  \"yes\"\n");
  EXPECT_EQ(printed.told, "stdout: begins\nstdout: ends\nstdout: exit 0\n");
}

TEST_P(AnyLanguage, StopsAtOnceWhenItHasNoMessage) {
  ASSERT_EQ(mkfifo(at("pipe").c_str(), 0600), 0);
  Descriptor pipe{open(at("pipe").c_str(), O_RDWR | O_CLOEXEC)};
  Program program = startHandling(at("pipe"));
  const std::string line = message("m-1", "pid");
  ASSERT_EQ(::write(pipe.get(), line.data(), line.size()), static_cast<ssize_t>(line.size()));
  ASSERT_TRUE(program.waitForOutput(":pid=")) << readFile(at("told"));
  const std::string answers = program.output();

  kill(static_cast<pid_t>(std::stol(answers.substr(answers.find(":pid=") + 5))), SIGTERM);

  EXPECT_TRUE(eventually([&] { return occurrences(readFile(at("told")), "stdout: exit 0\n") == 1; }))
      << readFile(at("told"));
  pipe.close();
  EXPECT_EQ(exitOf(program), 0);
}

TEST_P(AnyLanguage, SaysHowItIsStarted) {
  const Run alone = runAlone();

  EXPECT_EQ(alone.exit, 1);
  EXPECT_EQ(alone.output, "this is a worker: start it by `tenure worker test '" + GetParam().startedLike +
                              "'`, which sets TENURE_WORKER_SOCKET\n");
}

std::string languageName(const testing::TestParamInfo<Language>& info) { return info.param.program; }
INSTANTIATE_TEST_SUITE_P(WorkerClients, AnyLanguage, testing::Values(inPython, inNode, inGo, inPerl), languageName);

class ClientLibrary : public AnyLanguage {};

TEST_P(ClientLibrary, AValueThatIsNoneOfSqlIsAFailedAttemptThatNamesIt) {
  const Printed printed = handle(message("m-1", "large") + message("m-2", "nan") + message("m-3", "odd"));

  EXPECT_EQ(printed.answers,
            "m-1  failed  parameter large: an integer of more than 64 bits\n"
            "m-2  failed  parameter nan: " +
                GetParam().notANumber +
                " is no finite number\n"
                "m-3  failed  parameter odd: " +
                GetParam().notOfSql + " is no value of SQL\n")
      << printed.told;
}

TEST_P(ClientLibrary, IsTestedWithoutTenure) { EXPECT_EQ(runAlone("test").output, "5\n"); }

INSTANTIATE_TEST_SUITE_P(WorkerClients, ClientLibrary, testing::Values(inPython, inNode, inGo), languageName);

class NodeClient : public LanguageTool {
 protected:
  void SetUp() override { use(inNode); }
};

TEST_F(NodeClient, ASlipIsAFailedAttemptThatNamesIt) {
  const Printed printed = handle(message("m-1", "unsafe") + message("m-2", "nested") + message("m-3", "missing") +
                                 message("m-4", "half") + message("m-5", "never") + message("m-6", "slip") +
                                 message("m-7", "half_a_key") + message("m-8", "number"));

  EXPECT_EQ(printed.answers,
            "m-1  failed  parameter unsafe: 9007199254740992 is an integer that a number may not hold exactly: use a "
            "BigInt\n"
            "m-2  failed  parameter nested: Infinity is no finite number\n"
            "m-3  failed  parameter missing: undefined is no value of SQL\n"
            "m-4  failed  parameter half: a text with half of a surrogate pair\n"
            "m-5  failed  parameter never: an invalid Date is no time\n"
            "m-6  failed  TypeError: Done has no \\\"sends\\\"\n"
            "m-7  failed  a text with half of a surrogate pair\n"
            "m-8  failed  the handler answered number: expected Done, Retry, Reject, Skip or null\n")
      << printed.told;
}

class GoClient : public LanguageTool {
 protected:
  void SetUp() override { use(inGo); }
};

TEST_F(GoClient, APanicAndTextThatIsNoUtf8AreFailedAttempts) {
  const Printed printed =
      handle(message("m-1", "panic") + message("m-2", "nil") + message("m-3", "no text") + message("m-4", "nested"));

  EXPECT_THAT(printed.answers, AllOf(HasSubstr("m-1  failed  panic: no customer\n"), HasSubstr("m-2  failed  panic: "),
                                     HasSubstr("m-3  failed  key \\\"\\\\xff\\\" is no UTF-8\n"),
                                     HasSubstr("m-4  failed  parameter nested: json: unsupported value: +Inf\n")))
      << printed.told;
  EXPECT_THAT(printed.told, HasSubstr("stderr: panic: no customer\n"));
}

}  // namespace
}  // namespace tenure::test
