/// `tenure consume --worker`: effects that come back as values, each once and in order, whatever happens to the worker,
/// its replica or what it says.
#include <sys/stat.h>

#include "../cli/replica.hpp"
#include "../wiring/places.hpp"

namespace tenure::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

const std::string pythonClient = std::string(TENURE_SOURCE_DIR) + "/clients/python";

class Workers : public ToolInElection {
 protected:
  /// A worker in Python with this handler.
  std::string python(const std::string& handler, const std::string& options = {}) {
    write("worker.py", "import sys; sys.path.insert(0, '" + pythonClient +
                           "')\nimport os, signal, threading, tenure\nworker = tenure.Worker(" + options + ")\n" +
                           handler + "\nworker.run()\n");
    return "exec python3 '" + at("worker.py") + "'";
  }
  static std::string inserting() {
    return R"py(
@worker.handler
def book(message):
    return tenure.Done(sql=[tenure.sql("insert into ledger(id, grp, body, token, attempt) values(:id, :g, :b, :t, :a)",
                                       id=message.id, g=message.group, b=message.text, t=message.token,
                                       a=message.attempt)])
)py";
  }
  /// A handler that has begun when `begun` is there, and waits for `go` before its last line.
  std::string thatWaits(const std::string& lastLine) {
    return python("@worker.handler\ndef book(message):\n    open('" + at("begun") +
                  "', 'w').close()\n    while not os.path.exists('" + at("go") +
                  "'): threading.Event().wait(0.01)\n    " + lastLine);
  }
  bool hasBegun() const {
    return eventually([&] { return std::filesystem::exists(at("begun")); });
  }
  Program work(const std::string& name, const std::string& command, const Arguments& more = {},
               const Arguments& environment = {}) {
    Arguments arguments{"--queue", queue(), "--id", name, "--worker", command, "--retry-base", "10ms"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return start(inElection("consume", arguments), name, environment);
  }
  static std::string grouped(int count, int groups) {
    std::string lines;
    for (int i = 1; i <= count; ++i)
      lines += R"({"id":"m-)" + std::to_string(i) + R"(","group":"g)" + std::to_string(i % groups) + R"(","body":"b)" +
               std::to_string(i) + "\"}\n";
    return lines;
  }
  void produceNumbered(int count, int groups = 1) { produce(grouped(count, groups)); }
  /// Of a ledger that has each message once: whether each group is in order.
  void expectEachOnceInOrder(int count) {
    EXPECT_EQ(sql("SELECT count(*), count(DISTINCT id) FROM ledger"),
              std::to_string(count) + "|" + std::to_string(count));
    EXPECT_EQ(sql("SELECT count(*) FROM ledger a JOIN ledger b ON a.grp = b.grp AND a.n < b.n AND "
                  "CAST(substr(a.id, 3) AS INTEGER) > CAST(substr(b.id, 3) AS INTEGER)"),
              "0");
  }
};

// shows: workers/each-once-in-order
TEST_F(Workers, EachMessageHasItsEffectOnceAndInOrderWhenWorkersAndReplicasAreKilled) {
  produceNumbered(3'000, 3);
  const std::string command =
      python("open(" + std::string("os.environ['PIDS'], 'a').write(f'{os.getpid()}\\n')") + inserting(), "ahead=16");
  const Arguments pids{"PIDS=" + at("pids")};
  Program first = work("first", command, {"--max-batch", "16"}, pids);
  ASSERT_TRUE(leads(first));
  Program second = work("second", command, {"--max-batch", "16"}, pids);

  for (const int rows : {300, 600}) {
    ASSERT_TRUE(eventually([&] { return std::stoi(sql("SELECT count(*) FROM ledger")) >= rows; }));
    std::ifstream file(at("pids"));
    pid_t pid = 0;
    file >> pid;
    kill(pid, SIGKILL);
    std::ofstream(at("pids"), std::ios::trunc);
    ASSERT_TRUE(eventually([&] { return std::filesystem::file_size(at("pids")) > 0; }));
  }
  first.signal(SIGKILL);

  EXPECT_TRUE(ledgerReaches(3'000)) << first.output() << second.output();
  expectEachOnceInOrder(3'000);
  EXPECT_THAT(first.output(), HasSubstr(" worker_lost "));
}

// shows: workers/each-once-in-order
TEST_F(Workers, EachMessageHasItsEffectOnceAndInOrderWhenItsDatabaseIsKilled) {
  constexpr int messages = 2'000;
  PostgresServer server;
  PostgresPlace place(server);
  const std::string url = with(place.url(), "queue=orders");
  ASSERT_EQ(tenure({"produce", "--queue", url, "--format", "jsonl"}, grouped(messages, 3)).exit, 0);
  place.world().ask(
      "CREATE TABLE ledger(n bigserial, id text, grp text, body text, token bigint, attempt int);"
      " GRANT ALL ON ledger TO PUBLIC; GRANT ALL ON SEQUENCE ledger_n_seq TO PUBLIC");
  Program replica = start(inElection("consume", {"--queue", url, "--id", "replica", "--worker",
                                                 python(inserting(), "ahead=16"), "--max-batch", "16"}),
                          "replica");
  const auto rows = [&] { return std::stoi(place.world().ask("SELECT count(*) FROM ledger")); };

  for (const int reached : {200, 600, 1'000}) {
    ASSERT_TRUE(eventually([&] { return rows() >= reached; })) << replica.output();
    server.kill();
    server.start();
  }

  EXPECT_TRUE(eventually([&] { return rows() >= messages; })) << replica.output();
  EXPECT_EQ(place.world().ask("SELECT concat_ws('|', count(*), count(DISTINCT id), max(attempt)) FROM ledger"),
            "2000|2000|1");
  EXPECT_EQ(place.world().ask("SELECT count(*) FROM ledger a JOIN ledger b ON a.grp = b.grp AND a.n < b.n"
                              " AND substr(a.id, 3)::int > substr(b.id, 3)::int"),
            "0");
}

TEST_F(Workers, LanesHaveAProcessEachAndKeepTheOrderOfTheirGroups) {
  produceNumbered(1'000, 7);
  const std::string command =
      python("open(os.environ['PIDS'], 'a').write(f'{os.getpid()}\\n')" + inserting(), "ahead=4");

  Program replica = work("replica", command, {"--lanes", "4"}, {"PIDS=" + at("pids")});

  EXPECT_TRUE(ledgerReaches(1'000)) << replica.output();
  expectEachOnceInOrder(1'000);
  std::ifstream pids(at("pids"));
  EXPECT_EQ(std::distance(std::istream_iterator<int>(pids), {}), 4);
  EXPECT_EQ(told(replica, SIGTERM), 0) << replica.output();
}

TEST_F(Workers, FewerProcessesThanLanesAreShared) {
  produceNumbered(300, 7);
  Program replica = work("replica", python(inserting()), {"--lanes", "4", "--worker-processes", "2"});
  EXPECT_TRUE(ledgerReaches(300)) << replica.output();
  expectEachOnceInOrder(300);
  EXPECT_EQ(occurrences(replica.output(), " worker_ready "), 2U);
}

// shows: workers/outcomes
TEST_F(Workers, EachOutcomeIsWhatItSaysAndAWrongStatementIsItsMessagesAttempt) {
  std::string lines;
  for (const char* body : {"done", "raise", "wrong", "rows", "reject", "skip", "retry", "last"})
    lines += R"({"id":")" + std::string(body) + R"(","body":")" + body + "\"}\n";
  produce(lines);
  const std::string command = python(R"py(
@worker.handler
def book(message):
    if message.text == "raise": raise KeyError("customer")
    if message.text == "wrong": return tenure.Done(sql=[tenure.sql("insert into nothing values(1)")])
    if message.text == "rows": return tenure.Done(sql=[tenure.sql("delete from ledger where id = 'x'", rows=1)])
    if message.text == "reject": return tenure.Reject("no such order")
    if message.text == "skip": return tenure.Skip("nothing to do")
    if message.text == "retry" and not os.path.exists(os.environ["ONCE"]):
        open(os.environ["ONCE"], "w").close()
        return tenure.Retry(after=0.01, why="closed")
    return tenure.Done(sql=[tenure.sql("insert into ledger(id, attempt) values(:id, :a)", rows=1, id=message.id,
                                       a=message.attempt)])
)py");

  Program replica = work("replica", command, {"--max-attempts", "2"}, {"ONCE=" + at("once")});

  ASSERT_TRUE(ledgerReaches(3)) << replica.output();
  EXPECT_EQ(sql("SELECT group_concat(id || attempt, ' ') FROM (SELECT * FROM ledger ORDER BY n)"),
            "done1 retry1 last1");
  EXPECT_EQ(told(replica, SIGTERM), 0);
  const Run letters = tenure({"dead-letters", "list", "--queue", queue()});
  EXPECT_THAT(letters.output, AllOf(HasSubstr("KeyError: 'customer'"), HasSubstr("nothing"),
                                    HasSubstr("touched 0 rows: expected 1"), HasSubstr("no such order")));
}

// shows: workers/effects-of-every-kind
TEST_F(Workers, StateSendsAndTimesAreCommittedWithTheMessage) {
  std::string lines;
  for (int i = 1; i <= 6; ++i)
    lines += R"({"id":"m-)" + std::to_string(i) + R"(","group":"g)" + std::to_string(i % 2) + R"(","body":")" +
             std::to_string(i) + "\"}\n";
  produce(lines);
  const std::string command = python(R"py(
import datetime
@worker.handler(state=lambda message: ["total:" + message.group])
def add(message):
    total = int(message.state["total:" + message.group] or b"0") + int(message.text)
    return tenure.Done(
        put={"total:" + message.group: str(total)},
        send=[tenure.Send("totals", body=str(total), group=message.group),
              tenure.Send("reminders", body="x", id="r-" + message.id, delay=datetime.timedelta(hours=2))],
        cancel=[tenure.Cancel("r-m-1", queue="reminders")] if message.id == "m-6" else [],
        sql=[tenure.sql("insert into ledger(id) values(:id)", id=message.id)])
)py",
                                     "ahead=4");

  Program replica = work("replica", command);

  ASSERT_TRUE(ledgerReaches(6)) << replica.output();
  EXPECT_EQ(told(replica, SIGTERM), 0);
  const Run totals = tenure({"queue", "peek", "--queue", "sqlite:" + at("q.db") + "?queue=totals"});
  EXPECT_THAT(totals.output, AllOf(HasSubstr("m-5/2"), HasSubstr("m-6/2"), HasSubstr("12"), HasSubstr("9")));
  const Run reminders = tenure({"scheduled", "list", "--queue", "sqlite:" + at("q.db") + "?queue=reminders"});
  EXPECT_THAT(reminders.output, AllOf(HasSubstr("r-m-2"), HasSubstr("r-m-6"), Not(HasSubstr("r-m-1 "))));
}

// --- what it misbehaves in

struct Misdeed {
  const char* name;
  const char* script;     // of its first life, after it was handed a message
  const char* complaint;  // in the log
  bool charges;           // the message that it had alone in hand
  friend std::ostream& operator<<(std::ostream& out, const Misdeed& misdeed) { return out << misdeed.name; }
};

class Misbehaving : public Workers, public testing::WithParamInterface<Misdeed> {};

// shows: workers/misbehaves
TEST_P(Misbehaving, TheTermGoesOnAndTheWorkerIsStartedAgain) {
  produceNumbered(5);
  write("hostile.py", R"py(
import json, os, signal, socket, struct, sys
wire = socket.socket(socket.AF_UNIX); wire.connect(os.environ["TENURE_WORKER_SOCKET"])
def frame(head, body=b"", cut=None):
    text = json.dumps(head).encode()
    data = struct.pack("!II", len(text), len(body)) + text + body
    wire.sendall(data if cut is None else data[:cut])
def read():
    data = b""
    while len(data) < 8:
        some = wire.recv(8 - len(data))
        if not some: sys.exit(0)
        data += some
    a, b = struct.unpack("!II", data); rest = b""
    while len(rest) < a + b: rest += wire.recv(a + b - len(rest))
    return json.loads(rest[:a]), rest[a:]
def done(head):
    frame({"type": "answer", "number": head["number"], "outcome": "done", "effects": [
        {"sql": "insert into ledger(id, attempt) values(:id, :a)",
         "parameters": {"id": {"text": head["id"]}, "a": {"int": head["attempt"]}}}]})
frame({"type": "hello", "wire": 1, "language": "none", "ahead": 1})
first = not os.path.exists(os.environ["ONCE"])
while True:
    head, body = read()
    if head["type"] == "stop": frame({"type": "bye"}); sys.exit(0)
    if head["type"] != "message": continue
    if first and head["id"] == "m-2":
        open(os.environ["ONCE"], "w").close()
)py" + std::string("        ") +
                          GetParam().script + "\n    done(head)\n");

  Program replica =
      work("replica", "exec python3 '" + at("hostile.py") + "'", {"--execute-limit", "1s"}, {"ONCE=" + at("once")});

  ASSERT_TRUE(ledgerReaches(5)) << replica.output();
  EXPECT_EQ(sql("SELECT attempt FROM ledger WHERE id = 'm-2'"), GetParam().charges ? "2" : "1");
  EXPECT_TRUE(replica.waitForOutput(GetParam().complaint)) << replica.output();
  EXPECT_THAT(replica.output(), HasSubstr(" worker_lost "));
  EXPECT_EQ(occurrences(replica.output(), " term_began "), 1U) << replica.output();
  expectEachOnceInOrder(5);
}

INSTANTIATE_TEST_SUITE_P(
    Every, Misbehaving,
    testing::Values(
        Misdeed{"Exits", "sys.exit(3)", "exit status 3", true},
        Misdeed{"Dies", "os.kill(os.getpid(), 11)", "killed by SIGSEGV", true},
        Misdeed{"Hangs", "signal.pause()", "it overran the limit for one message", true},
        Misdeed{"IsFrozen", "os.kill(os.getpid(), signal.SIGSTOP)", "it overran the limit for one message", true},
        Misdeed{"WritesNonsense", "wire.sendall(b'GET / HTTP/1.1\\r\\n\\r\\n'); signal.pause()",
                "does not speak as it should", true},
        Misdeed{"AnswersAnother", "frame({'type': 'answer', 'number': '77', 'outcome': 'done'}); signal.pause()",
                "a message that it does not have", true},
        Misdeed{"AnswersTwice", "done(head); done(head); signal.pause()", "a message that it does not have", false},
        Misdeed{"LeavesHalfAFrame",
                "frame({'type': 'answer', 'number': head['number'], 'outcome': 'done'}, cut=15); sys.exit(0)",
                "ends within a frame", true},
        Misdeed{"Floods", "[frame({'type': 'need', 'number': head['number'], 'keys': []}) for _ in range(100000)]",
                "asks for more state", true},
        Misdeed{"SaysByeAndStays", "done(head); frame({'type': 'bye'}); signal.pause()",
                "did not end when it was asked to", false},
        Misdeed{"SaysByeWithOneInHandAndStays", "frame({'type': 'bye'}); signal.pause()",
                "did not end when it was asked to", false},
        Misdeed{"LeavesInOrder", "frame({'type': 'bye'}); sys.exit(0)", "has closed its connection", false}),
    [](const auto& misdeed) { return std::string(misdeed.param.name); });

// --- beginning and end

TEST_F(Workers, ACommandThatIsNotThereIsRefusedBeforeTheFirstElection) {
  const Run run = tenure(inElection("consume", {"--queue", queue(), "--worker", "no-such-worker --fast"}));
  EXPECT_EQ(run.exit, 78);
  EXPECT_THAT(run.output, AllOf(HasSubstr("--worker"), HasSubstr("no-such-worker")));
}

TEST_F(Workers, AnEffectThatTheStoreCannotTakeIsRefusedBeforeTheFirstElection) {
  const std::string command = python(inserting(), "uses=['sql']");
  const Run run = tenure(
      inElection("consume", {"--queue", queue(), "--store",
                             "zookeeper://" + Ensemble::shared().hosts() + "/" + election(), "--worker", command}));
  EXPECT_EQ(run.exit, 78) << run.output;
  EXPECT_THAT(run.output, HasSubstr("uses the effect \"sql\""));
}

// shows: workers/not-ready
TEST_F(Workers, OneThatCannotStartKeepsItsReplicaFromBeingReadyAndIsTriedAgain) {
  produceNumbered(1);
  const std::string command = "if [ -e '" + at("well") + "' ]; then " + python(inserting()) + "; else exit 3; fi";
  Program replica = work("replica", command);
  ASSERT_TRUE(replica.waitForOutput(" worker_lost ", 2)) << replica.output();

  write("well", "");

  EXPECT_TRUE(ledgerReaches(1)) << replica.output();
  EXPECT_EQ(told(replica, SIGTERM), 0);
}

/// Tests that wait for half a minute or more: they are in the long form.
class LongWorkers : public Workers {};

TEST_F(LongWorkers, AHandlerOfAMinuteKeepsItsTermAndIsToldAsSlow) {
  produceNumbered(3);
  const std::string command = python(R"py(
@worker.handler
def book(message):
    if message.id == "m-2": threading.Event().wait(62)
    return tenure.Done(sql=[tenure.sql("insert into ledger(id, attempt) values(:id, :a)", id=message.id, a=message.attempt)])
)py");

  Program replica = work("replica", command);

  ASSERT_TRUE(eventually([&] { return sql("SELECT count(*) FROM ledger") == "3"; }, 180s)) << replica.output();
  EXPECT_EQ(sql("SELECT max(attempt) FROM ledger"), "1");
  EXPECT_THAT(replica.output(), HasSubstr(" handler_slow "));
  EXPECT_EQ(occurrences(replica.output(), " term_began "), 1U);
  EXPECT_EQ(told(replica, SIGTERM), 0);
}

/// A worker has half a minute for its greeting.
TEST_F(LongWorkers, ALeaderWhoseWorkerDoesNotGreetHandsOverToAReadyReplica) {
  produceNumbered(1);
  const std::string well = python("open(os.environ['PIDS'], 'a').write(f'{os.getpid()}\\n')" + inserting());
  Program first = work("first", "if mkdir '" + at("once") + "'; then " + well + "; else exec sleep 600; fi", {},
                       {"PIDS=" + at("pids")});
  ASSERT_TRUE(ledgerReaches(1)) << first.output();
  Program second = work("second", well, {}, {"PIDS=" + at("others")});
  ASSERT_TRUE(second.waitForOutput(" worker_ready ")) << second.output();
  pid_t pid = 0;
  std::ifstream(at("pids")) >> pid;

  kill(pid, SIGKILL);
  ASSERT_EQ(tenure({"produce", "--queue", queue()}, "body\n").exit, 0);

  EXPECT_TRUE(eventually([&] { return sql("SELECT count(*) FROM ledger") == "2"; }, 120s))
      << first.output() << second.output();
  EXPECT_TRUE(leads(second));
}

// shows: workers/ends-with-its-replica
TEST_F(Workers, ItEndsWithItsReplicaAlsoWhenThatIsKilled) {
  produceNumbered(1);
  const std::string command = python(
      "open(os.environ['PIDS'], 'a').write(f'{os.getpid()}\\n')\n@worker.handler\ndef "
      "book(message): open(os.environ['BEGUN'], 'w'); signal.pause()");
  Program replica = work("replica", command, {}, {"PIDS=" + at("pids"), "BEGUN=" + at("begun")});
  ASSERT_TRUE(eventually([&] { return std::filesystem::exists(at("begun")); })) << replica.output();
  pid_t pid = 0;
  std::ifstream(at("pids")) >> pid;
  ASSERT_EQ(kill(pid, 0), 0);

  replica.signal(SIGKILL);

  EXPECT_TRUE(eventually([&] { return kill(pid, 0) != 0; }));
}

TEST_F(Workers, AStopFinishesTheMessageInHand) {
  produceNumbered(2);
  Program replica =
      work("replica", thatWaits("return tenure.Done(sql=[tenure.sql('insert into ledger(id) values(:id)', "
                                "id=message.id)])"));
  ASSERT_TRUE(hasBegun()) << replica.output();

  replica.signal(SIGTERM);
  ASSERT_TRUE(eventually([&] { return !tenure({"list", "--zookeeper", Ensemble::shared().hosts()}).output.empty(); }));
  write("go", "");

  EXPECT_EQ(exitOf(replica), 0) << replica.output();
  EXPECT_EQ(sql("SELECT group_concat(id) FROM ledger"), "m-1");
}

/// As a shell tells it of a command below it.
TEST_F(Workers, OneThatEndsOfASignalWhileItsReplicaStopsIsNotCharged) {
  produceNumbered(1);
  Program first = work("first", thatWaits("os._exit(128 + signal.SIGTERM)"));
  ASSERT_TRUE(hasBegun()) << first.output();
  first.signal(SIGTERM);
  write("go", "");
  EXPECT_EQ(exitOf(first), 0) << first.output();

  Program second = work("second", python(inserting()));

  EXPECT_TRUE(ledgerReaches(1)) << second.output();
  EXPECT_EQ(sql("SELECT attempt FROM ledger"), "1");
}

TEST_F(Workers, AHandlerThatReportsProgressMayTakeLongerThanItsLimit) {
  produceNumbered(1);
  const std::string command = python(R"py(
@worker.handler
def book(message):
    assert message.deadline is not None
    for _ in range(20):
        threading.Event().wait(0.1)
        message.progress()
    return tenure.Done(sql=[tenure.sql("insert into ledger(id, attempt) values(:id, :a)", id=message.id, a=message.attempt)])
)py");
  Program replica = work("replica", command, {"--execute-limit", "1s"});
  EXPECT_TRUE(ledgerReaches(1)) << replica.output();
  EXPECT_EQ(sql("SELECT attempt FROM ledger"), "1");
}

// shows: workers/output-is-events
TEST_F(Workers, WhatItPrintsIsToldLineByLineAndCutWhereItIsLong) {
  produceNumbered(2);
  const std::string command = python(R"py(
@worker.handler
def book(message):
    if message.id == "m-1": print("x" * 600_000, end="")
    else: print("after")
    return tenure.Done(sql=[tenure.sql("insert into ledger(id) values(:id)", id=message.id)])
)py");
  Program replica = work("replica", command);
  ASSERT_TRUE(ledgerReaches(2));
  EXPECT_EQ(told(replica, SIGTERM), 0);
  EXPECT_THAT(replica.output(), AllOf(HasSubstr(" command_said "), HasSubstr(" command_output_cut ")));
  EXPECT_LT(replica.output().size(), 100'000U);
}

TEST_F(Workers, ItsSocketIsGoneOnceItIsConnected) {
  std::filesystem::create_directory(at("run"));
  produceNumbered(1);
  const std::string command = python(R"py(
import stat
path = os.environ["TENURE_WORKER_SOCKET"]
print("mode", oct(stat.S_IMODE(os.stat(os.path.dirname(path)).st_mode)), path)
)py" + inserting());
  Program replica = work("replica", command, {}, {"RUNTIME_DIRECTORY=" + at("run")});
  ASSERT_TRUE(ledgerReaches(1)) << replica.output();
  EXPECT_THAT(replica.output(), AllOf(HasSubstr("mode 0o700"), HasSubstr(at("run"))));
  EXPECT_TRUE(std::filesystem::is_empty(at("run")));
}

// --- values of SQL

constexpr const char* everyValue = R"py(
import datetime, decimal, uuid
values = {"b": True, "i": -2**63, "f": 1.5, "t": "caf\u00e9", "r": b"\x00\xff", "d": decimal.Decimal("1.50"),
          "u": uuid.UUID(int=7), "day": datetime.date(2026, 5, 4), "j": {"a": [1]},
          "at": datetime.datetime(2026, 5, 4, 9, tzinfo=datetime.timezone.utc), "n": None}

@worker.handler
def keep(message):
    return tenure.Done(sql=[tenure.sql("insert into kept values(:b <> 0, :i, :f, :t, :r, :d, :u, :day, :j, :at, :n)", rows=1,
                                       **values)])
)py";

// shows: workers/every-value
TEST_F(Workers, EveryValueOfSqlIsKeptAsItWasSentInSqlite) {
  produceNumbered(1);
  sql("CREATE TABLE kept(b, i, f, t, r, d, u, day, j, at, n)");

  Program replica = work("replica", python(everyValue));

  ASSERT_TRUE(eventually([&] { return sql("SELECT count(*) FROM kept") == "1"; })) << replica.output();
  EXPECT_EQ(
      sql("SELECT b, i, f, t, hex(r), d, u, day, j, at, n IS NULL, typeof(i), typeof(r), typeof(t) FROM kept"),
      "1|-9223372036854775808|1.5|caf\u00e9|00FF|1.50|00000000-0000-0000-0000-000000000007|2026-05-04|{\"a\":[1]}|"
      "2026-05-04T09:00:00+00:00|1|integer|blob|text");
}

// shows: workers/every-value
TEST_F(Workers, EveryValueOfSqlIsKeptAsItWasSentInPostgresql) {
  PostgresPlace place;
  const std::string url = with(place.url(), "queue=orders");
  ASSERT_EQ(tenure({"produce", "--queue", url}, "body\n").exit, 0);
  place.world().ask(
      "CREATE TABLE kept(b boolean, i bigint, f double precision, t text, r bytea, d numeric, u uuid, day "
      "date, j jsonb, at timestamptz, n integer); GRANT ALL ON kept TO PUBLIC");

  Program replica =
      start(inElection("consume", {"--queue", url, "--id", "replica", "--worker", python(everyValue)}), "replica");

  ASSERT_TRUE(eventually([&] { return place.world().ask("SELECT count(*) FROM kept") == "1"; })) << replica.output();
  EXPECT_EQ(
      place.world().ask("SELECT concat_ws('|', b, i, f, t, encode(r, 'hex'), d, u, day, j, at AT TIME ZONE 'UTC', "
                        "n IS NULL) FROM kept"),
      "t|-9223372036854775808|1.5|caf\u00e9|00ff|1.50|00000000-0000-0000-0000-000000000007|2026-05-04|{\"a\": [1]}|"
      "2026-05-04 09:00:00|t");
}

}  // namespace
}  // namespace tenure::test
