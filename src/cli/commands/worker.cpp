#include <unistd.h>

#include <iostream>
#include <map>
#include <mutex>
#include <nlohmann/json.hpp>

#include "base/text.hpp"
#include "cli/commands/commands.hpp"
#include "cli/handlers/child_command.hpp"
#include "cli/input/line_messages.hpp"
#include "cli/input/line_reader.hpp"
#include "cli/options/options.hpp"
#include "cli/output/content_page.hpp"
#include "cli/worker/worker_pool.hpp"

namespace tenure::cli {
namespace {

struct TestOptions {
  std::string command;
};

constexpr const char* workerHelp =
    R"help(A worker is a program in any language that lives for many messages: it is handed one after the
other over a socket, and answers each with values. docs/reference/wire.md tells how; clients/python
has it for Python.
)help";

constexpr const char* workerExamples = R"help(tenure worker test 'python3 orders.py' <messages.jsonl)help";

constexpr const char* testHelp =
    R"help(Starts the worker, hands it each message of standard input (JSON lines, as `tenure produce --format
jsonl` takes them), and prints what would be committed, message by message. No server is needed and
nothing is kept: state that an answer puts is there for the next messages of this run.
What the worker writes is printed on standard error. Exit code 65: a line was no message, or a
message is not done; 69: the worker could not be started, or stopped speaking.
)help";

constexpr const char* testExamples =
    R"help(tenure worker test 'python3 orders.py' <messages.jsonl
echo '{"id":"o-1","group":"anna","body":"17 EUR"}' | tenure worker test 'python3 orders.py')help";

std::string shown(const SqlValue& value) {
  struct Shower {
    std::string operator()(std::monostate) const { return "null"; }
    std::string operator()(std::int64_t number) const { return std::to_string(number); }
    std::string operator()(double number) const { return nlohmann::json(number).dump(); }
    std::string operator()(const std::string& text) const { return '"' + escaped(text) + '"'; }
    std::string operator()(const std::vector<std::byte>& bytes) const {
      return std::to_string(bytes.size()) + " bytes";
    }
  };
  return std::visit(Shower{}, value);
}

struct EffectLine {
  std::string operator()(const SqlEffect& sql) const {
    std::string line = "sql         " + printable(sql.statement);
    for (const auto& [name, value] : sql.parameters) line += "  " + escaped(name) + "=" + shown(value);
    return line + (sql.rows ? "  rows=" + std::to_string(*sql.rows) : "");
  }
  std::string operator()(const SendEffect& sent) const {
    std::string line = "send        " + escaped(sent.queue) + "  " + escaped(sent.message.id.value);
    if (!sent.message.group.value.empty()) line += "  group=" + escaped(sent.message.group.value);
    if (sent.message.deliverAt) line += "  at " + formatWallTime(*sent.message.deliverAt);
    if (sent.delay) line += "  in " + formatDuration(*sent.delay);
    return line + "  \"" + escaped(sent.message.body, 60) + "\"";
  }
  std::string operator()(const CancelEffect& cancel) const { return "cancel      " + escaped(cancel.id.value); }
  std::string operator()(const RescheduleEffect& moved) const {
    return "reschedule  " + escaped(moved.id.value) + "  " + formatWallTime(moved.at);
  }
  std::string operator()(const PutEffect& put) const {
    return "put         " + escaped(put.key) + "  \"" + escaped(put.value, 60) + "\"";
  }
  std::string operator()(const EraseEffect& erase) const { return "erase       " + escaped(erase.key); }
};

const char* nameOf(Outcome::Kind kind) noexcept {
  switch (kind) {
    case Outcome::Kind::done: return "done";
    case Outcome::Kind::retryLater: return "retry";
    case Outcome::Kind::failed: return "failed";
    case Outcome::Kind::reject: return "reject";
    case Outcome::Kind::skip: return "skip";
  }
  return "unknown";
}

/// Answers and the worker's own lines come from two threads: each is printed whole.
void print(std::ostream& stream, const std::string& lines) {
  static std::mutex printing;
  const std::lock_guard lock(printing);
  stream << lines << std::flush;
}

void print(const Message& message, const Answer& answer) {
  std::string lines = escaped(message.id.value) + "  " + nameOf(answer.outcome.kind);
  if (!answer.outcome.reason.empty()) lines += "  " + escaped(answer.outcome.reason);
  lines += "\n";
  for (const Effect& effect : answer.effects) lines += "  " + std::visit(EffectLine{}, effect) + "\n";
  print(std::cout, lines);
}

/// What puts and erases of this run have left.
class TestState {
 public:
  std::optional<std::string> at(const std::string& key) const {
    const auto found = values_.find(key);
    return found == values_.end() ? std::nullopt : std::optional(found->second);
  }
  void take(const Answer& answer) {
    for (const Effect& effect : answer.effects) {
      if (const auto* put = std::get_if<PutEffect>(&effect)) values_[put->key] = put->value;
      if (const auto* erase = std::get_if<EraseEffect>(&effect)) values_.erase(erase->key);
    }
  }

 private:
  std::map<std::string, std::string> values_;
};

/// Errors: unavailable  the worker has ended, or does not speak as it should.
Result<Answer> answerTo(IAnswerer& worker, const Message& message, const TestState& state) {
  worker.give({{message.position}, std::make_shared<const Message>(message), 1});
  for (;;) {
    for (Reply& reply : worker.await(BootClock::now() + std::chrono::seconds{1}, {})) {
      if (auto* answered = std::get_if<Answered>(&reply)) return std::move(answered->answer);
      if (const auto* lost = std::get_if<GivenLost>(&reply)) return Error{Errc::unavailable, lost->why};
      StateValues values;
      for (std::string& key : std::get<StateNeeded>(reply).keys) values.emplace_back(key, state.at(key));
      worker.tell({message.position}, values);
    }
  }
}

/// Each message of standard input.
Exit handAll(IAnswerer& worker) {
  const LineMessages lines{LineFormat::jsonl};
  LineReader reader(STDIN_FILENO, lines.longestLine());
  TestState state;
  Exit all = Exit::done;
  for (;;) {
    const auto line = reader.next();
    if (!line) return refuse("", line.error());
    if (!*line) return all;
    if (lines.isBlank(**line)) continue;
    const Result<NewMessage> read = lines.of(**line);
    if (!read) {
      complain("line " + std::to_string((*line)->number) + ": " + read.error().message());
      all = Exit::badInput;
      continue;
    }
    const Message message{*read, systemClock().wallNow(), (*line)->number};
    const Result<Answer> answer = answerTo(worker, message, state);
    if (!answer) return refuse("", answer.error());
    print(message, *answer);
    state.take(*answer);
    const bool isWell = answer->outcome.kind == Outcome::Kind::done || answer->outcome.kind == Outcome::Kind::skip;
    if (!isWell) all = Exit::badInput;
  }
}

Exit test(const TestOptions& options) {
  if (const auto found = lookUpCommand(options.command); !found) return refuse("", found.error());
  const auto supervisor = Supervisor::start();  // a fork: before any thread
  if (!supervisor) return refuse("", supervisor.error());
  const auto said = [](const EventBody& event, FencingToken) {
    if (const auto* line = event.as<CommandSaid>())
      print(std::cerr, line->stream + ": " + printable(line->line) + "\n");
    if (const auto* cut = event.as<CommandOutputCut>())
      print(std::cerr, std::to_string(cut->bytes) + " bytes of its output are left out\n");
  };
  const worker::WorkerSettings settings{.command = options.command,
                                        .effects = {"sql", "send", "cancel", "reschedule", "put", "erase"}};
  worker::WorkerPool pool(*supervisor, {.worker = settings}, said);
  if (const Result<void> started = pool.hasStarted(); !started) return refuse("", started.error());
  return handAll(*pool.seatFor(0));
}

}  // namespace

std::vector<Command> workerCommands() {
  auto options = std::make_shared<TestOptions>();
  return {{.name = "worker",
           .about = "Try a worker, a handler in any language",
           .help = workerHelp,
           .examples = workerExamples},
          {.name = "worker test",
           .about = "Hand a worker messages, and print what would be committed",
           .groups = {{"Options",
                       {{"command",
                         filled(options->command, "COMMAND", "a command"),
                         "The worker, run by /bin/sh",
                         {.required = true}}}}},
           .help = testHelp,
           .examples = testExamples,
           .act = [options] { return test(*options); }}};
}

}  // namespace tenure::cli
