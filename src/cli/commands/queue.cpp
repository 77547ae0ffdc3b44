#include <algorithm>
#include <iostream>
#include <limits>
#include <span>

#include "base/text.hpp"
#include "cli/commands/commands.hpp"
#include "cli/options/options.hpp"
#include "cli/options/wiring_options.hpp"
#include "cli/output/queue_report.hpp"
#include "cli/output/state_pages.hpp"

namespace tenure::cli {
namespace {

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

struct DeleteOptions {
  QueueOption queue;
  std::string message;
};

struct LogOptions {
  WiringOption wiring;
  std::string message;
  std::string consumer;
  std::string since;
  LogChoice choice;
  bool all = false;
  bool json = false;
};

constexpr const char* queueExamples = R"help(tenure queue stats --queue 'sqlite:orders.db?queue=orders'
tenure queue peek --queue 'sqlite:orders.db?queue=orders'
tenure queue failing --blocked --queue 'sqlite:orders.db?queue=orders'
tenure queue release order-17 --queue 'sqlite:orders.db?queue=orders'
tenure queue log --outcome failed --since 1h --queue 'sqlite:orders.db?queue=orders')help";

constexpr const char* failingHelp =
    R"help(Messages that failed and are tried again, of every consumer in the store: how often, since when, the
last error, and when the leader tries again (a successor does so at once). One that is marked as
blocked is out of attempts, and those behind it wait for it (`tenure consume --on-dead block`): mend
the cause, or `tenure queue release` it. Behind them come consumers that stopped at too many dead
letters in a row: mend the cause, `tenure queue resume`.
Exit code 1: there is neither.
)help";

constexpr const char* failingExamples = R"help(tenure queue failing --queue 'sqlite:orders.db?queue=orders'
tenure queue failing --blocked --queue 'sqlite:orders.db?queue=orders' --json | jq -r .id)help";

constexpr const char* releaseHelp =
    R"help(The message goes to the dead letters, and those behind it go on: within about a second where
somebody leads, else when the next leader begins. From there it can be shown, requeued and purged
(`tenure dead-letters`). Exit code 1: it blocks nobody.
)help";

constexpr const char* releaseExamples =
    R"help(tenure queue release order-17 --queue 'sqlite:orders.db?queue=orders')help";

constexpr const char* deleteHelp =
    R"help(For a message that must not be handled: it leaves the queue and comes to no handler. One that the
leader has read ahead already may still be handled: pause the election first (`tenure pause`) where
that matters, and look at `tenure queue log`. One that blocks is let go with `tenure queue release`.
A group that follows numbers waits for the number of a message that was deleted. Of RabbitMQ only
its own tools delete messages.
Exit code 1: no message waits under that id; one that waits for its time is cancelled with
`tenure scheduled cancel`.
)help";

constexpr const char* deleteExamples =
    R"help(tenure queue delete order-17 --queue 'sqlite:orders.db?queue=orders')help";

constexpr const char* logHelp =
    R"help(What became of each attempt, in the order of commits: of consumers that keep a log (`tenure consume
--keep-log`). A success is written in the transaction that holds its effect, so that the log
has it if and only if it happened.
Exit code 1: no attempt is logged at all.
)help";

constexpr const char* logExamples = R"help(tenure queue log --message order-17 --queue 'sqlite:orders.db?queue=orders'
tenure queue log --outcome failed --since 1h --queue 'sqlite:orders.db?queue=orders' --json \
  | jq -r .error)help";

const Choices<AttemptEnd> ends = [] {
  Choices<AttemptEnd> all;
  for (const AttemptEnd end : {AttemptEnd::done, AttemptEnd::skipped, AttemptEnd::postponed, AttemptEnd::failed,
                               AttemptEnd::rejected, AttemptEnd::died})
    all.push_back({std::string(toString(end)), end});
  return all;
}();

Exit showFailing(const FailingOptions& options) {
  const auto wiring = options.wiring.parsed(false);
  if (!wiring) return refuse("", wiring.error());
  const auto store = wiring->storeBackend().storeAdmin();
  auto failing = store->failing();
  if (!failing) return refuse(options.wiring.storeName(), failing.error());
  auto streaks = store->streaks();
  if (!streaks) return refuse(options.wiring.storeName(), streaks.error());
  std::erase_if(*streaks, [](const ConsumerStreak& each) { return !hasStopped(each); });
  if (options.blocked)
    std::erase_if(*failing, [](const FailingMessage& each) { return each.attempts.state == AttemptState::retrying; });
  for (const FailingMessage& each : *failing) std::cout << (options.json ? failingJson(each) : failingLine(each));
  for (const ConsumerStreak& each : *streaks) std::cout << (options.json ? stoppedJson(each) : stoppedLine(each));
  std::cout << std::flush;
  return failing->empty() && streaks->empty() ? Exit::no : Exit::done;
}

/// The consumer that the message blocks. Error: notFound, invalidArgument (several do; one must be named).
Result<ConsumerName> blockedBy(const std::vector<FailingMessage>& failing, const std::string& message) {
  std::vector<ConsumerName> blocked;
  for (const FailingMessage& each : failing)
    if (each.attempts.id.value == message && each.attempts.state != AttemptState::retrying)
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

/// An empty answer could also mean that there is none of those that were asked for.
Exit sayWhetherAnyIsKept(IStoreAdmin& store, const LogOptions& options) {
  LogChoice any;
  any.limit = 1;
  const auto lines = store.log(any);
  if (!lines) return refuse(options.wiring.storeName(), lines.error());
  if (!lines->empty()) return Exit::done;
  complain(
      "no log is kept here: no consumer of this store has logged an attempt (`tenure consume --keep-log` keeps one)");
  return Exit::no;
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
  const std::size_t most = options.all ? std::numeric_limits<std::int32_t>::max() : options.choice.limit;
  choice.limit = most + 1;  // whether there are more
  const auto lines = wiring->storeBackend().storeAdmin()->log(choice);
  if (!lines && lines.error().is(Errc::unsupported))
    return refuse(options.wiring.storeName(), {Errc::unsupported, "this store keeps no log of attempts"});
  if (!lines) return refuse(options.wiring.storeName(), lines.error());
  if (lines->empty()) return sayWhetherAnyIsKept(*wiring->storeBackend().storeAdmin(), options);
  const std::size_t shown = std::min(lines->size(), most);
  for (const LogLine& line : std::span(*lines).last(shown)) std::cout << (options.json ? logJson(line) : logLine(line));
  std::cout << std::flush;
  if (shown < lines->size())
    complain("these are the newest " + std::to_string(shown) +
             " attempts, and there are more: --limit N shows N, --all shows all");
  return Exit::done;
}

Command failingCommand() {
  auto options = std::make_shared<FailingOptions>();
  return {
      .name = "queue failing",
      .about = "Messages that failed and are tried again, or block the queue",
      .groups = {{"Options",
                  joined(options->wiring.rows(),
                         {{"--blocked", flag(options->blocked), "Only those that hold others up", {.momentary = true}},
                          jsonRow(options->json, "a line")})}},
      .help = failingHelp,
      .examples = failingExamples,
      .act = [options] { return showFailing(*options); },
      .hasUrls = true};
}

Command releaseCommand() {
  auto options = std::make_shared<ReleaseOptions>();
  return {
      .name = "queue release",
      .about = "Send a message that blocks the queue to the dead letters",
      .groups = {{"Options", joined({{"message", text(options->message, "ID"), "The message's id", {.required = true}}},
                                    options->wiring.rows(),
                                    {{"--consumer",
                                      text(options->consumer, "NAME"),
                                      "The consumer that it blocks, where it blocks several",
                                      {.momentary = true}}})}},
      .help = releaseHelp,
      .examples = releaseExamples,
      .act = [options] { return release(*options); },
      .hasUrls = true};
}

/// One that another program has sent, and that has no place in the queue yet. False: there is none without a time.
Result<bool> deleteUnfetched(const Backend& queue, const MessageId& id) {
  const auto scheduled = queue.scheduled();
  if (!scheduled) return scheduled.error().is(Errc::unsupported) ? Result<bool>(false) : scheduled.error();
  const auto waiting = (*scheduled)->find(id);
  if (!waiting) return waiting.error();
  if (!*waiting || (*waiting)->deliverAt) return false;
  const auto cancelled = (*scheduled)->cancel(id);
  return cancelled ? Result<bool>(*cancelled == ScheduleChange::done) : cancelled.error();
}

Exit deleteMessage(const DeleteOptions& options) {
  const auto queue = options.queue.parsed(false);
  if (!queue) return refuse("", queue.error());
  const auto admin = (*queue)->queueAdmin();
  if (!admin) return refuse("--queue", admin.error());
  const Result<void> removed = (*admin)->remove(MessageId{options.message});
  if (!removed && removed.error().is(Errc::notFound)) {
    const auto unfetched = deleteUnfetched(**queue, MessageId{options.message});
    if (!unfetched) return refuse("--queue", unfetched.error());
    if (!*unfetched) return complain(removed.error().detail), Exit::no;
  } else if (!removed) {
    return refuse("--queue", removed.error());
  }
  std::cout << "deleted " << escaped(options.message) << std::endl;
  return Exit::done;
}

Command deleteCommand() {
  auto options = std::make_shared<DeleteOptions>();
  const auto takeId = [options](const std::string& word) {
    if (!parseMessageId(word)) return false;
    options->message = word;
    return true;
  };
  return {
      .name = "queue delete",
      .about = "Take one message that waits out of the queue",
      .groups =
          {{"Options",
            {{"id", parsed("ID", expectedBy(parseMessageId("").error()), takeId), "Of the message", {.required = true}},
             options->queue.row()}}},
      .help = deleteHelp,
      .examples = deleteExamples,
      .act = [options] { return deleteMessage(*options); },
      .hasUrls = true};
}

Command logCommand() {
  auto options = std::make_shared<LogOptions>();
  return {
      .name = "queue log",
      .about = "What became of each attempt, where that is kept",
      .groups = {{"Queue", options->wiring.rows()},
                 {"Which attempts",
                  {{"--message", text(options->message, "ID"), "Only those at this message", {.momentary = true}},
                   {"--consumer", text(options->consumer, "NAME"), "Only those of this consumer", {.momentary = true}},
                   {"--outcome",
                    choice(options->choice.end, ends, "OUTCOME"),
                    "Only those that ended like this",
                    {.momentary = true}},
                   {"--since",
                    text(options->since, "WHEN"),
                    "Only those from then on: 1h ago, or 2026-05-04T09:12Z",
                    {.momentary = true}},
                   limitRow(options->choice.limit, "of attempts: the newest"),
                   {"--all", flag(options->all), "All of them", {.momentary = true}}}},
                 {"Output", {jsonRow(options->json, "a line")}}},
      .help = logHelp,
      .examples = logExamples,
      .act = [options] { return showLog(*options); },
      .hasUrls = true};
}

}  // namespace

std::vector<Command> queueCommands() {
  return {{.name = "queue", .about = "Look at a queue, and unblock it", .examples = queueExamples},
          statsCommand(),
          peekCommand(),
          failingCommand(),
          releaseCommand(),
          resumeCommand(),
          logCommand(),
          deleteCommand(),
          moveToCommand()};
}

}  // namespace tenure::cli
