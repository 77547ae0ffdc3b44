/// Replicas that kill themselves right before and right after every step of the pipeline, one after the other, while
/// the next in line takes over: nothing is lost, doubled or swapped, and the log says the truth.
///
/// TENURE_KILLS is how many kills each test takes; without it a number that CI has time for.
#include "programs/kill_switch.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <cstdlib>
#include <fstream>
#include <list>
#include <set>
#include <vector>

#include "chaos/storage.hpp"
#include "history/check.hpp"
#include "programs/ends.hpp"
#include "support/ensemble.hpp"

namespace tenure::test {
namespace {

using chaos::StorageKind;
using namespace std::chrono_literals;
using testing::IsEmpty;

constexpr std::size_t inLine = 3;
constexpr const char* election = "orders";

/// One replica's end: where, and what it takes to come there.
struct Point {
  std::string name;
  int occurrence;
  Program::Arguments words;
};

/// For a step that comes once in a while, or once.
Program::Arguments wordsFor(std::string_view step) {
  if (step == "resolve") return {"lose=2"};
  if (step == "prune") return {"hurry=1"};
  if (step == "detach" || step == "release") return {"leave=10"};
  return {};
}

/// Every point the first time it comes, then every one the third time, and so on.
class Plan {
 public:
  explicit Plan(bool numbered) {
    if (numbered) steps_.insert(steps_.end(), numberSteps.begin(), numberSteps.end());
    steps_.insert(steps_.end(), pipelineSteps.begin(), pipelineSteps.end());
  }

  Point next() {
    static constexpr std::array occurrences{1, 3, 9, 2, 20};
    const std::size_t points = 2 * steps_.size();
    const std::size_t place = next_ % points;
    const std::size_t round = next_++ / points;
    const std::string_view step = steps_[place / 2];
    const std::string when = place % 2 == 0 ? "before " : "after ";
    Program::Arguments words = wordsFor(step);
    const int occurrence = words.empty() ? occurrences[round % occurrences.size()] : 1;
    words.push_back("otherwise=" + std::to_string(words.empty() ? 600 : 200'000));
    return {when + std::string(step), occurrence, std::move(words)};
  }

 private:
  std::vector<std::string_view> steps_;
  std::size_t next_ = 0;
};

std::unique_ptr<IDatabaseAdmin> adminOf(const chaos::IStorage& storage) {
  std::vector<std::string> words = storage.wordsForProducer();
  std::vector<char*> pointers{words.front().data()};  // a program's name comes first
  for (std::string& word : words) pointers.push_back(word.data());
  const Arguments arguments(static_cast<int>(pointers.size()), pointers.data());
  if (arguments.text("file").empty()) return postgresql::openAdmin(postgresOptions(arguments));
  return sqlite::openAdmin(sqliteOptions(arguments));
}

class KillSwitchRun : public testing::Test {
 protected:
  static std::size_t killsOr(std::size_t usual) {
    const char* asked = std::getenv("TENURE_KILLS");
    return asked != nullptr ? std::strtoul(asked, nullptr, 10) : usual;
  }

  /// What the messages have besides.
  enum class With { nothing, numbers, times };

  void killAll(StorageKind kind, int lanes, std::size_t kills, With with = With::nothing) {
    storage_ = chaos::makeStorage(kind, folder_.path(), folder_ / "page");
    lanes_ = lanes;
    with_ = with;
    Program producer = produce();
    Plan plan(with == With::numbers);
    std::list<Program> line;
    const auto limit = std::chrono::steady_clock::now() + 9min;
    for (std::size_t killed = 0; killed < kills && std::chrono::steady_clock::now() < limit;) {
      while (line.size() < inLine) line.push_back(start(plan.next()));
      killed += removeTheDead(line);
      pauseBetweenLooks();
    }
    producer.signal(SIGTERM);
    ASSERT_TRUE(producer.waitForEnd());
    line.clear();
    Program last = start({"", 1, {}});
    EXPECT_TRUE(last.waitForOutput(" inaugurated ")) << last.output();
    const auto effects = [&] { return storage_->ledger().size(); };
    EXPECT_TRUE(eventuallyWhileItMoves([&] { return storage_->isEmpty(); }, effects)) << last.output();
    const std::size_t rows = rowsExpected();  // some may wait for their turn in the store
    EXPECT_TRUE(eventuallyWhileItMoves([&] { return effects() >= rows; }, effects)) << last.output();
    last.signal(SIGTERM);
    const auto ending = last.waitForEnd();
    EXPECT_TRUE(ending && ending->exitCode == 0) << last.output();
    EXPECT_GE(diary().size(), kills);
  }

  void expectThatPromisesWereKept() {
    const std::vector<history::Row> ledger = storage_->ledger();
    std::vector<history::ProcessHistory> histories = readHistories();
    const std::set<std::string> published = idsPublishedIn(histories);
    histories.push_back(settledWithoutARow(published));
    const history::Report report = history::check(histories, ledger);
    for (const history::Complaint& complaint : report.complaints)
      ADD_FAILURE() << toString(complaint.rule) << ": " << complaint.text;
    EXPECT_GT(report.confirmed, 100U);
    EXPECT_EQ(dead_, endingIn(published, "13"));
    expectThatTheLogIsTrue(ledger);
    std::printf("%zu kills at %zu points, %zu terms, %zu messages\n", diary().size(), pointsReached().size(),
                report.terms, report.published);
  }

  /// Where replicas have died.
  std::set<std::string> pointsReached() const {
    const auto lines = diary();
    return {lines.begin(), lines.end()};
  }

 private:
  Program start(const Point& point) {
    const std::string id = "replica-" + std::to_string(++started_);
    Program::Arguments words{TENURE_BINARY_DIR "/test_programs/killed_replica",
                             "hosts=" + Ensemble::shared().hosts(),
                             "election=" + election_,
                             "id=" + id,
                             "history=" + (folder_ / (id + ".history")).string(),
                             "diary=" + (folder_ / "diary").string(),
                             "kill=" + point.name,
                             "at=" + std::to_string(point.occurrence),
                             "lanes=" + std::to_string(lanes_),
                             "numbers=" + std::to_string(with_ == With::numbers ? 1 : 0)};
    const Program::Arguments where = storage_->wordsForProducer();
    words.insert(words.end(), where.begin(), where.end());
    words.insert(words.end(), point.words.begin(), point.words.end());
    // With lanes the consumer would use the one connection that they share from two threads.
    if (started_ % 2 == 0 && lanes_ == 0) words.emplace_back("acks=after");
    return Program(words, folder_ / (id + ".log"));
  }

  Program produce() {
    Program::Arguments words{TENURE_BINARY_DIR "/test_programs/chaos_producer", "election=" + election_,
                             "history=" + (folder_ / "producer.history").string(), "seed=7", "per-second=1000"};
    if (with_ == With::numbers) words.insert(words.end(), {"shuffled=1", "groups=3"});
    if (with_ == With::times) words.emplace_back("delay=40");
    const Program::Arguments where = storage_->wordsForProducer();
    words.insert(words.end(), where.begin(), where.end());
    return Program(words, folder_ / "producer.log");
  }

  static std::size_t removeTheDead(std::list<Program>& line) {
    return static_cast<std::size_t>(std::erase_if(line, [](Program& replica) {
      const auto ending = replica.waitForEnd(0ms);
      if (!ending) return false;
      EXPECT_EQ(ending->signal, SIGKILL) << replica.output();
      return true;
    }));
  }

  std::vector<std::string> diary() const {
    std::vector<std::string> lines;
    std::ifstream file(folder_ / "diary");
    for (std::string line; std::getline(file, line);) lines.push_back(line);
    return lines;
  }

  std::vector<history::ProcessHistory> readHistories() const {
    std::vector<history::ProcessHistory> histories;
    for (const auto& entry : std::filesystem::directory_iterator(folder_.path()))
      if (entry.path().extension() == ".history") histories.push_back(history::readHistory(entry.path()).value());
    return histories;
  }

  static std::set<std::string> idsPublishedIn(const std::vector<history::ProcessHistory>& histories) {
    std::set<std::string> ids;
    for (const history::ProcessHistory& each : histories)
      for (const history::Line& line : each.lines)
        if (line.op == history::Op::publish && line.stage == history::Stage::ok) ids.insert(line.id);
    return ids;
  }

  static std::set<std::string> endingIn(const std::set<std::string>& ids, const std::string& end) {
    std::set<std::string> found;
    for (const std::string& id : ids)
      if (id.ends_with(end)) found.insert(id);
    return found;
  }

  std::size_t rowsExpected() const {
    const std::set<std::string> published =
        idsPublishedIn({history::readHistory(folder_ / "producer.history").value()});
    return published.size() - endingIn(published, "13").size() - endingIn(published, "26").size();
  }

  /// A replica that died after the commit has told nobody of its dead letters; the store has them.
  history::ProcessHistory settledWithoutARow(const std::set<std::string>& published) {
    for (const DeadLetter& letter : adminOf(*storage_)->deadLetters(100'000).value())
      dead_.insert(letter.message.id.value);
    history::ProcessHistory story{.name = "store", .lines = {}};
    std::set<std::string> settled = endingIn(published, "26");
    settled.insert(dead_.begin(), dead_.end());
    for (const std::string& id : settled) {
      history::Line line;
      line.op = history::Op::dead;
      line.id = id;
      story.lines.push_back(line);
    }
    return story;
  }

  /// It has a success for each row of the ledger, and for nothing else.
  void expectThatTheLogIsTrue(const std::vector<history::Row>& ledger) {
    std::multiset<std::string> rows;
    std::multiset<std::string> lines;
    for (const history::Row& row : ledger) rows.insert(row.id);
    const auto logged = adminOf(*storage_)->log({.end = AttemptEnd::done, .limit = 1'000'000}).value();
    for (const LogLine& line : logged) lines.insert(line.attempt.message.value);
    EXPECT_EQ(rows, lines);
  }

  TemporaryFolder folder_;
  std::unique_ptr<chaos::IStorage> storage_;
  const std::string election_ = std::string(election) + "-" + folder_.path().filename().string();
  int lanes_ = 0;
  With with_ = With::nothing;
  int started_ = 0;
  std::set<std::string> dead_;
};

/// All that a run of two hundred has to come to; fewer kills come to fewer of them.
std::set<std::string> allPoints() {
  std::set<std::string> points;
  for (const std::string_view step : pipelineSteps)
    for (const char* when : {"before ", "after "}) points.insert(when + std::string(step));
  return points;
}

// shows: S2, proof/kill-switch-loses
TEST_F(KillSwitchRun, BeforeAndAfterEveryStepNothingIsLostDoubledOrSwapped) {
  const std::size_t kills = killsOr(200);

  killAll(StorageKind::sqlite, 0, kills);

  expectThatPromisesWereKept();
  if (kills >= 200) {
    std::set<std::string> missed = allPoints();
    for (const std::string& reached : pointsReached()) missed.erase(reached);
    EXPECT_THAT(missed, IsEmpty());
  }
}

// shows: S3, proof/kill-switch-loses
TEST_F(KillSwitchRun, WithLanesTheSame) {
  killAll(StorageKind::sqlite, 3, killsOr(20));

  expectThatPromisesWereKept();
}

TEST_F(KillSwitchRun, WithNumbersThatComeInAnyOrderTheSame) {
  killAll(StorageKind::sqlite, 0, killsOr(30), With::numbers);

  expectThatPromisesWereKept();
}

// shows: scheduled/nothing-lost-doubled
TEST_F(KillSwitchRun, WithMessagesThatWaitForTheirTimeTheSame) {
  killAll(StorageKind::sqlite, 0, killsOr(20), With::times);

  expectThatPromisesWereKept();
}

// shows: scheduled/nothing-lost-doubled
TEST_F(KillSwitchRun, OnPostgresqlWithLanesAndMessagesThatWaitTheSame) {
  killAll(StorageKind::postgresql, 2, killsOr(20), With::times);

  expectThatPromisesWereKept();
}

// shows: proof/kill-switch-loses
TEST_F(KillSwitchRun, OnPostgresqlTheSame) {
  killAll(StorageKind::postgresql, 0, killsOr(20));

  expectThatPromisesWereKept();
}

TEST_F(KillSwitchRun, OnPostgresqlWithLanesTheSame) {
  killAll(StorageKind::postgresql, 3, killsOr(20));

  expectThatPromisesWereKept();
}

}  // namespace
}  // namespace tenure::test
