#include <algorithm>
#include <chrono>
#include <iostream>
#include <limits>

#include "cli/commands/commands.hpp"
#include "cli/options/options.hpp"
#include "cli/options/wiring_options.hpp"
#include "cli/output/content_page.hpp"
#include "messages/headers.hpp"

namespace tenure::cli {
namespace {

constexpr std::size_t lettersAPage = 100;  // bodies of 1 MiB

/// The choice of dead letters, as the user gave it.
struct ChoiceOptions {
  std::vector<std::int64_t> numbers;
  std::optional<std::string> group;  // the empty one is a group
  std::chrono::milliseconds olderThan{0};
  std::string reason;
  std::int64_t after = 0;
  bool all = false;

  Options rows();
  Option numberRow(std::string help, bool isOne);
  Option afterRow();
  Option allRow() { return {"--all", flag(all), "All of them", {.momentary = true}}; }
  bool isEmpty() const { return numbers.empty() && !group && olderThan.count() == 0 && reason.empty(); }
  DeadLetterFilter choice() const;
};

struct ListOptions {
  WiringOption wiring;
  ChoiceOptions which;
  std::size_t limit = 1000;
  bool json = false;
};

struct ChangeOptions {
  WiringOption wiring;
  ChoiceOptions which;
};

constexpr const char* lettersHelp =
    R"help(A message becomes a dead letter after its last failed attempt, or when its handler rejects it; it
stays until somebody decides.
)help";

constexpr const char* lettersExamples = R"help(tenure dead-letters list --queue 'sqlite:orders.db?queue=orders'
tenure dead-letters show 17 --queue 'sqlite:orders.db?queue=orders'
tenure dead-letters requeue 17 --queue 'sqlite:orders.db?queue=orders'
tenure dead-letters purge --older-than 30d --queue 'sqlite:orders.db?queue=orders')help";
constexpr const char* listHelp =
    R"help(A message becomes a dead letter after its last attempt; the first column is its number, the last one
the first 40 bytes of its body. A body that is no UTF-8 is null in JSON; body_base64 has it then.
A list that is cut says so on standard error, and how to go on.
)help";

constexpr const char* listExamples = R"help(tenure dead-letters list --queue 'sqlite:orders.db?queue=orders'
tenure dead-letters list --group tenant-3 --queue 'sqlite:orders.db?queue=orders' --json \
  | jq -r .reason)help";
constexpr const char* showHelp =
    R"help(Reason, attempts, times, headers and body. A body that is no UTF-8 is shown as a hexadecimal dump of
its first KiB; with --json it is null, and body_base64 has all of it. Exit code 1: there is no such
dead letter.
)help";

constexpr const char* showExamples = R"help(tenure dead-letters show 17 --queue 'sqlite:orders.db?queue=orders'
tenure dead-letters show 17 --queue 'sqlite:orders.db?queue=orders' --json \
  | jq -r .body_base64 | base64 -d)help";
constexpr const char* requeueHelp =
    R"help(They go to the end of the queue, the oldest first, with the same ids, and count their attempts from
the start. In a database all of them go, or none. One that had a number (tenure-number) has missed
its turn and is handled as it comes; its header is tenure-past-number then. One that was not kept
whole (as `dead-letters show` tells) stays. Exit code 1: one that was named is not there, or none
was chosen.
)help";

constexpr const char* requeueExamples = R"help(tenure dead-letters requeue 17 18 --queue 'sqlite:orders.db?queue=orders'
tenure dead-letters requeue --group tenant-3 --queue 'sqlite:orders.db?queue=orders'
tenure dead-letters requeue --all --queue 'sqlite:orders.db?queue=orders')help";
constexpr const char* purgeHelp =
    R"help(Their bodies are gone afterwards. Exit code 1: one that was named is not there, or none was chosen.
)help";

constexpr const char* purgeExamples = R"help(tenure dead-letters purge 17 --queue 'sqlite:orders.db?queue=orders'
tenure dead-letters purge --older-than 30d --queue 'sqlite:orders.db?queue=orders'
tenure dead-letters purge --all --queue 'sqlite:orders.db?queue=orders')help";

Options ChoiceOptions::rows() {
  Option age{"--older-than", duration(olderThan), "Only those that died longer ago than that", {.momentary = true}};
  age.value.byDefault.clear();
  return {groupRow(group),
          std::move(age),
          {"--reason", text(reason, "TEXT"), "Only those whose reason contains TEXT", {.momentary = true}}};
}

Option ChoiceOptions::afterRow() {
  return {"--after",
          count(after, Range<std::int64_t>{0, std::numeric_limits<std::int64_t>::max()}),
          "Only those with a higher number",
          {.momentary = true}};
}

Option ChoiceOptions::numberRow(std::string help, bool isOne) {
  const auto take = [this](const std::string& word) {
    const auto number = parseInteger(word);
    if (number) numbers.push_back(*number);
    return number.has_value();
  };
  Option made{"number", parsed("NUMBER", "a whole number", take), std::move(help), {.required = isOne}};
  made.value.repeats = !isOne;
  return made;
}

DeadLetterFilter ChoiceOptions::choice() const {
  DeadLetterFilter choice{.numbers = numbers, .reasonHas = reason, .after = after};
  if (group) choice.group = GroupId{*group};
  if (olderThan.count() > 0) choice.diedBefore = systemClock().wallNow() - olderThan;
  return choice;
}

Exit list(const ListOptions& options) {
  const auto wiring = options.wiring.parsed(false);
  if (!wiring) return refuse("", wiring.error());
  const auto store = wiring->storeBackend().storeAdmin();
  DeadLetterFilter choice = options.which.choice();
  std::size_t shown = 0;
  for (std::size_t left = options.which.all ? std::numeric_limits<std::size_t>::max() : options.limit; left > 0;) {
    const std::size_t page = std::min(left, lettersAPage);
    const auto letters = store->deadLetters(page, choice);
    if (!letters) return refuse(options.wiring.storeName(), letters.error());
    if (!options.json && shown == 0 && !letters->empty())
      std::cout << "number  died  id  group  attempts  reason  body\n";
    for (const DeadLetter& letter : *letters) std::cout << (options.json ? letterJson(letter) : letterLine(letter));
    shown += letters->size();
    left -= letters->size();
    if (letters->size() < page || !std::cout) return std::cout << std::flush, Exit::done;
    choice.after = letters->back().number;
  }
  std::cout << std::flush;
  const auto rest = store->countDeadLetters(choice);
  if (!rest) return refuse(options.wiring.storeName(), rest.error());
  if (*rest > 0)
    complain("these are the oldest " + std::to_string(shown) + " of " +
             std::to_string(static_cast<std::int64_t>(shown) + *rest) + " dead letters: --after " +
             std::to_string(choice.after) + " goes on, --all shows all");
  return Exit::done;
}

Error noLetter(std::int64_t number) {
  return {Errc::notFound, "there is no dead letter " + std::to_string(number) + "; was it requeued or purged before?"};
}

Exit show(const ListOptions& options) {
  const auto wiring = options.wiring.parsed(false);
  if (!wiring) return refuse("", wiring.error());
  const auto letters = wiring->storeBackend().storeAdmin()->deadLetters(1, options.which.choice());
  if (!letters) return refuse(options.wiring.storeName(), letters.error());
  if (letters->empty()) return complain(noLetter(options.which.numbers.front()).detail), Exit::no;
  std::cout << (options.json ? letterJson(letters->front()) : letterPage(letters->front())) << std::flush;
  return Exit::done;
}

using Numbers = std::vector<std::int64_t>;
using Change = Result<Numbers> (*)(const Wiring& wiring, const DeadLetterFilter& choice);

Result<Numbers> purge(const Wiring& wiring, const DeadLetterFilter& choice) {
  return wiring.storeBackend().storeAdmin()->purgeDeadLetters(choice);
}

/// A requeued message has missed its turn among the numbered ones. A broker gets the time at which it was published.
NewMessage asRequeued(const Message& message, bool toBroker) {
  NewMessage again = message;
  for (auto& [name, value] : again.headers)
    if (name == numberHeader) name = messages::pastNumberHeader;
  const auto seconds = std::chrono::floor<std::chrono::seconds>(message.enqueuedAt.time_since_epoch()).count();
  if (toBroker) again.headers.emplace_back(timestampHeader, std::to_string(seconds));
  // With its expiration, the broker could drop the message again before it is consumed.
  std::erase_if(again.headers, [](const auto& header) { return header.first == expirationHeader; });
  return again;
}

/// From the store to a queue elsewhere. Each letter is reset before it is sent, or the consumer would drop it, and
/// purged after: a failure in between leaves it listed, and the same id is not done twice once it was handled.
Result<Numbers> sendBack(IMessageSink& sink, bool isBroker, IStoreAdmin& store,
                         const std::vector<DeadLetter>& letters) {
  Numbers sentBack;
  for (const DeadLetter& letter : letters) {
    const NewMessage message = asRequeued(letter.message, isBroker);
    if (const auto reset = store.resetDeadLetters({{letter.number}}); !reset) return reset;
    if (letter.missingFrom == 0)
      if (const auto sent = sink.append({&message, 1}); !sent) return sent.error();
    if (const auto purged = store.purgeDeadLetters({{letter.number}}); !purged) return purged;
    sentBack.push_back(letter.number);
  }
  return sentBack;
}

bool isWhole(const DeadLetter& letter) noexcept { return letter.message.lacks.empty(); }

Error notWhole(const DeadLetter& letter) {
  return {Errc::invalidArgument, "dead letter " + std::to_string(letter.number) +
                                     " was not kept whole and cannot be requeued: have its message sent again, " +
                                     "then purge it"};
}

/// Leaves letters that were not kept whole where they are. Errors: one of them was named.
Result<void> setAside(std::vector<DeadLetter>& letters, const DeadLetterFilter& choice) {
  const auto parts = std::ranges::stable_partition(letters, isWhole);
  for (const DeadLetter& letter : parts) {
    if (!choice.numbers.empty()) return notWhole(letter);
    complain(notWhole(letter).detail);
  }
  letters.erase(parts.begin(), parts.end());
  return {};
}

Result<Numbers> requeueInside(IStoreAdmin& store, const DeadLetterFilter& choice) {
  Result<Numbers> requeued = store.requeueDeadLetters(choice);
  if (!requeued || !choice.numbers.empty()) return requeued;
  const auto stayed = store.deadLetters(std::numeric_limits<std::int64_t>::max(), choice);
  if (!stayed) return requeued;  // which is done
  for (const DeadLetter& letter : *stayed)
    if (!isWhole(letter)) complain(notWhole(letter).detail);
  return requeued;
}

Result<Numbers> requeue(const Wiring& wiring, const DeadLetterFilter& choice) {
  const auto store = wiring.storeBackend().storeAdmin();
  if (wiring.isOneDatabase()) return requeueInside(*store, choice);
  auto letters = store->deadLetters(std::numeric_limits<std::int64_t>::max(), choice);
  if (!letters) return letters.error();
  if (const auto whole = setAside(*letters, choice); !whole) return whole.error();
  if (letters->empty()) return Numbers{};
  const auto sink = wiring.queue->sink();
  if (!sink) return sink.error();
  return sendBack(**sink, wiring.queue->place().starts_with("amqp:"), *store, *letters);
}

/// What was named and not found, or named twice, is said; the rest is done.
bool sayWhatWasWrong(Numbers named, const Numbers& changed) {
  bool allThere = true;
  std::ranges::sort(named);
  for (std::size_t i = 0; i < named.size(); ++i) {
    if (i > 0 && named[i] == named[i - 1]) {
      complain("dead letter " + std::to_string(named[i]) + " was named twice; once is enough");
    } else if (std::ranges::find(changed, named[i]) == changed.end()) {
      complain(noLetter(named[i]).detail);
      allThere = false;
    }
  }
  return allThere;
}

/// All only when asked for by name: a forgotten number must not empty the table.
Exit change(const ChangeOptions& options, Change apply, const char* done) {
  const ChoiceOptions& which = options.which;
  const auto wiring = options.wiring.parsed(false);
  if (!wiring) return refuse("", wiring.error());
  if (which.all == !which.isEmpty())
    return wrongUsage("say which: numbers of dead letters, --group, --older-than, --reason, or --all");
  const auto changed = apply(*wiring, which.choice());
  if (!changed) return refuse(options.wiring.storeName(), changed.error());
  const bool allThere = sayWhatWasWrong(which.numbers, *changed);
  std::cout << changed->size() << ' ' << done << std::endl;
  return changed->empty() || !allThere ? Exit::no : Exit::done;
}

Command listCommand() {
  auto options = std::make_shared<ListOptions>();
  return {
      .name = "dead-letters list",
      .about = "Show dead letters, the oldest first",
      .groups = {{"Queue", options->wiring.rows()},
                 {"Which", joined(options->which.rows(), {options->which.afterRow(), options->which.allRow(),
                                                          limitRow(options->limit, "of dead letters: the oldest")})},
                 {"Output", {jsonRow(options->json, "a line, with body and headers")}}},
      .help = listHelp,
      .examples = listExamples,
      .act = [options] { return list(*options); },
      .hasUrls = true};
}

Command showCommand() {
  auto options = std::make_shared<ListOptions>();
  return {.name = "dead-letters show",
          .about = "Show one dead letter, with its headers and body",
          .groups = {{"Options", joined({options->which.numberRow("As `dead-letters list` shows it", true)},
                                        options->wiring.rows(), {jsonRow(options->json)})}},
          .help = showHelp,
          .examples = showExamples,
          .act = [options] { return show(*options); },
          .hasUrls = true};
}

/// A command that changes what it is told of.
Command changeCommand(Command page, Change apply, const char* done) {
  auto options = std::make_shared<ChangeOptions>();
  page.groups = {{"Queue", options->wiring.rows()},
                 {"Which", joined({options->which.numberRow("As `dead-letters list` shows them", false)},
                                  options->which.rows(), {options->which.allRow()})}};
  page.act = [options, apply, done] { return change(*options, apply, done); };
  page.hasUrls = true;
  return page;
}

}  // namespace

std::vector<Command> deadLetterCommands() {
  return {
      {.name = "dead-letters",
       .about = "Messages that failed for good: list, show, requeue, purge",
       .help = lettersHelp,
       .examples = lettersExamples},
      listCommand(),
      showCommand(),
      changeCommand({.name = "dead-letters requeue",
                     .about = "Put dead letters back into the queue",
                     .help = requeueHelp,
                     .examples = requeueExamples},
                    requeue, "requeued"),
      changeCommand(
          {.name = "dead-letters purge", .about = "Delete dead letters", .help = purgeHelp, .examples = purgeExamples},
          purge, "purged")};
}

}  // namespace tenure::cli
