#include "cli/commands/queue_list.hpp"

#include <iostream>
#include <nlohmann/json.hpp>

#include "base/text.hpp"
#include "cli/commands/commands.hpp"
#include "cli/options/options.hpp"
#include "cli/options/wiring_options.hpp"

namespace tenure::cli {
namespace {

using Json = nlohmann::ordered_json;

struct QueueListOptions {
  StoreOption store;
  bool json = false;
};

constexpr const char* queuesHelp =
    R"help(One line a queue: how many messages wait and since when the oldest; those that wait for their time,
and those that other programs have sent and that have no places yet; which election consumes it. A
name that messages were sent to and no election has consumed yet is one as well: perhaps the sender
misspelt it.

Queues in PostgreSQL and SQLite. Exit code 1: there is none.
)help";

constexpr const char* queuesExamples = R"help(tenure queue list --store postgresql://shop@db/shop
tenure queue list --store sqlite:orders.db --json | jq -r 'select(.election == null).queue')help";

Result<ListedQueue> lookAt(Backend& place, const std::string& name) {
  place.setQueue(name);
  ListedQueue listed{.name = name};
  const auto admin = place.queueAdmin();
  auto stats = admin ? (*admin)->glance() : admin.error();
  if (!stats && !stats.error().is(Errc::notFound)) return stats.error();
  if (stats) listed.queue = *std::move(stats);
  const auto scheduled = scheduledOf(place, /*atAGlance=*/true);
  if (!scheduled) return scheduled.error();
  listed.scheduled = scheduled->value_or(ScheduledStats{});
  return listed;
}

}  // namespace

std::string lineOf(const ListedQueue& each, WallTime now) {
  std::string text = escaped(each.name) + "  waiting " + (each.queue.waitingIsAtMost ? "at most " : "") +
                     std::to_string(each.queue.waiting);
  if (each.queue.oldest) text += ", the oldest for " + ageText(now - *each.queue.oldest);
  const ScheduledStats& scheduled = each.scheduled;
  if (scheduled.atOnce > 0) text += "  sent " + sentText(scheduled, now);
  if (scheduled.waiting > 0) text += "  scheduled " + timedText(scheduled, now);
  return text +
         (each.queue.election.empty() ? "  not consumed yet\n" : "  election " + escaped(each.queue.election) + "\n");
}

std::string jsonOf(const ListedQueue& each) {
  Json out{{"queue", each.name},
           {"waiting", each.queue.waiting},
           {"waiting_is_at_most", each.queue.waitingIsAtMost},
           {"oldest", nullptr}};
  if (each.queue.oldest) out["oldest"] = formatWallTime(*each.queue.oldest);
  out["scheduled"] = Json::parse(scheduledJson(each.scheduled));
  out["election"] = each.queue.election.empty() ? Json() : Json(each.queue.election);
  return out.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

Result<std::vector<ListedQueue>> listQueues(Backend& place) {
  const auto names = place.queueNames(false);
  if (!names) return names.error();
  std::vector<ListedQueue> queues;
  for (const std::string& name : *names) {
    Result<ListedQueue> listed = lookAt(place, name);
    if (!listed) return listed.error();
    queues.push_back(*std::move(listed));
  }
  return queues;
}

namespace {

Exit showQueues(const QueueListOptions& options) {
  const auto place = options.store.parsed(false);
  if (!place) return refuse("", place.error());
  const auto queues = listQueues(**place);
  if (!queues) return refuse("--store", queues.error());
  const WallTime now = systemClock().wallNow();
  for (const ListedQueue& each : *queues) std::cout << (options.json ? jsonOf(each) : lineOf(each, now));
  std::cout << std::flush;
  return queues->empty() ? Exit::no : Exit::done;
}

}  // namespace

Command listQueuesCommand() {
  auto options = std::make_shared<QueueListOptions>();
  return {.name = "queue list",
          .about = "Queues of a database, with those that no election consumes",
          .groups = {{"Options",
                      {options->store.row("Which database or file, for example postgresql://shop@db/shop",
                                          {.required = true}),
                       jsonRow(options->json, "a line")}}},
          .help = queuesHelp,
          .examples = queuesExamples,
          .act = [options] { return showQueues(*options); },
          .hasUrls = true};
}

}  // namespace tenure::cli
