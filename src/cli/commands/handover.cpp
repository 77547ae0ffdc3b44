#include <iostream>

#include "base/text.hpp"
#include "cli/commands/commands.hpp"
#include "cli/commands/ensemble_session.hpp"
#include "cli/input/time_options.hpp"
#include "cli/options/options.hpp"
#include "cli/output/handover_steps.hpp"
#include "election/outside/view.hpp"
#include "process/process_identity.hpp"

namespace tenure::cli {
namespace {

struct HandoverOptions {
  ElectionOption election;
  std::string to;
  std::string at;
  std::string allOf;
  bool wait = false;
  bool cancel = false;
  std::chrono::milliseconds limit{30'000};
};

constexpr const char* handoverHelp =
    R"help(Asks the present leader, and no later one, to finish its current message and step down; it
enrols again at the back. The first in line follows who is ready and whose settings agree with the
leader's (`tenure status` shows who is not); where others stand in line and none can follow, it is
refused. With --wait it tells each step (offered, accepted, refused, passed), who has begun its
term, after how many milliseconds, and for how many of them nobody led. Alone, the same replica
leads again under a new token.

--to names the successor, as in `tenure status`: the candidates between are sent to the back, and
it leads as soon as it is next. It is refused for an id that is unknown, that several
candidates share (name one by its uuid), of an observer, of the leader itself, or of one that cannot
follow. With --wait an unknown one, which may just be enrolling again, is waited for.
--at has the leader wait for a time, by its own clock: UTC as 2026-05-04T09:12:33Z, or +10m from
now. The request belongs to the present term: when that ends before, for whatever reason, it lapses.
`tenure status` shows it; --cancel takes it back, and a newer request replaces it. A handover that
has begun cannot be taken back.

--all-of empties a machine before its maintenance: each election under the root that a replica on
that host leads is handed to the first in line on another host. Replicas that stand by there may
lead again later: stop them next.

Exit code 1: refused, nobody leads, nothing to cancel, or with --wait not done within --limit.
)help";

constexpr const char* handoverExamples = R"help(tenure handover --zookeeper 127.0.0.1:2181 --election orders --wait
tenure handover --zookeeper 127.0.0.1:2181 --election orders --to rack2-orders --at +10m
tenure handover --zookeeper 127.0.0.1:2181 --election orders --cancel
tenure handover --zookeeper 127.0.0.1:2181 --all-of rack2 --wait)help";

/// "no" is an answer, and has a sentence; anything else is a failure.
Exit refused(const Error& error) {
  if (!error.is(Errc::notFound) && !error.is(Errc::versionMismatch)) return refuse("", error);
  complain(error.detail);
  return Exit::no;
}

std::string nameOf(const CandidateView& candidate) {
  return candidate.record.known ? escaped(candidate.record.id.value) : candidate.uuid.value;
}

std::string describe(const HandoverRequest& request, const ElectionView& view) {
  std::string text;
  if (request.to) {
    const auto target = std::find_if(view.candidates.begin(), view.candidates.end(),
                                     [&](const CandidateView& each) { return each.uuid == *request.to; });
    text += " to " + (target == view.candidates.end() ? escaped(request.to->value) : nameOf(*target));
  }
  if (request.at != WallTime{}) text += " at " + formatWallTime(request.at);
  return text;
}

/// Asks the leader of one election to hand over.
class Steering {
 public:
  Steering(EnsembleSession& session, const ElectionAddress& address)
      : session_(session), address_(address), paths_(address.root, address.election) {}

  Exit request(const HandoverOptions& options, WallTime now) {
    const Result<WallTime> at = options.at.empty() ? WallTime{} : timeAhead(options.at, now);
    if (!at) return refuse("--at", at.error());
    const Result<ElectionView> view = options.wait ? ledElectionWith(options) : ledElection();
    if (!view) return refused(view.error());

    HandoverRequest request{view->marker.token, whoAsks(), {}, std::max(*at, now) + options.limit, *at};
    if (!options.to.empty()) {
      const Result<CandidateUuid> to = findSuccessor(*view, options.to);
      if (!to) return refused(to.error());
      request.to = *to;
    } else if (const Result<void> anybody = findAnySuccessor(*view); !anybody) {
      return refused(anybody.error());
    }
    const BootTime asked = BootClock::now();
    const auto written = session_.ask<NodeStat>([&](ICoordination& coordination, Callback<NodeStat> done) {
      requestHandover(coordination, paths_, request, std::move(done));
    });
    if (!written) return refused(written.error());
    if (!options.wait) return tellAsked(request, *view, now);
    return await(request, *view, asked + std::chrono::nanoseconds{request.until - now}, asked);
  }

  Exit cancel(WallTime now) {
    const Result<ElectionView> view = ledElection();
    if (!view) return refused(view.error());
    const auto node = session_.ask<Node>(
        [&](ICoordination& coordination, Callback<Node> done) { coordination.get(paths_.handover, {}, done); });
    if (!node) return refused(node.error());
    const auto request = parseHandoverRequest(node->data);
    if (!request || request->term != view->marker.token || request->until < now)
      return refused(Error{Errc::notFound, "no handover is asked for"});
    const auto written = session_.ask<NodeStat>([&](ICoordination& coordination, Callback<NodeStat> done) {
      coordination.set(paths_.handover, {}, node->stat.version, std::move(done));
    });
    if (!written && written.error().is(Errc::versionMismatch))
      return refused(Error{Errc::versionMismatch, "the request was replaced just now: look again"});
    if (!written) return refused(written.error());
    std::cout << "took back the handover" << describe(*request, *view) << " that " << escaped(request->by)
              << " had asked for" << std::endl;
    return Exit::done;
  }

 private:
  static std::string whoAsks() {
    const ProcessIdentity& self = thisProcess();
    return "tenure handover, " + self.host + ":" + std::to_string(self.pid);
  }

  Result<ElectionView> ledElection() {
    Result<ElectionView> view = session_.view(paths_);
    const bool led = view && view->leader() != nullptr;
    if (led || (!view && !view.error().is(Errc::notFound))) return view;
    return Error{Errc::notFound, "nobody leads the election " + address_.path()};
  }

  /// The same, with the one who is meant, as soon as it stands in line; without it when that takes too long.
  Result<ElectionView> ledElectionWith(const HandoverOptions& options) {
    const BootTime deadline = BootClock::now() + options.limit;
    bool told = false;
    while (true) {
      const auto changed = std::make_shared<bool>(false);
      // Without an answer to this one, the next question has none either.
      static_cast<void>(session_.ask<std::vector<std::string>>(
          [&](ICoordination& coordination, Callback<std::vector<std::string>> done) {
            coordination.children(
                paths_.candidates, [changed](WatchEvent) { *changed = true; }, std::move(done));
          }));
      Result<ElectionView> view = ledElection();
      if (!view || options.to.empty() || view->knows(options.to)) return view;
      if (!std::exchange(told, true))
        std::cerr << "waits for \"" << escaped(options.to) << "\" to stand in line" << std::endl;
      if (!session_.runUntil([&] { return *changed; }, deadline)) return view;
    }
  }

  static Exit tellAsked(const HandoverRequest& request, const ElectionView& view, WallTime now) {
    std::cout << "asked the leader with token " << request.term.value << " to hand over" << describe(request, view);
    if (request.at > now) std::cout << "; the request lapses with its term";
    if (view.request && view.request->until >= now && view.request->at > now)
      std::cout << "; it replaces the handover" << describe(*view.request, view);
    std::cout << std::endl;
    return Exit::done;
  }

  /// The view as soon as another term has begun; watches on the marker, on its candidacy and on the baton tell when to
  /// look again.
  Result<ElectionView> awaitSuccessor(FencingToken former, BootTime deadline, HandoverSteps& steps) {
    std::string elected;  // and not inaugurated yet
    while (true) {
      const auto changed = std::make_shared<bool>(false);
      for (const std::string& path : {paths_.marker, paths_.baton})
        if (const auto watched = session_.watch(path, changed); !watched && !watched.error().is(Errc::notFound))
          return watched.error();
      if (!elected.empty())
        if (const auto seen = session_.watch(paths_.candidate(elected), changed);
            !seen && !seen.error().is(Errc::notFound))
          return seen.error();
      Result<ElectionView> view = session_.view(paths_);
      if (!view) return view;
      if (const auto step = steps.see(*view, BootClock::now())) std::cerr << *step << std::endl;
      const CandidateView* leader = view->marker.token != former ? view->leader() : nullptr;
      if (leader != nullptr && hasBegun(*leader)) return view;
      const std::string before = std::exchange(elected, leader != nullptr ? leader->znode : "");
      if (before != elected) continue;
      if (!session_.runUntil([&] { return *changed; }, deadline))
        return Error{Errc::timedOut, leader == nullptr ? "nobody has followed in time"
                                                       : nameOf(*leader) + " was elected, and has not begun in time"};
    }
  }

  /// A replica of an earlier version does not say.
  static bool hasBegun(const CandidateView& leader) {
    return leader.record.readiness == Readiness::inaugurated || leader.record.readiness == Readiness::unknown;
  }

  Exit await(const HandoverRequest& request, const ElectionView& before, BootTime deadline, BootTime asked) {
    HandoverSteps steps(request.term, asked);
    const Result<ElectionView> view = awaitSuccessor(request.term, deadline, steps);
    if (!view && !view.error().is(Errc::timedOut)) return refuse("", view.error());
    if (!view) {
      complain(view.error().detail);
      return Exit::no;
    }
    const CandidateView& leader = *view->leader();
    const BootTime begun = BootClock::now();
    const auto took = std::chrono::duration_cast<std::chrono::milliseconds>(begun - asked);
    std::cout << nameOf(leader) << " leads, token " << leader.czxid << ", " << took.count() << " ms after the request"
              << steps.parts(begun) << std::endl;
    const bool again = leader.uuid == before.leader()->uuid && before.candidates.size() > 1;
    const bool meant = request.to ? leader.uuid == *request.to : !again;
    if (!meant) complain(request.to ? "that is not the one who was meant to follow" : "that is who led before");
    return meant ? Exit::done : Exit::no;
  }

  EnsembleSession& session_;
  const ElectionAddress& address_;
  const ElectionPaths paths_;
};

/// The uuid of the first in line on another host that can follow.
std::optional<std::string> successorElsewhere(const ElectionView& view, const std::string& host) {
  for (const CandidateView& each : view.candidates)
    if (each.record.known && each.record.process.host != host && findSuccessor(view, each.uuid.value))
      return each.uuid.value;
  return std::nullopt;
}

/// Each election that the host leads, one after the other.
Exit emptyHost(EnsembleSession& session, const ElectionAddress& root, HandoverOptions options) {
  const auto names = session.electionsUnder(root.root);
  if (!names) return refuse("--zookeeper", names.error());
  Exit all = Exit::done;
  bool isLed = false;
  bool isKnown = false;
  for (const std::string& name : *names) {
    const ElectionAddress address{root.zookeeper, ElectionName{name}, root.root};
    const auto view = session.view(ElectionPaths(address.root, address.election));
    if (!view && view.error().is(Errc::notFound)) continue;  // it was removed meanwhile
    if (!view) {
      all = refuse(name, view.error());
      continue;
    }
    isKnown = isKnown || std::ranges::any_of(view->candidates, [&](const CandidateView& each) {
                return each.record.process.host == options.allOf;
              });
    if (view->leader() == nullptr || view->leader()->record.process.host != options.allOf) continue;
    isLed = true;
    std::cout << escaped(name) << ": " << std::flush;
    const auto successor = successorElsewhere(*view, options.allOf);
    if (!successor) {
      std::cout << "no replica on another host can follow" << std::endl;
      all = Exit::no;
      continue;
    }
    options.to = *successor;
    const Exit one = Steering(session, address).request(options, systemClock().wallNow());
    if (one != Exit::done) all = one;
  }
  if (!isKnown) {
    complain("no replica of any election is on " + escaped(options.allOf) + ": `tenure status` tells their hosts");
    return all == Exit::done ? Exit::no : all;
  }
  if (!isLed) std::cout << "no election is led on " << escaped(options.allOf) << std::endl;
  return all;
}

Exit handOver(const HandoverOptions& options) {
  if (options.election.zookeeper.hosts.empty()) return wrongUsage("--zookeeper is required");
  if (!options.allOf.empty() && !options.election.election.empty())
    return wrongUsage("--all-of is about all elections: leave --election out");
  if (options.allOf.empty() && options.election.election.empty())
    return wrongUsage("--election or --all-of is required");
  const auto address = parse(options.election);
  if (!address) return refuse("", address.error());
  const auto session = EnsembleSession::connect(address->zookeeper);
  if (!session) return refuse("--zookeeper", session.error());
  if (!options.allOf.empty()) return emptyHost(**session, *address, options);
  Steering steering(**session, *address);
  const WallTime now = systemClock().wallNow();
  return options.cancel ? steering.cancel(now) : steering.request(options, now);
}

}  // namespace

Command handoverCommand() {
  auto options = std::make_shared<HandoverOptions>();
  options->election.required = false;  // with --all-of
  return {
      .name = "handover",
      .about = "Ask the leader to step down",
      .groups =
          {{"Handover",
            {{"--to",
              filled(options->to, "ID", "an id or a uuid"),
              "Who shall follow: an id or a uuid from `tenure status`",
              {.momentary = true}},
             {"--at",
              filled(options->at, "TIME", "a time"),
              "When: 2026-05-04T09:12:33Z, or +10m from now",
              {.momentary = true}},
             {"--all-of",
              filled(options->allOf, "HOST", "a host"),
              "Hand over every election that a replica on this host leads, to replicas on other hosts",
              {.excludes = {"--to", "--at", "--cancel"}, .momentary = true}},
             {"--wait", flag(options->wait), "Wait for the successor, and say who and how soon", {.momentary = true}},
             {"--cancel",
              flag(options->cancel),
              "Take back the request that stands",
              {.excludes = {"--to", "--at", "--wait"}, .momentary = true}},
             {"--limit",
              duration(options->limit),
              "Time until the leader has to begin, from --at on, and that --wait waits",
              {}}}},
           {"Election", options->election.rows()}},
      .help = handoverHelp,
      .examples = handoverExamples,
      .act = [options] { return handOver(*options); }};
}

}  // namespace tenure::cli
