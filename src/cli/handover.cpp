#include <CLI/CLI.hpp>
#include <iostream>

#include "base/process_identity.hpp"
#include "base/text.hpp"
#include "cli/ensemble_session.hpp"
#include "cli/options.hpp"
#include "cli/tool.hpp"
#include "election/view.hpp"

namespace tenure::cli {
namespace {

struct HandoverOptions {
  ElectionOption election;
  bool wait = false;
  std::chrono::milliseconds limit{30'000};
};

constexpr const char* handoverHelp = R"help(
Asks the leader in office now, and no later one, to finish its current message and step down; it
enrols again at the back. With --wait it tells who follows, and after how many milliseconds.
Alone, the same replica leads again under a new token. Exit code 1: nobody leads, or the leader did
not step down within --limit.

Examples:
  tenure handover --zookeeper 127.0.0.1:2181 --election orders --wait
)help";

/// The view as soon as another term is in office; the marker's watch tells when to look again.
Result<ElectionView> awaitSuccessor(EnsembleSession& session, const ElectionPaths& paths, FencingToken former,
                                    BootTime deadline) {
  while (true) {
    const auto changed = std::make_shared<bool>(false);
    const auto watched = session.ask<NodeStat>([&](ICoordination& coordination, Callback<NodeStat> done) {
      coordination.exists(
          paths.marker, [changed](WatchEvent) { *changed = true; }, std::move(done));
    });
    if (!watched) return watched.error();
    auto view = session.ask<ElectionView>([&](ICoordination& coordination, Callback<ElectionView> done) {
      readElection(coordination, paths, std::move(done));
    });
    if (!view || (view->leader() != nullptr && view->marker.token != former)) return view;
    if (!session.runUntil([&] { return *changed; }, deadline)) return Error{Errc::timedOut, "nobody has followed yet"};
  }
}

Exit tellSuccessor(const ElectionView& view, Duration took) {
  const CandidateView& leader = *view.leader();
  std::cout << (leader.record.known ? escaped(leader.record.id.value) : "unknown") << " leads, token " << leader.czxid
            << ", " << std::chrono::duration_cast<std::chrono::milliseconds>(took).count() << " ms after the request"
            << std::endl;
  return Exit::done;
}

Exit handOver(const HandoverOptions& options) {
  const auto address = parse(options.election);
  if (!address) return refuse("", address.error());
  const auto session = EnsembleSession::connect(address->zookeeper);
  if (!session) return refuse("--zookeeper", session.error());

  const ElectionPaths paths(address->root, address->election);
  const ProcessIdentity& self = thisProcess();
  const std::string by = "tenure handover, " + self.host + ":" + std::to_string(self.pid);
  const BootTime asked = BootClock::now();
  const WallTime until = systemClock().wallNow() + options.limit;
  const auto token = (*session)->ask<FencingToken>([&](ICoordination& coordination, Callback<FencingToken> done) {
    requestHandover(coordination, paths, by, until, std::move(done));
  });
  if (!token && token.error().is(Errc::notFound)) {
    complain("nobody leads the election " + address->path());
    return Exit::no;
  }
  if (!token) return refuse("", token.error());
  if (!options.wait) {
    std::cout << "asked the leader with token " << token->value << " to hand over" << std::endl;
    return Exit::done;
  }

  const auto view = awaitSuccessor(**session, paths, *token, asked + options.limit);
  if (view) return tellSuccessor(*view, BootClock::now() - asked);
  if (!view.error().is(Errc::timedOut)) return refuse("", view.error());
  complain("nobody has followed within " + formatDuration(options.limit));
  return Exit::no;
}

}  // namespace

void addHandover(CLI::App& tool, Action& chosen) {
  auto options = std::make_shared<HandoverOptions>();
  CLI::App* command = tool.add_subcommand("handover", "Ask the leader to step down");
  options->election.declare(*command);
  command->add_flag("--wait", options->wait, "Wait for the successor, and say who and how soon");
  addDuration(*command, "--limit", options->limit, "How long the request stands, and --wait waits");
  command->footer(std::string(handoverHelp) + exitCodesHelp);
  command->callback([options, &chosen] { chosen = [options] { return handOver(*options); }; });
}

}  // namespace tenure::cli
