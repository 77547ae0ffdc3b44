// What faults cost, reckoned from a history.
#include "history/downtime.hpp"

#include "story.hpp"

namespace tenure::history {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

void commitAt(Story& run, std::chrono::milliseconds at, std::int64_t token) {
  run.say(1, token, Stage::ok, Op::commit).at = std::chrono::nanoseconds{at}.count();
}
void strikeAt(Story& run, std::chrono::milliseconds at, const std::string& kind) {
  run.say(0, 0, Stage::invoke, Op::fault, {}, kind).at = std::chrono::nanoseconds{at}.count();
}

TEST(Downtime, RunsFromTheFaultToTheFirstCommitOfTheNextTerm) {
  Story run;
  commitAt(run, 100ms, 10);
  strikeAt(run, 200ms, "kill");
  commitAt(run, 250ms, 10);  // what was under way
  commitAt(run, 900ms, 20);
  commitAt(run, 950ms, 20);
  const auto kinds = downtimeByKind(run.histories);
  EXPECT_THAT(kinds.at("kill").untilNextTerm, ElementsAre(700ms));
  EXPECT_EQ(kinds.at("kill").longestPause, 650ms);
}

TEST(Downtime, AFaultThatChangesNoTermHasNone) {
  Story run;
  commitAt(run, 100ms, 10);
  strikeAt(run, 200ms, "kill_standby");
  commitAt(run, 300ms, 10);
  strikeAt(run, 400ms, "kill");
  commitAt(run, 900ms, 20);
  const auto kinds = downtimeByKind(run.histories);
  EXPECT_THAT(kinds.at("kill_standby").untilNextTerm, IsEmpty());
  EXPECT_THAT(kinds.at("kill").untilNextTerm, ElementsAre(500ms));
}

TEST(Downtime, PercentilesAreValuesThatOccurred) {
  EXPECT_EQ(percentile({1ms, 2ms, 3ms}, 0.5), 2ms);
  EXPECT_EQ(percentile({1ms, 2ms, 3ms}, 0.99), 3ms);
  EXPECT_EQ(percentile({}, 0.5), 0ms);
}

TEST(Downtime, TheTableHasALineForEachKindAndOneForAll) {
  Story run;
  strikeAt(run, 200ms, "kill");
  commitAt(run, 900ms, 20);
  EXPECT_THAT(downtimeTable(downtimeByKind(run.histories)),
              testing::AllOf(HasSubstr("kill "), HasSubstr("all "), HasSubstr("700 ms")));
}

}  // namespace
}  // namespace tenure::history
