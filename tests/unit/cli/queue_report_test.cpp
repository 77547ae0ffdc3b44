// What a queue's report says, whatever is in it.
#include "cli/output/queue_report.hpp"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

namespace tenure::cli {
namespace {

using namespace std::chrono_literals;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

const WallTime now{std::chrono::milliseconds{1'780'000'000'000}};

QueueReport twentyFive() {
  QueueReport report;
  report.queue.waiting = 25;
  report.store.emplace();
  return report;
}

TEST(QueueReport, AgesAreForPeople) {
  EXPECT_EQ(ageText(-5s), "0s");
  EXPECT_EQ(ageText(59'999ms), "59s");
  EXPECT_EQ(ageText(12min + 3s), "12m 3s");
  EXPECT_EQ(ageText(2h + 59s), "2h 0m");
  EXPECT_EQ(ageText(76h), "3d 4h");
}

TEST(QueueReport, ShowsTheFirstTenOfEachAndHowManyMoreThereAre) {
  QueueReport report = twentyFive();
  for (int i = 1; i <= 13; ++i) {
    const std::string number = std::to_string(i);
    report.store->postponed.push_back(
        {{"orders"},
         {.id = {"m-" + number},
          .lastError = "no \x1b stock",
          .firstAt = now,
          .lastAt = now,
          .postponements = {.times = 3, .since = parseWallTime("2026-05-04T09:12:33.000Z").value()}}});
    report.store->kept.push_back({{"orders"}, {"g"}, 7, 2, now - 1h});
  }

  const std::string text = reportText(report, now);

  EXPECT_THAT(text, AllOf(HasSubstr("postponed     13\n  m-1  3 times since 2026-05-04T09:12:33.000Z ("),
                          HasSubstr("  m-10  3 times"), Not(HasSubstr("m-11")), HasSubstr("  … and 3 more\n")));
  EXPECT_THAT(text, HasSubstr("kept          26 in 13 groups\n"));
  EXPECT_THAT(text, Not(HasSubstr("\x1b")));
  EXPECT_EQ(nlohmann::json::parse(reportJson(report, now))["postponed"].size(), 13U);
}

TEST(QueueReport, NamesTheConsumersThatHaveStopped) {
  QueueReport report = twentyFive();
  EXPECT_THAT(reportText(report, now), HasSubstr("stopped       0\n"));
  report.store->stopped.push_back({{"orders"},
                                   {.deaths = 20,
                                    .lastReason = "no \x1b stock",
                                    .firstAt = now - 1h,
                                    .lastAt = now,
                                    .state = DeadLetterStreakRecord::State::stopped}});

  EXPECT_THAT(
      reportText(report, now),
      AllOf(HasSubstr("stopped       1\n  stopped  consumer=orders  dead_letters=20  "), Not(HasSubstr("\x1b"))));
  const auto stopped = nlohmann::json::parse(reportJson(report, now))["stopped"];
  EXPECT_EQ(stopped[0]["consumer"], "orders");
  EXPECT_EQ(stopped[0]["state"], "stopped");
  EXPECT_EQ(stopped[0]["dead_letters"], 20);
}

TEST(QueueReport, SaysWhatIsInWorkAsFarAsThatIsOnRecord) {
  QueueReport report = twentyFive();
  EXPECT_THAT(reportText(report, now), HasSubstr("in work       0\n"));
  report.store->moreInWork = true;
  EXPECT_THAT(reportText(report, now), HasSubstr("in work       not known: "));
  report.store->inWork = {{"a"}, {"b"}};
  EXPECT_THAT(reportText(report, now), HasSubstr("in work       2 or more: a, b\n"));
}

}  // namespace
}  // namespace tenure::cli
