#include <CLI/CLI.hpp>
#include <algorithm>
#include <iostream>
#include <limits>
#include <nlohmann/json.hpp>

#include "base/text.hpp"
#include "cli/options.hpp"
#include "cli/tool.hpp"
#include "cli/wiring_options.hpp"

namespace tenure::cli {
namespace {

struct ListOptions {
  WiringOption wiring;
  std::size_t limit = 1000;
  bool json = false;
};

struct ChangeOptions {
  WiringOption wiring;
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
  const auto wiring = options.wiring.parsed(false);
  if (!wiring) return refuse("", wiring.error());
  const auto letters = wiring->storeBackend().storeAdmin()->deadLetters(options.limit);
  if (!letters) return refuse(options.wiring.storeName(), letters.error());
  for (const DeadLetter& letter : *letters) options.json ? printJson(letter) : printText(letter);
  std::cout << std::flush;
  return Exit::done;
}

using Change = Result<std::size_t> (*)(const Wiring& wiring, const std::vector<std::int64_t>& numbers);

Result<std::size_t> purge(const Wiring& wiring, const std::vector<std::int64_t>& numbers) {
  return wiring.storeBackend().storeAdmin()->purgeDeadLetters(numbers);
}

/// Those that were asked for, all when none is named.
Result<std::vector<DeadLetter>> chosen(IStoreAdmin& store, const std::vector<std::int64_t>& numbers) {
  auto letters = store.deadLetters(std::numeric_limits<std::int64_t>::max());
  if (!letters || numbers.empty()) return letters;
  std::erase_if(*letters, [&](const DeadLetter& letter) {
    return std::find(numbers.begin(), numbers.end(), letter.number) == numbers.end();
  });
  return letters;
}

/// From the store to a queue elsewhere. Each letter is pardoned before it is sent, or the consumer would drop it, and
/// purged after: a failure in between leaves it listed, and the same id is not done twice once it was handled.
Result<std::size_t> sendBack(IMessageSink& sink, IStoreAdmin& store, const std::vector<DeadLetter>& letters) {
  std::size_t count = 0;
  for (const DeadLetter& letter : letters) {
    const NewMessage& message = letter.message;
    if (const auto pardoned = store.pardonDeadLetters({letter.number}); !pardoned) return pardoned;
    if (const auto sent = sink.append({&message, 1}); !sent) return sent.error();
    if (const auto purged = store.purgeDeadLetters({letter.number}); !purged) return purged;
    ++count;
  }
  return count;
}

Result<std::size_t> requeue(const Wiring& wiring, const std::vector<std::int64_t>& numbers) {
  const auto store = wiring.storeBackend().storeAdmin();
  if (wiring.isOneDatabase()) return store->requeueDeadLetters(numbers);
  const auto letters = chosen(*store, numbers);
  if (!letters) return letters.error();
  if (letters->empty()) return std::size_t{0};
  const auto sink = wiring.queue->sink();
  if (!sink) return sink.error();
  return sendBack(**sink, *store, *letters);
}

/// All only when asked for by name: a forgotten number must not empty the table.
Exit change(const ChangeOptions& options, Change apply, const char* done) {
  const auto wiring = options.wiring.parsed(false);
  if (!wiring) return refuse("", wiring.error());
  if (options.all == !options.numbers.empty())
    return refuse("", Error{Errc::invalidArgument, "give the numbers of dead letters, or --all"});
  const auto changed = apply(*wiring, options.numbers);
  if (!changed) return refuse(options.wiring.storeName(), changed.error());
  std::cout << *changed << ' ' << done << std::endl;
  return *changed == 0 ? Exit::no : Exit::done;
}

void addList(CLI::App& letters, Action& chosen) {
  auto options = std::make_shared<ListOptions>();
  CLI::App* command = letters.add_subcommand("list", "Show them, oldest first");
  options->wiring.declare(*command);
  command->add_option("--limit", options->limit, "At most so many (default 1000)")
      ->check(CLI::Range(1, 1'000'000).description(""))
      ->type_name("N");
  command->add_flag("--json", options->json, "One JSON object a line, with body and headers");
  command->footer(std::string(listHelp) + urlHelp + exitCodesHelp);
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
  options->wiring.declare(*command);
  command->add_option("numbers", options->numbers, "As `dead-letters list` shows them")->type_name("NUMBER");
  command->add_flag("--all", options->all, "Every one");
  command->footer(std::string(what.help) + urlHelp + exitCodesHelp);
  command->callback(
      [options, what, &chosen] { chosen = [options, what] { return change(*options, what.apply, what.done); }; });
}

}  // namespace

void addDeadLetters(CLI::App& tool, Action& chosen) {
  CLI::App* letters = tool.add_subcommand("dead-letters", "Messages that failed for good: list, requeue, purge");
  letters->require_subcommand(1);
  letters->footer(std::string(lettersHelp) + exitCodesHelp);
  addList(*letters, chosen);
  addChange(*letters, {"requeue", "Put them back into the queue", requeueHelp, requeue, "requeued"}, chosen);
  addChange(*letters, {"purge", "Delete them", purgeHelp, purge, "purged"}, chosen);
}

}  // namespace tenure::cli
