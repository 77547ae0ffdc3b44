#include <CLI/CLI.hpp>
#include <iostream>
#include <nlohmann/json.hpp>

#include "base/text.hpp"
#include "cli/options.hpp"
#include "cli/tool.hpp"

namespace tenure::cli {
namespace {

struct ListOptions {
  QueueOption queue;
  std::size_t limit = 1000;
  bool json = false;
};

struct ChangeOptions {
  QueueOption queue;
  std::vector<std::int64_t> numbers;
  bool all = false;
};

constexpr const char* lettersHelp = R"(
A message becomes a dead letter after its last failed attempt; it stays until somebody decides.

Examples:
  tenure dead-letters list --queue sqlite:orders.db?queue=orders
  tenure dead-letters requeue 17 --queue sqlite:orders.db?queue=orders
  tenure dead-letters purge --all --queue sqlite:orders.db?queue=orders
)";
constexpr const char* listHelp = R"(
A message becomes a dead letter after its last attempt; the first column is its number.

Examples:
  tenure dead-letters list --queue sqlite:orders.db?queue=orders
  tenure dead-letters list --queue sqlite:orders.db?queue=orders --json | jq -r .reason
)";
constexpr const char* requeueHelp = R"(
They go to the end of the queue, with the same ids, and count their attempts from the start.

Examples:
  tenure dead-letters requeue 17 18 --queue sqlite:orders.db?queue=orders
  tenure dead-letters requeue --all --queue sqlite:orders.db?queue=orders
)";
constexpr const char* purgeHelp = R"(
Their bodies are gone afterwards.

Examples:
  tenure dead-letters purge 17 --queue sqlite:orders.db?queue=orders
  tenure dead-letters purge --all --queue sqlite:orders.db?queue=orders
)";

void printJson(const DeadLetter& letter) {
  nlohmann::ordered_json headers = nlohmann::ordered_json::object();
  for (const auto& [name, value] : letter.message.headers) headers[name] = value;
  const nlohmann::ordered_json out{{"number", letter.number},
                                   {"id", letter.message.id.value},
                                   {"group", letter.message.group.value},
                                   {"body", letter.message.body},
                                   {"headers", headers},
                                   {"reason", letter.reason},
                                   {"attempts", letter.attempts},
                                   {"first_at", formatWallTime(letter.firstAt)},
                                   {"died_at", formatWallTime(letter.diedAt)}};
  std::cout << out.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) << "\n";
}

void printText(const DeadLetter& letter) {
  std::cout << letter.number << "  " << formatWallTime(letter.diedAt) << "  " << escaped(letter.message.id.value)
            << "  attempts=" << letter.attempts << "  \"" << escaped(letter.reason) << "\"\n";
}

Exit list(const ListOptions& options) {
  const auto queue = options.queue.parsed(false);
  if (!queue) return refuse("", queue.error());
  const auto letters = sqlite::openAdmin(*queue)->deadLetters(options.limit);
  if (!letters) return refuse("--queue", letters.error());
  for (const DeadLetter& letter : *letters) options.json ? printJson(letter) : printText(letter);
  std::cout << std::flush;
  return Exit::done;
}

using Change = Result<std::size_t> (IStoreAdmin::*)(const std::vector<std::int64_t>&);

/// All only when asked for by name: a forgotten number must not empty the table.
Exit change(const ChangeOptions& options, Change apply, const char* done) {
  const auto queue = options.queue.parsed(false);
  if (!queue) return refuse("", queue.error());
  if (options.all == !options.numbers.empty())
    return refuse("", Error{Errc::invalidArgument, "give the numbers of dead letters, or --all"});
  const auto changed = (*sqlite::openAdmin(*queue).*apply)(options.numbers);
  if (!changed) return refuse("--queue", changed.error());
  std::cout << *changed << ' ' << done << std::endl;
  return *changed == 0 ? Exit::no : Exit::done;
}

void addList(CLI::App& letters, Action& chosen) {
  auto options = std::make_shared<ListOptions>();
  CLI::App* command = letters.add_subcommand("list", "Show them, oldest first");
  options->queue.declare(*command);
  command->add_option("--limit", options->limit, "At most so many (default 1000)")
      ->check(CLI::Range(1, 1'000'000).description(""))
      ->type_name("N");
  command->add_flag("--json", options->json, "One JSON object a line, with body and headers");
  command->footer(std::string(listHelp) + queueUrlHelp + exitCodesHelp);
  command->callback([options, &chosen] { chosen = [options] { return list(*options); }; });
}

struct ChangeCommand {
  const char* name;
  const char* description;
  const char* help;
  Change apply;
  const char* done;
};

void addChange(CLI::App& letters, const ChangeCommand& what, Action& chosen) {
  auto options = std::make_shared<ChangeOptions>();
  CLI::App* command = letters.add_subcommand(what.name, what.description);
  options->queue.declare(*command);
  command->add_option("numbers", options->numbers, "As `dead-letters list` shows them")->type_name("NUMBER");
  command->add_flag("--all", options->all, "Every one");
  command->footer(std::string(what.help) + queueUrlHelp + exitCodesHelp);
  command->callback(
      [options, what, &chosen] { chosen = [options, what] { return change(*options, what.apply, what.done); }; });
}

}  // namespace

void addDeadLetters(CLI::App& tool, Action& chosen) {
  CLI::App* letters = tool.add_subcommand("dead-letters", "Messages that failed for good: list, requeue, purge");
  letters->require_subcommand(1);
  letters->footer(std::string(lettersHelp) + exitCodesHelp);
  addList(*letters, chosen);
  addChange(*letters,
            {"requeue", "Put them back into the queue", requeueHelp, &IStoreAdmin::requeueDeadLetters, "requeued"},
            chosen);
  addChange(*letters, {"purge", "Delete them", purgeHelp, &IStoreAdmin::purgeDeadLetters, "purged"}, chosen);
}

}  // namespace tenure::cli
