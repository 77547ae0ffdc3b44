/// What a warm standby saves: two replicas whose career needs something loaded before it can work, handing the
/// leadership to and fro on a real three-server ensemble. Cold, it is loaded in the inauguration; warm, in `prepare`,
/// while the other one still leads.
///
///   standby [--handovers N] [--load-ms N]
///
/// The gap is from the last step under the old term to the first under the new one. Exits non-zero when the leadership
/// did not change hands as often as asked, or two terms worked at once.
#include <algorithm>
#include <cstdio>
#include <deque>
#include <mutex>
#include <optional>
#include <thread>

#include "base/random.hpp"
#include "bench/help.hpp"
#include "support/ensemble.hpp"
#include "tenure/candidate.hpp"

namespace {

using namespace tenure;
using namespace std::chrono_literals;

struct Step {
  BootTime at{};
  FencingToken term;
};

/// What both replicas do, in the order in which they did it.
class Journal {
 public:
  void worked(const Term& term) {
    const std::lock_guard lock(mutex_);
    if (steps_.empty() || steps_.back().second.term != term.token()) {
      steps_.push_back({{BootClock::now(), term.token()}, {BootClock::now(), term.token()}});
    } else {
      steps_.back().second.at = BootClock::now();
    }
  }
  std::size_t terms() const {
    const std::lock_guard lock(mutex_);
    return steps_.size();
  }
  /// The gaps between terms, in milliseconds; nothing when an older term worked after a newer one.
  std::optional<std::vector<double>> gaps() const {
    const std::lock_guard lock(mutex_);
    std::vector<double> gaps;
    for (std::size_t i = 1; i < steps_.size(); ++i) {
      if (steps_[i].first.term < steps_[i - 1].first.term) return std::nullopt;
      gaps.push_back(std::chrono::duration<double, std::milli>(steps_[i].first.at - steps_[i - 1].second.at).count());
    }
    std::sort(gaps.begin(), gaps.end());
    return gaps;
  }

 private:
  mutable std::mutex mutex_;
  std::deque<std::pair<Step, Step>> steps_;  // first and last of each term
};

/// Needs its tables before it works, and drops them when it leaves.
class Loading final : public ILeaderCareer {
 public:
  Loading(Journal& journal, Duration cost, bool warm) : journal_(journal), cost_(cost), warm_(warm) {}

  void prepare(const std::stop_token& stop) override {
    if (warm_) load(stop);
  }
  void inaugurate(const Term& term) override {
    if (!loaded_) load(term.stopToken());
  }
  bool execute(const Term& term) override {
    journal_.worked(term);
    systemClock().waitUntil(BootClock::now() + 200us, term.stopToken());
    return true;
  }
  void handOver(const Term&) override { loaded_ = false; }

 private:
  void load(const std::stop_token& stop) {
    systemClock().waitUntil(BootClock::now() + cost_, stop);
    loaded_ = !stop.stop_requested();
  }

  Journal& journal_;
  const Duration cost_;
  const bool warm_;
  bool loaded_ = false;
};

class Replica {
 public:
  Replica(Journal& journal, const std::string& election, Duration cost, bool warm)
      : career_(journal, cost, warm),
        candidate_(options(election), career_, noEvents()),
        thread_([this] { candidate_.run(); }) {}
  ~Replica() { candidate_.stop(); }
  void handOver() { candidate_.handOver(); }

 private:
  static CandidateOptions options(const std::string& election) {
    CandidateOptions options;
    options.zookeeper.hosts = test::Ensemble::shared().hosts();
    options.election = {election};
    return options;
  }

  Loading career_;
  Candidate candidate_;
  std::jthread thread_;
};

std::optional<std::vector<double>> measure(int handovers, Duration cost, bool warm) {
  Journal journal;
  {
    const std::string election = "e" + freshUuid();
    Replica one(journal, election, cost, warm);
    Replica other(journal, election, cost, warm);
    for (int i = 0; i < handovers; ++i) {
      const std::size_t before = static_cast<std::size_t>(i) + 1;
      if (!test::eventually([&] { return journal.terms() >= before; })) return std::nullopt;
      // The standby takes its place, and a leader leads for longer than anything takes to load.
      systemClock().waitUntil(BootClock::now() + 150ms + 2 * cost, {});
      one.handOver();
      other.handOver();
    }
    test::eventually([&] { return journal.terms() > static_cast<std::size_t>(handovers); });
  }
  return journal.gaps();
}

bool report(const char* scenario, const std::optional<std::vector<double>>& gaps, int asked) {
  if (!gaps || gaps->size() < static_cast<std::size_t>(asked)) {
    std::printf("%-8s the leadership did not change hands as it should\n", scenario);
    return false;
  }
  std::printf("%-8s %4zu %9.2f %9.2f %9.2f\n", scenario, gaps->size(), gaps->front(), (*gaps)[gaps->size() / 2],
              gaps->back());
  return true;
}

int number(int argc, char** argv, const std::string& option, int otherwise) {
  for (int i = 1; i + 1 < argc; ++i)
    if (argv[i] == option) return std::stoi(argv[i + 1]);
  return otherwise;
}

constexpr const char* helpPage =
    R"(standby - what a warm standby saves at a handover, on three ZooKeeper servers of its own

usage: standby [--handovers N] [--load-ms N]

  --handovers N   of each kind (30)
  --load-ms N     what the career takes to load, in milliseconds (50))";

}  // namespace

int main(int argc, char** argv) {
  tenure::bench::helpIfAsked(argc, argv, helpPage);
  const int handovers = number(argc, argv, "--handovers", 30);
  const std::chrono::milliseconds cost{number(argc, argv, "--load-ms", 50)};
  std::printf("handovers of a career that takes %lld ms to load, gap in ms\n", static_cast<long long>(cost.count()));
  std::printf("%-8s %4s %9s %9s %9s\n", "standby", "n", "min", "median", "max");
  const bool cold = report("cold", measure(handovers, cost, false), handovers);
  const bool warm = report("warm", measure(handovers, cost, true), handovers);
  return cold && warm ? 0 : 1;
}
