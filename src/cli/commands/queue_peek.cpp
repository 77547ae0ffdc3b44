#include <iostream>
#include <limits>
#include <nlohmann/json.hpp>
#include <unordered_map>

#include "base/text.hpp"
#include "cli/commands/commands.hpp"
#include "cli/options/options.hpp"
#include "cli/output/content_page.hpp"
#include "cli/output/queue_report.hpp"
#include "cli/output/state_pages.hpp"

namespace tenure::cli {
namespace {

struct PeekOptions {
  QueueOption queue;
  StoreOption store;
  std::size_t limit = 20;
  bool all = false;
  bool json = false;
};

constexpr const char* peekHelp =
    R"help(The messages that are not acknowledged, in their order, those in work included: group, how long they
wait, how often they were tried, size and the beginning of the body; with --json all of it. A last
line says how many wait for their time (`tenure scheduled list`), and the next time. Nothing is
taken, and the leader notices nothing. RabbitMQ shows a message only to who takes it.
Exit code 1: none waits.
)help";

constexpr const char* peekExamples = R"help(tenure queue peek --queue 'sqlite:orders.db?queue=orders'
tenure queue peek --limit 1 --queue 'sqlite:orders.db?queue=orders' --json | jq .headers)help";

using Json = nlohmann::ordered_json;
/// By message; nullopt: not known.
using Attempts = std::optional<std::unordered_map<MessageId, AttemptRecord>>;

Result<Attempts> attemptsOf(const Wiring& wiring) {
  if (!wiring.storeBackend().isStore()) return Attempts{};
  const auto failing = wiring.storeBackend().storeAdmin()->failing();
  if (!failing && wiring.store && failing.error().is(Errc::notFound)) return Attempts{};
  if (!failing) return named(wiring.store ? "--store" : "--queue", failing.error());
  Attempts attempts{std::in_place};
  for (const FailingMessage& each : *failing) attempts->insert_or_assign(each.attempts.id, each.attempts);
  return attempts;
}

const AttemptRecord* recordOf(const Attempts& attempts, const MessageId& id) {
  if (!attempts) return nullptr;
  const auto found = attempts->find(id);
  return found == attempts->end() ? nullptr : &found->second;
}

std::string beginningOf(const std::string& body) {
  constexpr std::size_t shown = 60;
  return "\"" + escaped(body, shown) + "\"";
}

std::string lineOf(const Message& message, const Attempts& attempts, WallTime now) {
  const AttemptRecord* record = recordOf(attempts, message.id);
  std::string line = escaped(message.id.value);
  if (!message.group.value.empty()) line += "  group=" + escaped(message.group.value);
  line += "  age=" + ageText(now - message.enqueuedAt) + "  attempts=" +
          (record     ? std::to_string(record->attempts)
           : attempts ? "0"
                      : "-") +
          "  bytes=" + std::to_string(message.body.size()) + "  " + beginningOf(message.body);
  if (record != nullptr) line += "  " + std::string(toString(record->state)) + ": " + escaped(lastWordOf(*record));
  return line + "\n";
}

std::string jsonOf(const Message& message, const Attempts& attempts, WallTime now) {
  const AttemptRecord* record = recordOf(attempts, message.id);
  Json out{{"id", message.id.value},
           {"group", message.group.value},
           {"enqueued_at", formatWallTime(message.enqueuedAt)},
           {"age_ms", (now - message.enqueuedAt).count()},
           {"attempts", nullptr},
           {"state", nullptr},
           {"error", nullptr},
           {"bytes", message.body.size()}};
  if (attempts) out["attempts"] = record != nullptr ? record->attempts : 0;
  if (record != nullptr) out["state"] = toString(record->state);
  if (record != nullptr) out["error"] = record->lastError;
  out.update(Json::parse(contentJson(message)));
  return out.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

Exit peek(const PeekOptions& options) {
  const auto wiring = parseToLook(options.queue, options.store);
  if (!wiring) return refuse("", wiring.error());
  const auto admin = wiring->queue->queueAdmin();
  if (!admin) return refuse("--queue", admin.error());
  const auto attempts = attemptsOf(*wiring);
  if (!attempts) return refuse("", attempts.error());
  const WallTime now = systemClock().wallNow();
  std::size_t shown = 0;
  bool hasMore = false;
  const std::size_t most = options.all ? std::numeric_limits<std::size_t>::max() - 1 : options.limit;
  const auto show = [&](const Message& message) {
    if (shown == most) return void(hasMore = true);
    std::cout << (options.json ? jsonOf(message, *attempts, now) : lineOf(message, *attempts, now));
    ++shown;
  };
  const Result<void> peeked = (*admin)->peek(most + 1, show);
  std::cout << std::flush;
  if (!peeked) return refuse("--queue", peeked.error());
  if (!options.json)
    if (const auto scheduled = scheduledOf(*wiring->queue); scheduled && *scheduled && (*scheduled)->waiting > 0)
      std::cout << "scheduled: " << scheduledText(**scheduled, now) << std::endl;
  if (hasMore)
    complain("these are the first " + std::to_string(shown) +
             " messages, and there are more: --limit N shows N, --all shows all");
  return shown == 0 ? Exit::no : Exit::done;
}

}  // namespace

Command peekCommand() {
  auto options = std::make_shared<PeekOptions>();
  return {.name = "queue peek",
          .about = "Show the messages that wait, and take none",
          .groups = {{"Options",
                      {options->queue.row(),
                       options->store.rowBesideQueue(),
                       limitRow(options->limit, "of messages"),
                       {"--all", flag(options->all), "All of them", {.momentary = true}},
                       jsonRow(options->json, "a line")}}},
          .help = peekHelp,
          .examples = peekExamples,
          .act = [options] { return peek(*options); },
          .hasUrls = true};
}

}  // namespace tenure::cli
