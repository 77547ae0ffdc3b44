/// What a replica counts, and how it is written.
#include "http/metrics.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "http/series.hpp"
#include "support/program.hpp"
#include "support/terms.hpp"

namespace tenure::http {
namespace {

using namespace std::chrono_literals;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

class MetricsOfReplica : public testing::Test {
 protected:
  void tell(EventBody body, std::int64_t token = 7) {
    const Event event{WallTime{1h}, {"orders"}, {token}, std::move(body)};
    metrics.on(event);
    board.on(event);
  }
  std::string text(MetricsFormat format = MetricsFormat::prometheus) const { return metrics.text(format, board, {}); }
  std::string textOfLeader(MetricsFormat format = MetricsFormat::prometheus) const {
    return metrics.text(format, board, Term(*term), queue);
  }
  static std::string line(const std::string& name, const std::string& value, const std::string& label = {}) {
    return "\n" + name + "{election=\"orders\"" + (label.empty() ? "" : "," + label) + "} " + value + "\n";
  }
  /// What promtool finds amiss.
  std::string checked(const std::string& shown) {
    std::ofstream(folder / "metrics") << shown;
    test::Program promtool({"promtool", "check", "metrics"}, folder / "report", {}, folder / "metrics");
    const auto ending = promtool.waitForEnd();
    EXPECT_TRUE(ending && ending->exitCode == 0) << promtool.output();
    return promtool.output();
  }

  static QueueFigures figures() {
    const WallTime now = systemClock().wallNow();
    QueueStats queue;
    queue.waiting = 7;
    queue.deadLetters = 2;
    queue.retrying = 1;
    queue.oldest = now - 90s;
    return {.queue = queue, .scheduled = ScheduledStats{3, std::nullopt, 1'500ms, 4, now - 30s}};
  }

  test::TemporaryFolder folder;
  std::optional<QueueFigures> queue = figures();
  Metrics metrics{{"orders"}};
  StatusBoard board{{"orders"}, {"replica-a"}, 4711};
  test::TestTerm term{7};
};

TEST_F(MetricsOfReplica, EverySeriesIsThereFromTheStartAndThoseOfATermInATerm) {
  for (const Series& row : series()) {
    const std::string type = "# TYPE " + std::string(row.name) + " " + std::string(toString(row.kind)) + "\n";
    EXPECT_THAT(textOfLeader(), HasSubstr(type));
    if (row.ofTerm)
      EXPECT_THAT(text(), Not(HasSubstr(type))) << "absent, not 0";
    else
      EXPECT_THAT(text(), HasSubstr(type));
  }
  for (const char* label : {"outcome=\"dead\"", "outcome=\"committed\"", "reason=\"fenced\"", "phase=\"rest\""})
    EXPECT_THAT(text(), HasSubstr(label));
}

TEST_F(MetricsOfReplica, CountsWhatBecomesOfMessages) {
  tell(BatchCommitted{64, 900, 1'250us, 128});
  tell(BatchCommitted{1, 901, 50us, 128});
  tell(DuplicateDropped{"m-1"});
  tell(AttemptFailed{"m-2", 1, "no"});
  tell(MessageDeadLettered{"m-3", "no", 5});
  EXPECT_THAT(text(), AllOf(HasSubstr(line("tenure_messages_total", "65", "outcome=\"committed\"")),
                            HasSubstr(line("tenure_messages_total", "1", "outcome=\"duplicate\"")),
                            HasSubstr(line("tenure_messages_total", "1", "outcome=\"failed\"")),
                            HasSubstr(line("tenure_messages_total", "1", "outcome=\"dead\"")),
                            HasSubstr(line("tenure_batch_messages_count", "2")),
                            HasSubstr(line("tenure_batch_messages_bucket", "1", "le=\"1\"")),
                            HasSubstr(line("tenure_commit_seconds_count", "2"))));
}

TEST_F(MetricsOfReplica, CountsTermsByTheirEnd) {
  tell(TermEnded{EndReason::leaseLost, 1s, false});
  tell(CommitFenced{"newer"});
  EXPECT_THAT(text(), AllOf(HasSubstr(line("tenure_terms_total", "1", "reason=\"lease_lost\"")),
                            HasSubstr(line("tenure_terms_total", "0", "reason=\"handover_asked\"")),
                            HasSubstr(line("tenure_stale_commits_refused_total", "1"))));
}

TEST_F(MetricsOfReplica, FiguresOfTheTermAreGoneWhenItIsNoLongerValid) {
  EXPECT_THAT(textOfLeader(), AllOf(HasSubstr(line("tenure_leader", "1")), HasSubstr(line("tenure_term_token", "7")),
                                    HasSubstr("tenure_lease_remaining_seconds{")));
  term.loseLease();
  EXPECT_THAT(textOfLeader(), AllOf(HasSubstr(line("tenure_leader", "0")), Not(HasSubstr("tenure_term_token")),
                                    Not(HasSubstr("tenure_lease_remaining_seconds"))));
}

TEST_F(MetricsOfReplica, ShowsWhatTheQueueTells) {
  EXPECT_THAT(textOfLeader(),
              AllOf(HasSubstr(line("tenure_queue_waiting", "11")), HasSubstr(line("tenure_queue_dead_letters", "2")),
                    HasSubstr(line("tenure_queue_retrying", "1")), HasSubstr(line("tenure_scheduled_waiting", "3")),
                    HasSubstr(line("tenure_scheduled_lateness_seconds", "1.5")),
                    testing::ContainsRegex("\ntenure_queue_oldest_age_seconds\\{election=\"orders\"\\} 9[0-9]")));
  queue = QueueFigures{};
  EXPECT_THAT(textOfLeader(), AllOf(HasSubstr(line("tenure_queue_waiting", "0")),
                                    HasSubstr(line("tenure_queue_oldest_age_seconds", "0")),
                                    Not(HasSubstr("tenure_queue_dead_letters")), Not(HasSubstr("tenure_scheduled"))));
  queue->tellsAge = false;
  EXPECT_THAT(textOfLeader(), Not(HasSubstr("tenure_queue_oldest_age_seconds"))) << "a broker does not know";
  queue.reset();
  EXPECT_THAT(textOfLeader(), Not(HasSubstr("tenure_queue")));
}

TEST_F(MetricsOfReplica, ShowsAPauseAnOutageAndABlock) {
  term.state().hold(Hold::paused);
  tell(OutageBegan{"refused"});
  tell(QueueBlocked{"m-1", "g", 5, "no"});
  EXPECT_THAT(textOfLeader(), AllOf(HasSubstr(line("tenure_paused", "1")), HasSubstr(line("tenure_outage", "1")),
                                    HasSubstr(line("tenure_blocked", "1"))));
}

TEST_F(MetricsOfReplica, AScheduledMessageThatIsOverdueAndDoesNotComeIsLate) {
  queue->scheduled->next = systemClock().wallNow() - 5min;
  EXPECT_THAT(textOfLeader(),
              testing::ContainsRegex("\ntenure_scheduled_lateness_seconds\\{election=\"orders\"\\} 30[0-9]"));
}

TEST_F(MetricsOfReplica, ATextfileLeavesTheProcessToItsCollector) {
  EXPECT_THAT(textOfLeader(MetricsFormat::textfile), AllOf(HasSubstr("\ntenure_leader{"), Not(HasSubstr("process_"))));
}

TEST_F(MetricsOfReplica, NoLabelBearsAnIdOrAGroup) {
  tell(QueueBlocked{"secret-id", "secret-group", 5, "no"});
  tell(GapFound{"secret-group"});
  tell(MessageDeadLettered{"secret-id", "no", 5});
  EXPECT_THAT(textOfLeader(), Not(HasSubstr("secret")));
}

TEST_F(MetricsOfReplica, PromtoolFindsNothingAmiss) {
  tell(BatchCommitted{64, 900, 1'250us, 128});
  EXPECT_EQ(checked(textOfLeader()), "");
}

TEST_F(MetricsOfReplica, OpenMetricsNamesTheFamiliesOfCountersWithoutTotalAndEnds) {
  tell(BatchCommitted{64, 900, 1'250us, 128});
  const std::string open = textOfLeader(MetricsFormat::openMetrics);
  EXPECT_THAT(open,
              AllOf(HasSubstr("# TYPE tenure_messages counter\n"), HasSubstr("# UNIT tenure_commit_seconds seconds\n"),
                    HasSubstr(line("tenure_messages_total", "64", "outcome=\"committed\"")),
                    HasSubstr(line("tenure_commit_seconds_bucket", "1", "le=\"+Inf\"")), testing::EndsWith("# EOF\n")));
  for (const Series& row : series()) EXPECT_TRUE(row.name.find(row.unit) != std::string_view::npos) << row.name;
}

}  // namespace
}  // namespace tenure::http
