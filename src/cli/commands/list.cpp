#include <algorithm>
#include <iostream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/text.hpp"
#include "cli/commands/commands.hpp"
#include "cli/commands/ensemble_session.hpp"
#include "cli/options/backends.hpp"
#include "cli/options/options.hpp"
#include "cli/options/wiring_options.hpp"
#include "cli/output/queue_report.hpp"
#include "cli/output/state_pages.hpp"
#include "cli/output/status_json.hpp"

namespace tenure::cli {

/// The queues of a database, as `tenure list --store` shows them.
struct ListedQueue {
  std::string name;
  QueueStats queue{};
  ScheduledStats scheduled{};
};

/// With names that messages were sent to and no election consumes. Looks at one queue after the other.
/// Errors: unsupported (the backend cannot list its queues), and those of IQueueAdmin::stats
Result<std::vector<ListedQueue>> listQueues(Backend& place);
/// A line, with its line break.
std::string lineOf(const ListedQueue& each, WallTime now);
/// An object and a line break.
std::string jsonOf(const ListedQueue& each);

namespace {

using Json = nlohmann::ordered_json;

struct ListAllOptions {
  ElectionOption ensemble;
  StoreOption store;
  bool json = false;
};

constexpr const char* listAllHelp =
    R"help(With --zookeeper one line for each election under the root: who leads, under which token and for how
long, how many stand by, and whether it is paused. With both, elections first.

With --store one line for each queue of a database, PostgreSQL or SQLite: how many messages wait and
since when the oldest; those that wait for their time, and those that other programs have sent and
that have no places yet; which election consumes it. A name that messages were sent to and no
election has consumed yet is one as well: perhaps the sender misspelt it.

An election that may not be read is shown as not known, and its error is the exit code.
Exit code 1: there is neither an election nor a queue.
A reading, not evidence: by the time you act on it the leader may be another.
)help";

constexpr const char* listAllExamples = R"help(tenure list --zookeeper 127.0.0.1:2181
tenure list --zookeeper 127.0.0.1:2181 --json | jq -r 'select(.leader == null).election'
tenure list --store postgresql://shop@db/shop
tenure list --store sqlite:orders.db --json | jq -r 'select(.election == null).queue')help";

struct ListedElection {
  std::string name;
  Result<ElectionView> view;  // an error: the others are shown all the same
};

std::size_t standbysOf(const ElectionView& view) {
  return view.candidates.size() - std::min<std::size_t>(view.candidates.size(), view.leader() != nullptr ? 1 : 0);
}

std::string leaderText(const ElectionView& view, WallTime now) {
  const CandidateView* leader = view.leader();
  if (leader == nullptr) return "nobody";
  return escaped(candidateName(*leader)) + ", token " + std::to_string(leader->czxid) + ", for " +
         ageText(now - view.marker.since);
}

std::string lineOf(const ListedElection& each, WallTime now) {
  if (!each.view) return escaped(each.name) + "  not known: " + each.view.error().message() + "\n";
  const ElectionView& view = *each.view;
  std::string text = escaped(each.name) + "  leader " + leaderText(view, now) + "  standing by " +
                     (view.polluted ? "not known: too many children" : std::to_string(standbysOf(view)));
  if (const Pause* pause = view.pauseAt(now)) text += "  PAUSED " + pauseText(*pause, view.isAtRest());
  return text + "\n";
}

void addView(const ElectionView& view, WallTime now, Json& out) {
  if (const CandidateView* leader = view.leader()) {
    out["leader"] = candidateName(*leader);
    out["token"] = std::to_string(leader->czxid);
    out["since"] = formatWallTime(view.marker.since);
  }
  if (!view.polluted) out["standing_by"] = standbysOf(view);
  if (const Pause* pause = view.pauseAt(now)) out["paused"] = Json::parse(pauseJson(*pause, view.isAtRest()));
}

std::string jsonOf(const ListedElection& each, WallTime now) {
  Json out{{"election", each.name}};
  for (const char* key : {"leader", "token", "since", "standing_by", "paused", "error"}) out[key] = nullptr;
  if (each.view)
    addView(*each.view, now, out);
  else
    out["error"] = each.view.error().message();
  return out.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

/// Sorted by name. Empty: no candidate has ever entered an election under the root.
Result<std::vector<ListedElection>> electionsUnder(const ElectionAddress& address) {
  const auto session = EnsembleSession::connect(address.zookeeper);
  if (!session) return session.error();
  const auto names = (*session)->electionsUnder(address.root);
  if (!names) return names.error();
  std::vector<ListedElection> elections;
  for (const std::string& name : *names) {
    auto view = (*session)->view(ElectionPaths(address.root, ElectionName{name}));
    const bool isGone = !view && view.error().is(Errc::notFound);  // somebody has removed it meanwhile
    if (!isGone) elections.push_back({name, std::move(view)});
  }
  return elections;
}

template <class Listed>
void print(const std::vector<Listed>& all, const auto& each) {
  for (const Listed& one : all) std::cout << each(one);
  std::cout << std::flush;
}

Exit showAll(const ListAllOptions& options) {
  if (options.ensemble.zookeeper.hosts.empty() && options.store.url.empty())
    return wrongUsage("--zookeeper HOSTS or --store URL is required: whose elections, or which queues");
  const auto place = options.store.parsed(false);  // before the digest is taken away
  if (!place) return refuse("", place.error());
  const auto address = parse(options.ensemble);
  if (!address) return refuse("", address.error());
  bool isAny = false;
  std::optional<Error> unread;
  if (!address->zookeeper.hosts.empty()) {
    const auto elections = electionsUnder(*address);
    if (!elections) return refuse("--zookeeper", elections.error());
    const WallTime now = systemClock().wallNow();
    print(*elections, [&](const auto& each) { return options.json ? jsonOf(each, now) : lineOf(each, now); });
    isAny = !elections->empty();
    for (const ListedElection& each : *elections)
      if (!each.view) unread = each.view.error();
  }
  if (*place != nullptr) {
    const auto queues = listQueues(**place);
    if (!queues) return refuse("--store", queues.error());
    const WallTime now = systemClock().wallNow();
    print(*queues, [&](const auto& each) { return options.json ? jsonOf(each) : lineOf(each, now); });
    isAny = isAny || !queues->empty();
  }
  if (unread) return refuse("--zookeeper", *unread);
  return isAny ? Exit::done : Exit::no;
}

}  // namespace

Command listAllCommand() {
  auto options = std::make_shared<ListAllOptions>();
  options->ensemble.required = false;
  return {.name = "list",
          .about = "All elections of an ensemble, all queues of a database",
          .groups = {{"Elections", options->ensemble.ensembleRows()},
                     {"Queues", {options->store.row("Which database or file, for example postgresql://shop@db/shop")}},
                     {"Output", {jsonRow(options->json, "a line")}}},
          .help = listAllHelp,
          .examples = listAllExamples,
          .act = [options] { return showAll(*options); },
          .hasUrls = true};
}

namespace {

using Json = nlohmann::ordered_json;

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

}  // namespace tenure::cli
