/// A service that kills itself right before and right after each step of its producer, its spool and the drain, and is
/// started again: what was accepted as spooled or stored comes to the queue, and of each group the first copies are in
/// the order of their sends.
///
/// TENURE_KILLS is how many kills each test takes; without it a number that CI has time for.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <map>
#include <set>
#include <tuple>

#include "process/tool/wiring/places.hpp"
#include "programs/kill_switch.hpp"
#include "tenure/open.hpp"
#include "tenure/postgresql.hpp"
#include "tenure/spi/spool.hpp"
#include "tenure/sqlite.hpp"

namespace tenure::test {
namespace {

using namespace std::chrono_literals;

constexpr std::array<std::string_view, 7> producerSteps{"open", "send", "publish", "spool", "read", "settle", "close"};

class ProducerKills : public testing::TestWithParam<const char*> {
 protected:
  ProducerKills() {
    if (std::string(GetParam()) == "postgresql") place_ = std::make_unique<PostgresPlace>();
    to_ = place_ ? with(place_->url(), "queue=bills") : "sqlite:" + (folder_ / "to.db").string();
  }
  static std::size_t kills() {
    const char* asked = std::getenv("TENURE_KILLS");
    const std::size_t usual = std::string(GetParam()) == "sqlite" ? 100 : 2 * producerSteps.size();
    return asked != nullptr ? std::strtoul(asked, nullptr, 10) : usual;
  }

  Program start(const std::string& point, int occurrence) {
    const std::string life = std::to_string(1'000'000 + ++lives_);
    Program::Arguments words{TENURE_BINARY_DIR "/test_programs/producer_replica",
                             "to=" + to_,
                             "spool=" + (folder_ / "spool.db").string(),
                             "life=" + life,
                             "accepted=" + (folder_ / "accepted").string(),
                             "diary=" + (folder_ / "diary").string(),
                             "kill=" + point,
                             "at=" + std::to_string(occurrence)};
    if (point.ends_with("close")) words.emplace_back("messages=50");
    if (point.empty()) words.emplace_back("messages=0");
    return {words, folder_ / (life + ".log")};
  }
  std::vector<std::string> linesOf(const std::string& name) const {
    std::ifstream file(folder_ / name);
    std::vector<std::string> lines;
    for (std::string line; std::getline(file, line);) lines.push_back(line);
    return lines;
  }
  std::vector<Message> received() const {
    std::vector<Message> all;
    const auto place = tenure::open(to_, {sqlite::component(), postgresql::component()}).value();
    place->queueAdmin()
        .value()
        ->peek(10'000'000, [&](const Message& each) { return all.push_back(each), true; })
        .value();
    return all;
  }

  TemporaryFolder folder_;
  std::unique_ptr<PostgresPlace> place_;
  std::string to_;
  int lives_ = 0;
};

INSTANTIATE_TEST_SUITE_P(To, ProducerKills, testing::Values("sqlite", "postgresql"),
                         [](const auto& each) { return std::string(each.param); });

/// Life, and number within it: what is sent later is larger.
std::tuple<int, int> orderOf(const std::string& id) {
  return {std::stoi(id.substr(0, id.find('-'))), std::stoi(id.substr(id.rfind('-') + 1))};
}

// shows: S10
TEST_P(ProducerKills, AtEachStepLoseNothingThatWasAcceptedAndKeepEachGroupsOrder) {
  static constexpr std::array occurrences{1, 3, 9, 2, 20, 50};
  for (std::size_t killed = 0; killed < kills(); ++killed) {
    const std::size_t place = killed % (2 * producerSteps.size());
    const std::string step(producerSteps[place / 2]);
    const bool isOnce = step == "open" || step == "close";
    const int occurrence = isOnce ? 1 : occurrences[killed / (2 * producerSteps.size()) % occurrences.size()];
    Program service = start((place % 2 == 0 ? "before " : "after ") + step, occurrence);
    ASSERT_TRUE(service.waitForEnd()) << service.output();
  }
  Program last = start("", 1);
  const auto ending = last.waitForEnd();
  ASSERT_TRUE(ending && ending->exitCode == 0) << last.output();

  std::set<std::string> known;
  std::map<std::string, std::tuple<int, int>> lastOf;
  for (const Message& message : received()) {
    if (!known.insert(message.id.value).second) continue;
    auto& before = lastOf[message.group.value];
    EXPECT_LT(before, orderOf(message.id.value)) << message.id.value;
    before = orderOf(message.id.value);
  }
  const std::vector<std::string> accepted = linesOf("accepted");
  for (const std::string& id : accepted) EXPECT_TRUE(known.contains(id)) << id << " is lost";
  const std::vector<std::string> deaths = linesOf("diary");
  const std::set<std::string> points(deaths.begin(), deaths.end());
  EXPECT_EQ(points.size(), 2 * producerSteps.size());
  EXPECT_GT(accepted.size(), 100U);
  std::printf("%zu kills at %zu points, %zu messages accepted, %zu stored\n", deaths.size(), points.size(),
              accepted.size(), known.size());
}

}  // namespace
}  // namespace tenure::test
