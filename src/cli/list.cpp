#include <algorithm>
#include <iostream>
#include <nlohmann/json.hpp>

#include "base/text.hpp"
#include "cli/commands.hpp"
#include "cli/ensemble_session.hpp"
#include "cli/options.hpp"
#include "cli/pause_page.hpp"
#include "cli/queue_list.hpp"
#include "cli/status_json.hpp"
#include "cli/wiring_options.hpp"

namespace tenure::cli {
namespace {

using Json = nlohmann::ordered_json;

struct OverviewOptions {
  ElectionOption ensemble;
  StoreOption store;
  bool json = false;
};

constexpr const char* overviewHelp =
    R"help(With --zookeeper one line for each election under the root: who leads, under which token and for how
long, how many stand by, and whether it is paused. With --store one line for each queue of that
database, as `tenure queue list` shows it. With both, elections first.

Exit code 1: there is neither an election nor a queue.
A reading, not evidence: by the time you act on it the leader may be another.
)help";

constexpr const char* overviewExamples = R"help(tenure list --zookeeper 127.0.0.1:2181
tenure list --zookeeper 127.0.0.1:2181 --json | jq -r 'select(.leader == null).election'
tenure list --zookeeper 127.0.0.1:2181 --store postgresql://shop@db/shop)help";

struct ListedElection {
  std::string name;
  ElectionView view{};
};

std::size_t standbysOf(const ElectionView& view) {
  return view.candidates.size() - std::min<std::size_t>(view.candidates.size(), view.leader() != nullptr ? 1 : 0);
}

std::string lineOf(const ListedElection& each, WallTime now) {
  const CandidateView* leader = each.view.leader();
  std::string text = escaped(each.name) + "  leader ";
  text += leader == nullptr ? "nobody"
                            : escaped(candidateName(*leader)) + ", token " + std::to_string(leader->czxid) + ", for " +
                                  ageText(now - each.view.marker.since);
  text += "  standing by " + std::to_string(standbysOf(each.view));
  if (const Pause* pause = each.view.pauseAt(now)) text += "  PAUSED " + pauseText(*pause, each.view.isAtRest());
  return text + "\n";
}

std::string jsonOf(const ListedElection& each, WallTime now) {
  Json out{{"election", each.name}, {"leader", nullptr}, {"token", nullptr}, {"since", nullptr}};
  if (const CandidateView* leader = each.view.leader()) {
    out["leader"] = candidateName(*leader);
    out["token"] = std::to_string(leader->czxid);
    out["since"] = formatWallTime(each.view.marker.since);
  }
  out["standing_by"] = standbysOf(each.view);
  const Pause* pause = each.view.pauseAt(now);
  out["paused"] = pause == nullptr ? Json(nullptr) : Json::parse(pauseJson(*pause, each.view.isAtRest()));
  return out.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

/// In the order of their names; empty where nobody has ever entered an election under the root.
Result<std::vector<ListedElection>> electionsUnder(const ElectionAddress& address) {
  const auto session = EnsembleSession::connect(address.zookeeper);
  if (!session) return session.error();
  auto names = (*session)->ask<std::vector<std::string>>([&](ICoordination& coordination, auto done) {
    coordination.children(ElectionPaths(address.root, {}).elections, nullptr, std::move(done));
  });
  if (!names && names.error().is(Errc::notFound)) return std::vector<ListedElection>{};
  if (!names) return names.error();
  std::ranges::sort(*names);
  std::vector<ListedElection> elections;
  for (std::string& name : *names) {
    auto view = (*session)->view(ElectionPaths(address.root, ElectionName{name}));
    if (!view && view.error().is(Errc::notFound)) continue;  // somebody has removed it meanwhile
    if (!view) return view.error();
    elections.push_back({std::move(name), *std::move(view)});
  }
  return elections;
}

Exit showOverview(const OverviewOptions& options) {
  if (options.ensemble.zookeeper.hosts.empty() && options.store.url.empty()) {
    complain("--zookeeper HOSTS or --store URL is required: whose elections, or which queues");
    return Exit::usage;
  }
  const auto place = options.store.parsed(false);  // before the digest is taken away
  if (!place) return refuse("", place.error());
  const auto address = parse(options.ensemble);
  if (!address) return refuse("", address.error());
  const WallTime now = systemClock().wallNow();
  bool isAny = false;
  if (!address->zookeeper.hosts.empty()) {
    const auto elections = electionsUnder(*address);
    if (!elections) return refuse("--zookeeper", elections.error());
    for (const ListedElection& each : *elections) std::cout << (options.json ? jsonOf(each, now) : lineOf(each, now));
    isAny = !elections->empty();
  }
  if (*place != nullptr) {
    const auto queues = listQueues(**place);
    if (!queues) return refuse("--store", queues.error());
    for (const ListedQueue& each : *queues) std::cout << (options.json ? jsonOf(each) : lineOf(each, now));
    isAny = isAny || !queues->empty();
  }
  std::cout << std::flush;
  return isAny ? Exit::done : Exit::no;
}

}  // namespace

Command overviewCommand() {
  auto options = std::make_shared<OverviewOptions>();
  options->ensemble.required = false;
  return {.name = "list",
          .about = "All elections of an ensemble, all queues of a database",
          .groups = {{"Elections", options->ensemble.ensembleRows()},
                     {"Queues", {options->store.row("Which database or file, for example postgresql://shop@db/shop")}},
                     {"Output", {jsonRow(options->json, "a line")}}},
          .help = overviewHelp,
          .examples = overviewExamples,
          .act = [options] { return showOverview(*options); },
          .hasUrls = true};
}

}  // namespace tenure::cli
