/// Many standbys of one election in one process, each with a session and an election of its own, and no career.
///
///   crowd hosts=H election=E count=N [session-ms=N]
///
/// Prints "crowd_stands" when all of them stand by, "woken" whenever the server tells one of them of a change, and
/// "elected" when one would have to lead, which none can. SIGTERM: all leave, one after another.
#include <signal.h>

#include <deque>
#include <iostream>

#include "coordination/zookeeper.hpp"
#include "programs/arguments.hpp"
#include "support/await.hpp"
#include "support/contender.hpp"
#include "support/forwarding_coordination.hpp"

namespace {

using namespace tenure;
using namespace tenure::test;

void say(const char* what) { std::cout << what << std::endl; }

/// Tells when a watch wakes its owner.
class Watched final : public ForwardingCoordination {
 public:
  using ForwardingCoordination::ForwardingCoordination;
  void get(std::string path, WatchCallback watch, Callback<Node> done) override {
    ForwardingCoordination::get(std::move(path), telling(std::move(watch)), std::move(done));
  }
  void children(std::string path, WatchCallback watch, Callback<std::vector<std::string>> done) override {
    ForwardingCoordination::children(std::move(path), telling(std::move(watch)), std::move(done));
  }
  void exists(std::string path, WatchCallback watch, Callback<NodeStat> done) override {
    ForwardingCoordination::exists(std::move(path), telling(std::move(watch)), std::move(done));
  }

 private:
  static WatchCallback telling(WatchCallback watch) {
    if (!watch) return watch;
    return [watch = std::move(watch)](WatchEvent event) {
      say("woken");
      watch(event);
    };
  }
};

class Standby {
 public:
  Standby(AsioLoop& loop, const ZooKeeperOptions& options, const ElectionName& election, int number)
      : zookeeper_(makeZooKeeper(loop, options).value()),
        watched_(std::make_unique<Watched>(*zookeeper_)),
        replica_(settingsOf(election, number), loop, *watched_) {
    replica_.election.start();
  }
  ~Standby() { zookeeper_.reset(); }

  bool stands() const { return replica_.count<StoodBy>() > 0; }
  bool leads() const { return !replica_.terms.empty(); }
  bool left() const { return replica_.left; }
  void leave() { replica_.election.leave(Resignation::clean); }

 private:
  static ElectionSettings settingsOf(const ElectionName& election, int number) {
    ElectionSettings settings = Contender::settingsOf("crowd-" + std::to_string(number), std::chrono::milliseconds{0});
    settings.election = election;
    return settings;
  }

  std::unique_ptr<ICoordination> zookeeper_;
  std::unique_ptr<Watched> watched_;
  Contender replica_;
};

volatile sig_atomic_t stopAsked = 0;

}  // namespace

int main(int argc, char** argv) {
  using namespace std::chrono_literals;
  const Arguments arguments(argc, argv);
  signal(SIGTERM, [](int) { stopAsked = 1; });
  ZooKeeperOptions options;
  options.hosts = arguments.text("hosts");
  options.sessionTimeout = std::chrono::milliseconds{arguments.number("session-ms", 30'000)};
  const ElectionName election{arguments.text("election")};

  ControlLoop control;
  std::deque<Standby> crowd;
  const auto all = [&](auto is) { return std::all_of(crowd.begin(), crowd.end(), is); };
  for (int i = 1; i <= arguments.number("count", 1); ++i) {
    crowd.emplace_back(control, options, election, i);
    if (i % 16 == 0) control.runUntil([&] { return all(std::mem_fn(&Standby::stands)); });
  }
  if (!control.runUntil([&] { return all(std::mem_fn(&Standby::stands)); })) return 69;
  say("crowd_stands");

  const auto oneLeads = [&] { return std::any_of(crowd.begin(), crowd.end(), std::mem_fn(&Standby::leads)); };
  control.runUntil([&] { return stopAsked != 0 || oneLeads(); }, 24h);
  if (oneLeads()) say("elected");
  for (auto standby = crowd.rbegin(); standby != crowd.rend(); ++standby) standby->leave();
  return control.runUntil([&] { return all(std::mem_fn(&Standby::left)); }) ? 0 : 1;
}
