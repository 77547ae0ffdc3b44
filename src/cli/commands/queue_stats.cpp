#include <iostream>

#include "base/text.hpp"
#include "cli/commands/commands.hpp"
#include "cli/commands/ensemble_session.hpp"
#include "cli/options/options.hpp"
#include "cli/options/wiring_options.hpp"
#include "cli/output/queue_report.hpp"
#include "cli/output/status_json.hpp"
#include "election/outside/view.hpp"

namespace tenure::cli {
namespace {

struct StatsOptions {
  QueueOption queue;
  StoreOption store;
  ElectionOption ensemble;
  bool json = false;
};

constexpr const char* statsHelp =
    R"help(  waiting       messages that are not acknowledged; RabbitMQ leaves out those that the leader has
  oldest        since when the oldest of them waits
  scheduled     those that wait for their time, the next time, and by how much the latest of the
                last five minutes came too late: `tenure scheduled list`; and those without a time
                that others' transactions have sent and that are not in their places yet
  in work       what the leader's term has on record as begun, or about to begin
  retrying      those that failed and are tried again
  postponed     those whose handler asked for later (exit code 75): how often, since when, why
  kept          numbered messages that came too early: which group waits for which number
  blocked       out of attempts, and those behind it wait: `tenure queue release`
  stopped       consumers with too many dead letters in a row: `tenure queue resume`
  dead letters  `tenure dead-letters list`

All but the first three are kept in the store: those of all its consumers, except one that bears the
name of another election. For a queue whose effects are kept elsewhere name that with --store; what
is not known is said to be so, in JSON null.

With --zookeeper also who leads the election that the queue belongs to, and whether it is paused
(`tenure pause`); that needs no --election. If
messages wait and no replica leads, an ALARM line says how many ("unattended" in JSON). Where the
ensemble does not answer, or has no such election, the leader is unknown, and no alarm is raised.
RabbitMQ does not know a queue's election: use `tenure status --queue` there.
)help";

constexpr const char* statsExamples = R"help(tenure queue stats --queue 'sqlite:orders.db?queue=orders'
tenure queue stats --queue 'sqlite:orders.db?queue=orders' --json | jq .waiting
tenure queue stats --queue 'sqlite:orders.db?queue=orders' --zookeeper zk1:2181,zk2:2181,zk3:2181
tenure queue stats --queue 'amqp://shop@mq/?queue=orders' --store postgresql://shop@db/shop)help";

/// A view without candidates where no election has taken the queue yet.
Result<ElectionView> electionOf(const QueueStats& queue, const ElectionOption& ensemble) {
  const auto address = parse(ensemble);
  if (!address) return address.error();
  if (queue.path.empty()) return ElectionView{};
  const auto session = EnsembleSession::connect(address->zookeeper);
  if (!session) return named("--zookeeper", session.error());
  const ElectionPaths paths(queue.path.substr(0, queue.path.rfind("/elections/")), ElectionName{queue.election});
  return (*session)->view(paths);
}

void addElection(const Result<ElectionView>& view, WallTime now, QueueReport& report) {
  if (!view) {
    report.whyNoLeader = view.error().message();
    return;
  }
  const CandidateView* leader = view->leader();
  report.leader.emplace();
  if (leader != nullptr) report.leader = candidateName(*leader);
  if (const Pause* pause = view->pauseAt(now)) report.pause = *pause;
  report.isAtRest = view->isAtRest();
}

Exit showStats(const StatsOptions& options) {
  const auto wiring = parseToLook(options.queue, options.store);
  if (!wiring) return refuse("", wiring.error());
  auto report = reportOn(*wiring);
  if (!report) return refuse("", report.error());
  const bool isKnown = !report->queue.path.empty() || (report->queue.election.empty() && !report->isOfBroker);
  const bool looks = !options.ensemble.zookeeper.hosts.empty() && isKnown;
  const WallTime now = systemClock().wallNow();
  if (looks) addElection(electionOf(report->queue, options.ensemble), now, *report);
  std::cout << (options.json ? reportJson(*report, now) + "\n" : reportText(*report, now)) << std::flush;
  return Exit::done;
}

}  // namespace

Command statsCommand() {
  auto options = std::make_shared<StatsOptions>();
  options->ensemble.required = false;
  Options ensemble = options->ensemble.ensembleRows();
  std::erase_if(ensemble, [](const Option& each) { return each.name == "--root"; });  // the queue knows its path
  return {.name = "queue stats",
          .about = "How many messages wait, and which are stuck",
          .groups = {{"Options", {options->queue.row(), options->store.rowBesideQueue(), jsonRow(options->json)}},
                     {"Whether somebody leads", std::move(ensemble)}},
          .help = statsHelp,
          .examples = statsExamples,
          .act = [options] { return showStats(*options); },
          .hasUrls = true};
}

}  // namespace tenure::cli
