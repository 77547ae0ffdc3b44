/// Replicas of a relay that kill themselves right before and right after every step, while the next in line takes over:
/// each message comes to the target, and of each group the first copies are in its order.
///
/// TENURE_KILLS is how many kills each test takes; without it a number that CI has time for.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <list>
#include <map>
#include <set>

#include "process/tool/wiring/places.hpp"
#include "programs/kill_switch.hpp"
#include "support/ensemble.hpp"
#include "tenure/open.hpp"
#include "tenure/postgresql.hpp"
#include "tenure/sqlite.hpp"

namespace tenure::test {
namespace {

using namespace std::chrono_literals;

constexpr int eachTime = 100;  // messages that come as a replica starts
constexpr int killGroups = 8;
constexpr std::size_t inLine = 3;

/// The steps that a relay takes: it keeps no keys, and reads nothing back.
constexpr std::array<std::string_view, 14> relaySteps{
    "claim",         "recall", "attach",      "fetch", "begin",       "publish", "record",
    "clear_attempt", "commit", "record_work", "tend",  "acknowledge", "detach",  "release"};

class RelayKills : public testing::TestWithParam<const char*> {
 protected:
  RelayKills() {
    if (std::string(GetParam()) != "sqlite") place_ = std::make_unique<PostgresPlace>();
    from_ = place_ ? with(place_->url(), "queue=outbox") : "sqlite:" + (folder_ / "from.db").string();
    if (isTable()) from_ = with(place_->url(), "table=" + place_->world().role() + ".outbox");
    to_ = "sqlite:" + (folder_ / "to.db").string();
  }
  static bool isTable() { return std::string(GetParam()) == "table"; }
  static std::size_t kills() {
    const char* asked = std::getenv("TENURE_KILLS");
    return asked != nullptr ? std::strtoul(asked, nullptr, 10) : 2 * relaySteps.size();
  }

  std::unique_ptr<IPlace> open(const std::string& url) const {
    return tenure::open(url, {sqlite::component(), postgresql::component()}).value();
  }
  /// A replica that starts finds some to publish, so that it comes to every step.
  void produceMore() {
    const int first = produced_ + 1;
    produced_ += eachTime;
    if (isTable()) return insert(first);
    std::vector<NewMessage> all;
    for (int i = first; i <= produced_; ++i)
      all.push_back(
          {MessageId{"m-" + std::to_string(i)}, GroupId{"g" + std::to_string(i % killGroups)}, std::to_string(i), {}});
    open(from_)->sink().value()->append(all).value();
  }
  void insert(int first) {
    const std::string schema = place_->world().role();
    const std::string made = first == 1 ? postgresql::outboxSql(schema + ".outbox").value() : "";
    place_->world().ask("SET ROLE " + schema + "; SET search_path = " + schema + "; " + made +
                        "INSERT INTO outbox(id, group_key, body) SELECT 'm-' || n, 'g' || n % " +
                        std::to_string(killGroups) + ", n::text FROM generate_series(" + std::to_string(first) + ", " +
                        std::to_string(produced_) + ") AS n");
  }
  Program start(const std::string& point, int occurrence) {
    const std::string id = "replica-" + std::to_string(++started_);
    Program::Arguments words{TENURE_BINARY_DIR "/test_programs/relay_replica",
                             "hosts=" + Ensemble::shared().hosts(),
                             "election=relay-" + folder_.path().filename().string(),
                             "id=" + id,
                             "from=" + from_,
                             "to=" + to_,
                             "diary=" + (folder_ / "diary").string(),
                             "kill=" + point,
                             "at=" + std::to_string(occurrence),
                             "lanes=3"};
    const bool isLast = point.ends_with("detach") || point.ends_with("release");
    if (isLast) words.emplace_back("leave=5");
    if (!point.empty() && !isLast) words.emplace_back("otherwise=400");
    return {words, folder_ / (id + ".log")};
  }
  std::vector<std::string> diary() const {
    std::ifstream file(folder_ / "diary");
    std::vector<std::string> lines;
    for (std::string line; std::getline(file, line);) lines.push_back(line);
    return lines;
  }
  /// One after the other, with the next ones in line.
  void killAtEveryStep() {
    std::list<Program> line;
    std::size_t next = 0;
    while (diary().size() < kills()) {
      while (line.size() < inLine) {
        const std::size_t place = next++ % (2 * relaySteps.size());
        produceMore();
        const std::string when = place % 2 == 0 ? "before " : "after ";
        const int time = 1 + static_cast<int>((next - 1) / (2 * relaySteps.size()));
        line.push_back(start(when + std::string(relaySteps[place / 2]), time));
      }
      std::erase_if(line, [](Program& replica) { return replica.waitForEnd(0ms).has_value(); });
      pauseBetweenLooks();
    }
  }
  std::vector<Message> received() const {
    std::vector<Message> all;
    open(to_)->queueAdmin().value()->peek(1'000'000, [&](const Message& message) { all.push_back(message); }).value();
    return all;
  }

  TemporaryFolder folder_;
  std::unique_ptr<PostgresPlace> place_;
  std::string from_;
  std::string to_;
  int started_ = 0;
  int produced_ = 0;
};

INSTANTIATE_TEST_SUITE_P(From, RelayKills, testing::Values("sqlite", "postgresql", "table"),
                         [](const auto& each) { return std::string(each.param); });

// shows: outbox/relay-dies-before
TEST_P(RelayKills, AtEveryStepLoseNothingAndKeepEachGroupsOrder) {
  killAtEveryStep();

  Program last = start("", 1);
  const auto waiting = [&] { return open(from_)->queueAdmin().value()->stats().value().waiting; };
  EXPECT_TRUE(eventuallyWhileItMoves([&] { return waiting() == 0; }, waiting)) << last.output();
  last.signal(SIGTERM);
  const auto ending = last.waitForEnd();
  EXPECT_TRUE(ending && ending->exitCode == 0) << last.output();

  std::set<std::string> known;
  std::map<std::string, int> lastOf;
  for (const Message& message : received()) {
    if (!known.insert(message.id.value).second) continue;
    int& before = lastOf[message.group.value];
    EXPECT_LT(before, std::stoi(message.body)) << "of group " << message.group.value;
    before = std::stoi(message.body);
  }
  EXPECT_EQ(known.size(), static_cast<std::size_t>(produced_));
  const std::vector<std::string> deaths = diary();
  std::printf("%zu kills at %zu points\n", deaths.size(), std::set(deaths.begin(), deaths.end()).size());
}

}  // namespace
}  // namespace tenure::test
