#include <pwd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <iostream>

#include "base/text.hpp"
#include "cli/commands/commands.hpp"
#include "cli/commands/ensemble_session.hpp"
#include "cli/input/time_options.hpp"
#include "cli/options/options.hpp"
#include "cli/output/state_pages.hpp"
#include "election/outside/view.hpp"
#include "process/process_identity.hpp"

namespace tenure::cli {
namespace {

struct PauseOptions {
  ElectionOption election;
  std::string by;
  std::string why;
  std::string until;
  bool wait = false;
  std::chrono::milliseconds limit{30'000};
};

constexpr const char* pauseHelp =
    R"help(Nothing new begins in the election: no message, no publication of a relay, no start of a command.
What has begun is finished, the leader stays, messages may be sent and wait. It holds for
each leader until `tenure resume` or the time of --until, also after a restart or a failover; a
newer pause replaces it. `tenure status` and `tenure queue stats --zookeeper` show it.

With --wait it returns when the leader has nothing in hand any more: you may then work on the
consumer's database. A command of `tenure run` that runs is in hand until it ends. Under at most
once a message has begun once it is taken from the queue.

Exit code 1: no such election, or with --wait the leader has something in hand when --limit is over,
or the election was resumed meanwhile. The pause stands then, unless it was resumed.
)help";

constexpr const char* pauseExamples =
    R"help(tenure pause --zookeeper 127.0.0.1:2181 --election orders --why 'moves the database' --wait
tenure pause --zookeeper 127.0.0.1:2181 --election orders --until +30m)help";

constexpr const char* resumeHelp =
    R"help(Ends a pause of `tenure pause`: the leader goes on within about a second. A consumer that stopped by
itself, at too many dead letters in a row, is resumed by `tenure queue resume`.

Exit code 1: the election is not paused.
)help";

constexpr const char* resumeExamples = "tenure resume --zookeeper 127.0.0.1:2181 --election orders";

std::string whoPauses() {
  std::array<char, 4096> text{};
  passwd entry{};
  passwd* found = nullptr;
  const bool isKnown = getpwuid_r(geteuid(), &entry, text.data(), text.size(), &found) == 0 && found != nullptr;
  return (isKnown ? std::string(found->pw_name) : std::to_string(geteuid())) + "@" + thisProcess().host;
}

Value atMost500(std::string& value, std::string type) {
  const auto take = [&value](const std::string& given) {
    value = given;
    return given.size() <= 500;
  };
  return parsed(std::move(type), "text of up to 500 bytes", take);
}

Exit noSuchElection(const ElectionAddress& address) {
  complain("nobody has ever entered the election " + address.path());
  return Exit::no;
}

/// Pauses and resumes one election.
class Pausing {
 public:
  Pausing(EnsembleSession& session, const ElectionAddress& address)
      : session_(session), address_(address), paths_(address.root, address.election) {}

  Exit pause(const PauseOptions& options, WallTime until, WallTime now) {
    const Result<ElectionView> view = session_.view(paths_);
    if (!view && view.error().is(Errc::notFound)) return noSuchElection(address_);
    if (!view) return refuse("", view.error());
    Pause pause{options.by.empty() ? whoPauses() : options.by, options.why, now, until};
    // Pauses are told apart by their beginning.
    if (view->pause) pause.since = std::max(now, view->pause->since + std::chrono::milliseconds{1});
    const BootTime deadline = BootClock::now() + options.limit;
    const auto written = write(pause);
    if (!written) return refuse("", written.error());
    std::cout << "paused " << pauseText(pause, false) << std::endl;
    if (const Pause* before = view->pauseAt(now))
      std::cout << "this replaces the pause " << pauseText(*before, false) << std::endl;
    return options.wait ? awaitRest(pause, deadline) : Exit::done;
  }

  Exit resume(WallTime now) {
    const Result<ElectionView> view = session_.view(paths_);
    if (!view && view.error().is(Errc::notFound)) return noSuchElection(address_);
    if (!view) return refuse("", view.error());
    if (!view->pause) return no("the election is not paused");
    // Also where its time has passed: the leader's clock may not have come to it.
    const auto written = write(std::nullopt);
    if (!written) return refuse("", written.error());
    const Pause* pause = view->pauseAt(now);
    if (pause == nullptr) return no("the election is not paused: the time of the last pause has passed");
    std::cout << "resumed; it was paused " << pauseText(*pause, false) << std::endl;
    return Exit::done;
  }

 private:
  Result<NodeStat> write(const std::optional<Pause>& pause) {
    return session_.ask<NodeStat>([&](ICoordination& coordination, Callback<NodeStat> done) {
      writePause(coordination, paths_, pause, std::move(done));
    });
  }

  /// Watches on the pause, the marker and the leader's candidacy tell when to look again.
  Exit awaitRest(const Pause& pause, BootTime deadline) {
    std::string leads;
    while (true) {
      const auto changed = std::make_shared<bool>(false);
      std::vector<std::string> watched{paths_.pause, paths_.marker};
      if (!leads.empty()) watched.push_back(paths_.candidate(leads));
      for (const std::string& path : watched)
        if (const auto seen = session_.watch(path, changed); !seen && !seen.error().is(Errc::notFound))
          return refuse("", seen.error());
      const Result<ElectionView> view = session_.view(paths_);
      if (!view) return refuse("", view.error());
      if (pause.isOver(systemClock().wallNow())) return no("the pause is over: its time has passed");
      if (!view->pause || view->pause->since != pause.since) return no("the election was resumed, or paused anew");
      const CandidateView* leader = view->leader();
      const MarkerRecord& last = view->marker;
      const bool nobodyRuns = leader == nullptr && last.known && (!last.busy || last.nothingRuns);
      if (nobodyRuns || view->isAtRest()) return tellRest(leader);
      const std::string before = std::exchange(leads, leader != nullptr ? leader->znode : "");
      if (before != leads) continue;
      const auto hasChanged = [&] { return *changed; };
      if (!session_.runUntil(hasChanged, std::min(deadline, endOf(pause))) && BootClock::now() >= deadline)
        return no(leader == nullptr ? "nobody leads, and the last leader may still have something in hand"
                                    : "the leader still has something in hand; the pause stands");
    }
  }

  /// By this host's calendar clock.
  static BootTime endOf(const Pause& pause) {
    if (pause.until == WallTime{}) return BootTime::max();
    return BootClock::now() + std::chrono::milliseconds{1} + (pause.until - systemClock().wallNow());
  }

  static Exit tellRest(const CandidateView* leader) {
    std::cout << (leader == nullptr ? "nobody leads" : escaped(leader->record.id.value) + " leads")
              << ", and nothing is in hand" << std::endl;
    return Exit::done;
  }

  static Exit no(const std::string& why) {
    complain(why);
    return Exit::no;
  }

  EnsembleSession& session_;
  const ElectionAddress& address_;
  const ElectionPaths paths_;
};

Exit with(const ElectionOption& election, const std::function<Exit(Pausing&)>& act) {
  const auto address = parse(election);
  if (!address) return refuse("", address.error());
  const auto session = EnsembleSession::connect(address->zookeeper);
  if (!session) return refuse("--zookeeper", session.error());
  Pausing pausing(**session, *address);
  return act(pausing);
}

Exit pause(const PauseOptions& options) {
  const WallTime now = systemClock().wallNow();
  const Result<WallTime> until = options.until.empty() ? WallTime{} : timeAhead(options.until, now);
  if (!until) return refuse("--until", until.error());
  return with(options.election, [&](Pausing& pausing) { return pausing.pause(options, *until, now); });
}

}  // namespace

Command pauseCommand() {
  auto options = std::make_shared<PauseOptions>();
  return {
      .name = "pause",
      .about = "Let nothing new begin; the leader stays",
      .groups =
          {{"Pause",
            {{"--why", atMost500(options->why, "TEXT"), "Why, for those who look", {.momentary = true}},
             {"--by", atMost500(options->by, "NAME"), "Who; user and host where it is not given", {.momentary = true}},
             {"--until",
              filled(options->until, "TIME", "a time"),
              "When it ends by itself: 2026-05-04T09:12:33Z, or +30m from now",
              {.momentary = true}},
             {"--wait", flag(options->wait), "Wait until nothing is in hand any more", {.momentary = true}},
             {"--limit", duration(options->limit), "How long --wait waits", {}}}},
           {"Election", options->election.rows()}},
      .help = pauseHelp,
      .examples = pauseExamples,
      .act = [options] { return pause(*options); }};
}

Command resumeElectionCommand() {
  auto election = std::make_shared<ElectionOption>();
  return {.name = "resume",
          .about = "End a pause",
          .groups = {{"Election", election->rows()}},
          .help = resumeHelp,
          .examples = resumeExamples,
          .act = [election] {
            return with(*election, [](Pausing& pausing) { return pausing.resume(systemClock().wallNow()); });
          }};
}

}  // namespace tenure::cli
