#include <iomanip>
#include <iostream>

#include "base/text.hpp"
#include "cli/commands/commands.hpp"
#include "cli/commands/ensemble_session.hpp"
#include "cli/options/options.hpp"
#include "cli/options/wiring_options.hpp"
#include "cli/output/handover_steps.hpp"
#include "cli/output/queue_report.hpp"
#include "cli/output/state_pages.hpp"
#include "cli/output/status_json.hpp"
#include "election/outside/view.hpp"

namespace tenure::cli {
namespace {

struct StatusOptions {
  ElectionOption election;
  QueueOption queue;
  StoreOption store;
  bool json = false;
};

constexpr const char* statusHelp =
    R"help(Shows who leads, under which token, since when, who stands in line and whether it wants to lead
(see `tenure consume --preference`), who only observes, a handover that is asked for, and whether
the election is paused (`tenure pause`), by whom and why. A standby that could not lead is shown as
not ready, with the reason. A standby whose queue, store, consumer, delivery, coalescing or numbers
are not the leader's is shown as different. Neither is handed the leadership.
After an unclean end it says whose barrier holds, since when, until when at the latest, and why.
With --queue also what waits there, and what is stuck: see `tenure queue stats`. If messages wait
and no replica leads, an ALARM line says how many ("unattended" in JSON).
Exit code 1: nobody leads.
A reading, not evidence: by the time you act on it the leader may be another.
)help";

constexpr const char* statusExamples = R"help(tenure status --zookeeper 127.0.0.1:2181 --election orders
tenure status --zookeeper 127.0.0.1:2181 --election orders --json | jq -r .leader.id
tenure status --zookeeper 127.0.0.1:2181 --election orders --queue 'sqlite:orders.db?queue=orders')help";

/// Nullopt when no queue was named.
using Report = std::optional<QueueReport>;

std::string nameOf(const CandidateView& candidate) { return escaped(candidateName(candidate)); }

std::string placeOf(const ProcessIdentity& process) {
  return process.host.empty() ? "-" : escaped(process.host) + ":" + std::to_string(process.pid);
}

/// Only between terms; a busy marker of the leader's says nothing else.
std::string barrierText(const ElectionView& view) {
  if (!view.marker.busy || view.leader() != nullptr) return "";
  const std::string who = view.marker.known ? " of " + escaped(view.marker.id.value) : "";
  std::string wait;
  if (const CandidateView* waiting = view.waiting())
    wait = ", " + nameOf(*waiting) + " waits since " + formatWallTime(waiting->record.waitsSince) + ", until " +
           formatWallTime(waiting->record.waitsSince + view.marker.barrierLimit) + " at the latest";
  else if (!view.marker.nothingRuns)
    wait = ", a successor waits up to " + formatDuration(view.marker.barrierLimit);
  return who + wait + ": " + whyItWaits(view.marker);
}

std::string nameOf(const CandidateUuid& uuid, const ElectionView& view) {
  for (const CandidateView& each : view.candidates)
    if (each.uuid == uuid) return nameOf(each);
  return escaped(uuid.value);
}

void printLine(std::ostream& out, const CandidateView& candidate, const ElectionView& view) {
  out << std::setw(20) << nameOf(candidate) << "  " << std::setw(20) << candidate.czxid << "  "
      << placeOf(candidate.record.process);
  if (candidate.record.preference == Preference::preferred) out << "  preferred";
  if (candidate.record.readiness == Readiness::checking) out << "  getting ready";
  if (candidate.record.readiness == Readiness::notReady) out << "  not ready: " << escaped(candidate.record.whyNot);
  if (const std::string differs = view.differencesOf(candidate); !differs.empty())
    out << "  differs from the leader in: " << escaped(differs);
  out << "\n";
}

void printText(const ElectionAddress& address, const ElectionView& view, const Report& report) {
  const auto label = [](const char* text) -> std::ostream& { return std::cout << std::left << std::setw(11) << text; };
  label("election") << address.path() << "\n";
  if (view.meta)
    label("ensemble") << escaped(view.meta->ensemble.value) << ", generation " << view.meta->generation << "\n";
  if (const CandidateView* leader = view.leader())
    label("leader") << nameOf(*leader) << ", token " << leader->czxid << ", since " << formatWallTime(view.marker.since)
                    << "\n";
  else
    label("leader") << "nobody\n";
  label("marker") << (view.marker.busy ? "busy" : "idle")
                  << (view.marker.known ? ", token " + std::to_string(view.marker.token.value)
                                        : ", by an unknown holder")
                  << barrierText(view) << "\n";
  for (std::size_t i = 0; i < view.candidates.size(); ++i) {
    label(i == 0 ? "candidates" : "") << i + 1 << "  ";
    printLine(std::cout, view.candidates[i], view);
  }
  for (std::size_t i = 0; i < view.observers.size(); ++i) {
    label(i == 0 ? "observers" : "") << "-  ";
    printLine(std::cout, view.observers[i], view);
  }
  if (const HandoverRequest* request = openRequest(view)) {
    label("handover") << (request->to ? "to " + nameOf(*request->to, view) : "to whoever is next");
    if (request->at != WallTime{}) std::cout << " at " << formatWallTime(request->at);
    std::cout << ", asked by " << escaped(request->by) << "\n";
  }
  if (view.baton) label("baton") << batonText(*view.baton, view) << " at " << formatWallTime(view.baton->since) << "\n";
  if (const Pause* pause = view.pauseAt(systemClock().wallNow()))
    label("PAUSED") << pauseText(*pause, view.isAtRest()) << "\n";
  if (view.polluted) label("warning") << "too many children to be an election's\n";
  for (const OffenderView& offender : view.offenders)
    label("offender") << escaped(offender.child) << "  " << escaped(offender.reason) << "\n";
  if (const std::int64_t waiting = unattended(view, report); waiting > 0)
    label("ALARM") << "messages wait, and nobody leads: " << waiting << "\n";
  if (report) std::cout << "\n" << reportText(*report, systemClock().wallNow());
  std::cout << std::flush;
}

Exit showStatus(const StatusOptions& options) {
  std::optional<Wiring> wiring;
  if (!options.queue.url.empty()) {
    auto parsed = parseToLook(options.queue, options.store);  // before the digest is taken away
    if (!parsed) return refuse("", parsed.error());
    wiring = *std::move(parsed);
  }
  const auto address = parse(options.election);
  if (!address) return refuse("", address.error());
  if (wiring) wiring->storeBackend().joinElection(address->zookeeper);
  const auto session = EnsembleSession::connect(address->zookeeper);
  if (!session) return refuse("--zookeeper", session.error());
  const ElectionPaths paths(address->root, address->election);
  const auto view = (*session)->view(paths);
  if (!view && view.error().is(Errc::notFound)) {
    complain("nobody has ever entered the election " + address->path());
    return Exit::no;
  }
  if (!view) return refuse("", view.error());
  const auto looked = wiring ? std::optional(reportOn(*wiring)) : std::nullopt;
  const Report report = looked && *looked ? Report(**looked) : Report{};
  if (options.json)
    std::cout << statusJson(*address, *view, report) << std::flush;
  else
    printText(*address, *view, report);
  if (looked && !*looked) return refuse("", looked->error());
  return view->leader() != nullptr ? Exit::done : Exit::no;
}

}  // namespace

Command statusCommand() {
  auto options = std::make_shared<StatusOptions>();
  Option store = options->store.rowBesideQueue();
  store.ties.idle = {{"without --queue", [options] { return options->queue.url.empty(); }}};
  return {.name = "status",
          .about = "Show who leads and who stands in line",
          .groups = {{"Election", options->election.rows()},
                     {"Queue", {options->queue.row(false), std::move(store)}},
                     {"Output", {jsonRow(options->json)}}},
          .help = statusHelp,
          .examples = statusExamples,
          .act = [options] { return showStatus(*options); },
          .hasUrls = true};
}

}  // namespace tenure::cli
