/// `tenure worker test`: the wire as the Python client speaks it, and as programs speak it that do not keep to it.
#include <gmock/gmock.h>

#include "../cli/tool.hpp"

namespace tenure::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

const std::string client = std::string(TENURE_SOURCE_DIR) + "/clients/python";

class PythonWorker : public Tool {
 protected:
  /// `tenure worker test` of a worker with this handler.
  Run hand(const std::string& handler, const std::string& messages) {
    write("orders.py", "import sys; sys.path.insert(0, '" + client + "')\n" + handler + "\nworker.run()\n");
    return tenure({"worker", "test", "python3 '" + at("orders.py") + "'"}, messages);
  }
  static std::string message(const std::string& id, const std::string& body, const std::string& rest = {}) {
    return R"({"id":")" + id + R"(","body":")" + body + "\"" + rest + "}\n";
  }
};

// shows: python/handler-answers
TEST_F(PythonWorker, AnswersWithAnOutcomeAndItsEffects) {
  const Run run = hand(R"py(
import datetime, decimal, tenure, uuid
worker = tenure.Worker()

@worker.handler
def book(message):
    if message.text == "later": return tenure.Retry(after=1.5, why="closed")
    if message.text == "bad": return tenure.Reject("no such order")
    if message.text == "none": return tenure.Skip("nothing to do")
    if message.text == "raise": raise KeyError("customer")
    return tenure.Done(
        sql=[tenure.sql("insert into ledger values(:id, :body, :n)", rows=1, id=message.id, body=message.text, n=None)],
        send=[tenure.Send("invoices", body=message.body, group=message.group),
              tenure.Send("reminders", body="x", id="r-1", delay=datetime.timedelta(hours=2))],
        cancel=[tenure.Cancel("o-1-timeout")], put={"last": message.id}, erase=["old"])
)py",
                       message("m-1", "17 EUR", R"(,"group":"anna")") + message("m-2", "later") +
                           message("m-3", "bad") + message("m-4", "none") + message("m-5", "raise"));

  EXPECT_EQ(run.exit, 65) << run.output;
  EXPECT_THAT(run.output, HasSubstr("m-1  done\n"
                                    "  sql         insert into ledger values(:id, :body, :n)  :body=\"17 EUR\"  "
                                    ":id=\"m-1\"  :n=null  rows=1\n"
                                    "  send        invoices  m-1/2  group=anna  \"17 EUR\"\n"
                                    "  send        reminders  r-1  in 2h  \"x\"\n"
                                    "  cancel      o-1-timeout\n"
                                    "  put         last  \"m-1\"\n"
                                    "  erase       old\n"));
  EXPECT_THAT(run.output, AllOf(HasSubstr("m-2  retry  closed\n"), HasSubstr("m-3  reject  no such order\n"),
                                HasSubstr("m-4  skip  nothing to do\n"),
                                HasSubstr("m-5  failed  KeyError: \'customer\'\n"), HasSubstr("stderr: Traceback")));
}

// shows: python/every-value
TEST_F(PythonWorker, EveryValueOfSqlIsSentAndAnyOtherIsAFailedAttemptThatNamesIt) {
  const Run run =
      hand(R"py(
import datetime, decimal, tenure, uuid
worker = tenure.Worker()
values = {"b": True, "i": -2**63, "f": 1.5, "t": "é", "r": b"\x00\xff", "d": decimal.Decimal("1.50"),
          "u": uuid.UUID(int=7), "day": datetime.date(2026, 5, 4), "j": {"a": [1]},
          "at": datetime.datetime(2026, 5, 4, tzinfo=datetime.timezone.utc)}

@worker.handler
async def book(message):
    if message.text == "values": return tenure.Done(sql=[tenure.sql("s", **values)])
    wrong = {"large": 2**63, "nan": float("nan"), "odd": object()}
    return tenure.Done(sql=[tenure.sql("s", **{message.text: wrong[message.text]})])
)py",
           message("m-1", "values") + message("m-2", "large") + message("m-3", "nan") + message("m-4", "odd"));

  EXPECT_THAT(
      run.output,
      AllOf(HasSubstr(":b=1  "), HasSubstr(":i=-9223372036854775808"), HasSubstr(":f=1.5"), HasSubstr(":t=\"é\""),
            HasSubstr(":r=2 bytes"), HasSubstr(":d=\"1.50\""), HasSubstr(":day=\"2026-05-04\""),
            HasSubstr(":u=\"00000000-0000-0000-0000-000000000007\""), HasSubstr(":at=\"2026-05-04T00:00:00+00:00\"")));
  EXPECT_THAT(run.output, AllOf(HasSubstr("m-2  failed  parameter large: an integer of more than 64 bits"),
                                HasSubstr("m-3  failed  parameter nan: nan is no finite number"),
                                HasSubstr("m-4  failed  parameter odd: object is no value of SQL")));
}

// shows: python/state-by-keys
TEST_F(PythonWorker, StateIsToldByItsKeysAndWhatIsPrintedIsToldLineByLine) {
  const Run run = hand(R"py(
import logging, tenure
worker = tenure.Worker()

@worker.on_start
def begin(): print("begins")

@worker.on_stop
def end(): print("ends")

@worker.handler(state=lambda message: ["total:" + message.group])
def add(message):
    message.progress()
    logging.warning("adds %s", message.text)
    total = int(message.state["total:" + message.group] or b"0") + int(message.text)
    return tenure.Done(put={"total:" + message.group: str(total)})
)py",
                       message("m-1", "2", R"(,"group":"a")") + message("m-2", "3", R"(,"group":"a")") +
                           message("m-3", "4", R"(,"group":"b")"));

  EXPECT_EQ(run.exit, 0) << run.output;
  EXPECT_THAT(run.output, AllOf(HasSubstr("total:a  \"2\""), HasSubstr("total:a  \"5\""), HasSubstr("total:b  \"4\""),
                                HasSubstr("stdout: begins\n"), HasSubstr("stdout: ends\n"),
                                HasSubstr("stderr: WARNING:root:adds 2\n")));
}

TEST_F(PythonWorker, ABodyOfAMegabyteGoesThereAndBack) {
  const Run run = hand(R"py(
import tenure
worker = tenure.Worker()

@worker.handler
def book(message):
    return tenure.Done(sql=[tenure.sql("s", size=len(message.body), same=message.body)],
                       send=[tenure.Send("copies", body=message.body)])
)py",
                       message("m-1", std::string(1U << 20U, 'x')));

  EXPECT_EQ(run.exit, 0) << run.output;
  EXPECT_THAT(run.output, AllOf(HasSubstr(":size=1048576"), HasSubstr("1048576 bytes")));
}

// shows: python/without-tenure
TEST_F(PythonWorker, SaysHowItIsStartedAndIsTestedWithoutAServer) {
  write("orders.py",
        "import tenure\nworker = tenure.Worker()\n@worker.handler\ndef book(message):\n"
        "    return tenure.Done(sql=[tenure.sql('s', id=message.id)], put={'n': message.state['n']})\n"
        "worker._state = lambda message: ['n']\n"
        "if __name__ == '__main__': worker.run()\n");
  write("test.py",
        "import orders, tenure.testing\n"
        "answer = tenure.testing.handle(orders.worker, 'x', id='o-1', state={'n': b'3'})\n"
        "assert answer.sql[0].parameters['id'] == 'o-1' and answer.put['n'] == b'3'\nprint('tested')\n");
  const auto python = [&](const std::string& file) {
    Program program({"python3", at(file)}, at(file + ".out"), {"PYTHONPATH=" + client + ":" + at("")});
    const int exit = exitOf(program);
    return Run{exit, program.output()};
  };

  EXPECT_EQ(python("test.py").output, "tested\n");
  const Run alone = python("orders.py");
  EXPECT_EQ(alone.exit, 1);
  EXPECT_THAT(alone.output, HasSubstr("start it by `tenure worker test"));
}

/// A worker that speaks bytes of its own.
class HostileWorker : public PythonWorker {
 protected:
  Run speak(const std::string& script) {
    write("hostile.py", R"py(
import json, os, socket, struct, sys
wire = socket.socket(socket.AF_UNIX); wire.connect(os.environ["TENURE_WORKER_SOCKET"])
def frame(head, body=b"", cut=None):
    text = json.dumps(head).encode()
    data = struct.pack("!II", len(text), len(body)) + text + body
    wire.sendall(data if cut is None else data[:cut])
def read():
    data = b""
    while len(data) < 8: data += wire.recv(8 - len(data))
    a, b = struct.unpack("!II", data); rest = b""
    while len(rest) < a + b: rest += wire.recv(a + b - len(rest))
    return json.loads(rest[:a]), rest[a:]
def greet(): frame({"type": "hello", "wire": 1, "language": "none", "ahead": 1}); read()
)py" + script);
    return tenure({"worker", "test", "python3 '" + at("hostile.py") + "'"}, message("m-1", "b") + message("m-2", "b"));
  }
};

// shows: python/misbehaves
TEST_F(HostileWorker, WhatDoesNotSpeakAsItShouldIsToldAndEnded) {
  for (const auto& [script, complaint] : std::vector<std::pair<std::string, std::string>>{
           {"sys.exit(3)", "the worker"},
           {"greet(); read(); sys.exit(3)", "has closed its connection"},
           {"greet(); read(); frame({'type': 'answer', 'number': '1', 'outcome': 'done'}, cut=11)",
            "ends within a frame"},
           {"wire.sendall(b'GET / HTTP/1.1\\r\\n\\r\\n'); wire.recv(1)", "does not speak as it should"},
           {"frame({'type': 'hello', 'wire': 99}); wire.recv(1)", "another version of the wire"},
           {"greet(); read(); frame({'type': 'answer', 'number': '7', 'outcome': 'done'}); wire.recv(1)",
            "of a message that it does not have"},
           {"greet(); read(); wire.sendall(struct.pack('!II', 2, 1 << 30)); wire.recv(1)", "at most 16777216"},
           {"greet(); read(); frame([1]); wire.recv(1)", "no JSON object"}}) {
    const Run run = speak(script);
    EXPECT_EQ(run.exit, script.find("99") == std::string::npos ? 69 : 78) << script << "\n" << run.output;
    EXPECT_THAT(run.output, HasSubstr(complaint)) << script;
  }
}

// shows: python/misbehaves
TEST_F(HostileWorker, AnAnswerThatCannotBeUsedFailsItsMessageAloneAndTheWorkerIsToldWhy) {
  for (const auto& [answer, complaint] : std::vector<std::pair<std::string, std::string>>{
           {R"('outcome': 'perhaps')", "expected done, failed, retry, reject or skip"},
           {R"('outcome': 'done', 'effects': [{'delete': 'all'}])", "an effect \\\"delete\\\" is not known"},
           {R"('outcome': 'retry', 'effects': [{'put': {'key': 'k', 'value': [0, 0]}}])",
            "only an answer that is done"},
           {R"('outcome': 'done', 'effects': [{'put': {'key': 'k', 'value': [0, 9]}}])", "within the frame's body"},
           {R"('outcome': 'done', 'effects': [{'sql': 's', 'parameters': {'n': {'int': 5}}}])",
            "64 bits in a string"}}) {
    const Run run = speak("greet(); read(); frame({'type': 'answer', 'number': '1', " + answer +
                          "}); print(read()[0]); read(); frame({'type': 'answer', 'number': '2', 'outcome': 'done', "
                          "'unknown field': 1}); read(); read(); frame({'type': 'bye'})");
    EXPECT_EQ(run.exit, 65) << run.output;
    EXPECT_THAT(run.output, AllOf(HasSubstr("m-1  failed  "), HasSubstr(complaint), HasSubstr("'type': 'refused'"),
                                  HasSubstr("m-2  done\n")));
  }
}

TEST_F(HostileWorker, OneThatIsNotThereIsRefusedAtOnce) {
  const Run run = tenure({"worker", "test", "no-such-worker --fast"}, "");
  EXPECT_EQ(run.exit, 78);
  EXPECT_THAT(run.output, AllOf(HasSubstr("no-such-worker"), Not(HasSubstr("did not connect"))));
}

}  // namespace
}  // namespace tenure::test
