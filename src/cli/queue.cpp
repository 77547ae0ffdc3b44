#include <CLI/CLI.hpp>
#include <array>
#include <iostream>
#include <nlohmann/json.hpp>

#include "base/text.hpp"
#include "cli/failing_page.hpp"
#include "cli/options.hpp"
#include "cli/queue_move.hpp"
#include "cli/queue_resume.hpp"
#include "cli/tool.hpp"
#include "cli/wiring_options.hpp"

namespace tenure::cli {
namespace {

struct StatsOptions {
  QueueOption queue;
  bool json = false;
};

struct FailingOptions {
  WiringOption wiring;
  bool blocked = false;
  bool json = false;
};

struct ReleaseOptions {
  WiringOption wiring;
  std::string message;
  std::string consumer;
};

struct LogOptions {
  WiringOption wiring;
  std::string message;
  std::string consumer;
  std::string since;
  LogChoice choice;
  bool json = false;
};

constexpr const char* queueHelp = R"(
Examples:
  tenure queue stats --queue sqlite:orders.db?queue=orders
  tenure queue failing --blocked --queue sqlite:orders.db?queue=orders
  tenure queue release order-17 --queue sqlite:orders.db?queue=orders
  tenure queue log --outcome failed --since 1h --queue sqlite:orders.db?queue=orders
)";

constexpr const char* statsHelp = R"(
waiting counts every message that is not acknowledged; retrying those of them that failed before.

Examples:
  tenure queue stats --queue sqlite:orders.db?queue=orders
  tenure queue stats --queue sqlite:orders.db?queue=orders --json | jq .waiting
)";

constexpr const char* failingHelp = R"(
Messages that failed and are tried again, of every consumer in the store: how often, since when, and
the last error. One that is marked as blocked is out of attempts, and those behind it wait for it
(`tenure consume --on-dead block`): mend the cause, or `tenure queue release` it.
Exit code 1: there is none.

Examples:
  tenure queue failing --queue sqlite:orders.db?queue=orders
  tenure queue failing --blocked --queue sqlite:orders.db?queue=orders --json | jq -r .id
)";

constexpr const char* releaseHelp = R"(
The message goes to the dead letters, and those behind it go on: within about a second where
somebody leads, else when the next leader begins. From there it can be shown, requeued and purged
(`tenure dead-letters`). Exit code 1: it blocks nobody.

Examples:
  tenure queue release order-17 --queue sqlite:orders.db?queue=orders
)";

constexpr const char* logHelp = R"(
What became of each attempt, in the order of commits: of consumers that keep a log (`tenure consume
--keep-log`). A success is written in the transaction that holds its effect, so that the log
has it if and only if it happened.
Outcomes: done, skipped, postponed, failed, rejected, died.

Examples:
  tenure queue log --message order-17 --queue sqlite:orders.db?queue=orders
  tenure queue log --outcome failed --since 1h --queue sqlite:orders.db?queue=orders --json | jq -r .error
)";

constexpr std::array ends{AttemptEnd::done,   AttemptEnd::skipped,  AttemptEnd::postponed,
                          AttemptEnd::failed, AttemptEnd::rejected, AttemptEnd::died};

nlohmann::ordered_json orNull(const std::optional<std::int64_t>& count) {
  return count ? nlohmann::ordered_json(*count) : nlohmann::ordered_json();
}
std::string orDash(const std::optional<std::int64_t>& count) { return count ? std::to_string(*count) : "-"; }

void printJson(const QueueStats& stats) {
  nlohmann::ordered_json out{{"waiting", stats.waiting},
                             {"waiting_bytes", orNull(stats.waitingBytes)},
                             {"retrying", orNull(stats.retrying)},
                             {"dead_letters", orNull(stats.deadLetters)},
                             {"oldest", nullptr},
                             {"election", nullptr}};
  if (stats.oldest) out["oldest"] = formatWallTime(*stats.oldest);
  if (!stats.election.empty()) out["election"] = stats.election;
  std::cout << out.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) << std::endl;
}

void printText(const QueueStats& stats) {
  std::cout << "waiting       " << stats.waiting << " (" << orDash(stats.waitingBytes) << " bytes)\n"
            << "retrying      " << orDash(stats.retrying) << "\n"
            << "dead letters  " << orDash(stats.deadLetters) << "\n"
            << "oldest        " << (stats.oldest ? formatWallTime(*stats.oldest) : "-") << "\n"
            << "election      " << (stats.election.empty() ? "-" : escaped(stats.election)) << std::endl;
}

Exit showStats(const StatsOptions& options) {
  const auto queue = options.queue.parsed(false);
  if (!queue) return refuse("", queue.error());
  const auto admin = (*queue)->queueAdmin();
  const auto stats = admin ? (*admin)->stats() : admin.error();
  if (!stats) return refuse("--queue", stats.error());
  options.json ? printJson(*stats) : printText(*stats);
  return Exit::done;
}

/// What is kept of the consumer itself, and holds nobody up.
bool isQuietNote(const FailingMessage& each) {
  return isNote(each.attempts) && each.attempts.standing != Standing::blocked;
}

Exit showFailing(const FailingOptions& options) {
  const auto wiring = options.wiring.parsed(false);
  if (!wiring) return refuse("", wiring.error());
  auto failing = wiring->storeBackend().storeAdmin()->failing();
  if (!failing) return refuse(options.wiring.storeName(), failing.error());
  std::erase_if(*failing, isQuietNote);
  if (options.blocked)
    std::erase_if(*failing, [](const FailingMessage& each) { return each.attempts.standing == Standing::retrying; });
  for (const FailingMessage& each : *failing) std::cout << (options.json ? failingJson(each) : failingLine(each));
  std::cout << std::flush;
  return failing->empty() ? Exit::no : Exit::done;
}

/// Who the message blocks. Error: notFound, invalidArgument (several do; one must be named).
Result<ConsumerName> blockedBy(const std::vector<FailingMessage>& failing, const std::string& message) {
  std::vector<ConsumerName> blocked;
  for (const FailingMessage& each : failing)
    if (each.attempts.id.value == message && each.attempts.standing != Standing::retrying)
      blocked.push_back(each.consumer);
  if (blocked.empty()) return Error{Errc::notFound, "message \"" + escaped(message) + "\" blocks nobody"};
  if (blocked.size() == 1) return blocked.front();
  return Error{Errc::invalidArgument, "it blocks several consumers; say which with --consumer"};
}

Exit release(const ReleaseOptions& options) {
  const auto wiring = options.wiring.parsed(false);
  if (!wiring) return refuse("", wiring.error());
  const auto store = wiring->storeBackend().storeAdmin();
  Result<ConsumerName> consumer = ConsumerName{options.consumer};
  if (options.consumer.empty()) {
    const auto failing = store->failing();
    consumer = failing ? blockedBy(*failing, options.message) : failing.error();
  }
  const Result<void> released =
      consumer ? store->release(*consumer, MessageId{options.message}) : Result<void>{consumer.error()};
  if (!released && released.error().is(Errc::notFound)) return complain(released.error().detail), Exit::no;
  if (!released) return refuse(options.wiring.storeName(), released.error());
  std::cout << "released; it becomes a dead letter" << std::endl;
  return Exit::done;
}

/// "1h" ago, or a time.
Result<WallTime> parseSince(const std::string& text) {
  if (text.empty()) return WallTime{};
  if (const auto age = parseDuration(text))
    return systemClock().wallNow() - std::chrono::duration_cast<std::chrono::milliseconds>(*age);
  return parseWallTime(text);
}

Exit showLog(const LogOptions& options) {
  const auto wiring = options.wiring.parsed(false);
  if (!wiring) return refuse("", wiring.error());
  LogChoice choice = options.choice;
  const auto since = parseSince(options.since);
  if (!since) return refuse("--since", since.error());
  choice.since = *since;
  if (!options.message.empty()) choice.message = MessageId{options.message};
  if (!options.consumer.empty()) choice.consumer = ConsumerName{options.consumer};
  const auto lines = wiring->storeBackend().storeAdmin()->log(choice);
  if (!lines && lines.error().is(Errc::unsupported))
    return refuse(options.wiring.storeName(), {Errc::unsupported, "this store keeps no log of attempts"});
  if (!lines) return refuse(options.wiring.storeName(), lines.error());
  for (const LogLine& line : *lines) std::cout << (options.json ? logJson(line) : logLine(line));
  std::cout << std::flush;
  return Exit::done;
}

void addFailing(CLI::App& queue, Action& chosen) {
  auto options = std::make_shared<FailingOptions>();
  CLI::App* command = queue.add_subcommand("failing", "Messages that failed and are tried again, or block the queue");
  options->wiring.declare(*command);
  command->add_flag("--blocked", options->blocked, "Only those that hold others up");
  command->add_flag("--json", options->json, "One JSON object a line");
  command->footer(std::string(failingHelp) + urlHelp + exitCodesHelp);
  command->callback([options, &chosen] { chosen = [options] { return showFailing(*options); }; });
}

void addRelease(CLI::App& queue, Action& chosen) {
  auto options = std::make_shared<ReleaseOptions>();
  CLI::App* command = queue.add_subcommand("release", "Send a message that blocks the queue to the dead letters");
  command->add_option("message", options->message, "Its id")->type_name("ID")->required();
  options->wiring.declare(*command);
  command->add_option("--consumer", options->consumer, "Whom it blocks, if that is several")->type_name("NAME");
  command->footer(std::string(releaseHelp) + urlHelp + exitCodesHelp);
  command->callback([options, &chosen] { chosen = [options] { return release(*options); }; });
}

void addLog(CLI::App& queue, Action& chosen) {
  auto options = std::make_shared<LogOptions>();
  CLI::App* command = queue.add_subcommand("log", "What became of each attempt, where that is kept");
  options->wiring.declare(*command);
  command->add_option("--message", options->message, "Only this one's attempts")->type_name("ID");
  command->add_option("--consumer", options->consumer, "Only this one's")->type_name("NAME");
  const auto choose = [options](const std::string& text) {
    for (const AttemptEnd end : ends)
      if (text == toString(end)) options->choice.end = end;
    return options->choice.end.has_value();
  };
  addChoice(*command, "--outcome", "OUTCOME", "done, skipped, postponed, failed, rejected or died", choose,
            "Only attempts that came to this");
  command->add_option("--since", options->since, "Only from then on: 1h ago, or 2026-05-04T09:12Z")->type_name("WHEN");
  command->add_option("--limit", options->choice.limit, "The newest so many (default 1000)")
      ->check(CLI::Range(1, 1'000'000).description(""))
      ->type_name("N");
  command->add_flag("--json", options->json, "One JSON object a line");
  command->footer(std::string(logHelp) + urlHelp + exitCodesHelp);
  command->callback([options, &chosen] { chosen = [options] { return showLog(*options); }; });
}

}  // namespace

void addQueue(CLI::App& tool, Action& chosen) {
  CLI::App* queue = tool.add_subcommand("queue", "Look at a queue, and unblock it");
  queue->require_subcommand(1);
  queue->footer(std::string(queueHelp) + exitCodesHelp);
  addFailing(*queue, chosen);
  addRelease(*queue, chosen);
  addLog(*queue, chosen);
  addResume(*queue, chosen);
  addMoveTo(*queue, chosen);
  auto options = std::make_shared<StatsOptions>();
  CLI::App* stats = queue->add_subcommand("stats", "How many messages wait, fail, and are dead");
  options->queue.declare(*stats);
  stats->add_flag("--json", options->json, "One JSON object");
  stats->footer(std::string(statsHelp) + urlHelp + exitCodesHelp);
  stats->callback([options, &chosen] { chosen = [options] { return showStats(*options); }; });
}

}  // namespace tenure::cli
