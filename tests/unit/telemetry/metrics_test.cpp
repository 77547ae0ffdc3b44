/// What a replica counts, and how it is written.
#include "telemetry/http/metrics.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "backends/shared/answer_wait.hpp"
#include "support/promtool.hpp"
#include "support/terms.hpp"
#include "telemetry/http/series.hpp"

namespace tenure::telemetry {
namespace {

using namespace std::chrono_literals;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

class MetricsOfReplica : public testing::Test {
 protected:
  MetricsOfReplica() {
    metrics.countHandlers();
    metrics.countPublications();
  }

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

  static QueueFigures figures() {
    const WallTime now = systemClock().wallNow();
    QueueStats queue;
    queue.waiting = 7;
    queue.deadLetters = 2;
    queue.retrying = 1;
    queue.oldest = now - 90s;
    return {.queue = queue, .scheduled = ScheduledStats{3, std::nullopt, 1'500ms, 4, now - 30s}};
  }

  std::optional<QueueFigures> queue = figures();
  Metrics metrics{{"orders"}};
  StatusBoard board{{"orders"}, {"replica-a"}, 4711};
  test::TestTerm term{7};
};

// shows: watch/metrics-every-series
TEST_F(MetricsOfReplica, EverySeriesIsThereFromTheStartAndThoseOfATermInATerm) {
  for (const Series& row : series()) {
    if (row.of == "produce") continue;
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

TEST_F(MetricsOfReplica, TheTableIsInTheOrderOfItsNames) {
  const auto process =
      std::ranges::find_if(series(), [](const Series& row) { return row.name.starts_with("process_"); });
  EXPECT_TRUE(
      std::is_sorted(series().begin(), process, [](const Series& a, const Series& b) { return a.name < b.name; }));
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

// shows: watch/metrics-every-series
TEST_F(MetricsOfReplica, FiguresOfTheTermAreGoneWhenItIsNoLongerValid) {
  EXPECT_THAT(textOfLeader(), AllOf(HasSubstr(line("tenure_leader", "1")), HasSubstr(line("tenure_term_token", "7")),
                                    HasSubstr("tenure_lease_remaining_seconds{")));
  term.loseLease();
  EXPECT_THAT(textOfLeader(), AllOf(HasSubstr(line("tenure_leader", "0")), Not(HasSubstr("tenure_term_token")),
                                    Not(HasSubstr("tenure_lease_remaining_seconds"))));
}

TEST_F(MetricsOfReplica, CountsAndTimesHandlers) {
  metrics.handlerBegan();
  metrics.handlerBegan();
  EXPECT_THAT(textOfLeader(), HasSubstr(line("tenure_lanes_in_use", "2")));
  metrics.handlerEnded(20ms);
  EXPECT_EQ(metrics.inHand(), 1U);
  EXPECT_THAT(textOfLeader(),
              AllOf(HasSubstr(line("tenure_lanes_in_use", "1")), HasSubstr(line("tenure_handler_seconds_count", "1")),
                    HasSubstr(line("tenure_handler_seconds_bucket", "0", "le=\"0.01\"")),
                    HasSubstr(line("tenure_handler_seconds_bucket", "1", "le=\"0.025\""))));
}

// shows: watch/relay-tells-target
TEST_F(MetricsOfReplica, CountsWhatARelaysTargetHasAnswered) {
  tell(MessagesPublished{.messages = 5, .refused = 1, .took = 20ms});
  tell(MessagesPublished{.messages = 2, .took = 1ms});
  EXPECT_THAT(text(), AllOf(HasSubstr(line("tenure_relay_published_total", "7")),
                            HasSubstr(line("tenure_relay_refused_total", "1")),
                            HasSubstr(line("tenure_relay_publish_seconds_count", "2"))));
  Metrics consumers{{"orders"}};
  consumers.on(Event{WallTime{1h}, {"orders"}, {7}, MessagesPublished{.messages = 5}});
  EXPECT_THAT(consumers.text(MetricsFormat::prometheus, board, {}), Not(HasSubstr("tenure_relay")));
}

// shows: watch/relay-tells-target
TEST_F(MetricsOfReplica, TheGapOfAHandoverIsFromTheEndOfTheTermBeforeToTheFirstWork) {
  tell(Elected{"c-7", 15ms});
  tell(Inaugurated{8ms});
  EXPECT_THAT(text(), AllOf(HasSubstr(line("tenure_handover_gap_seconds_count", "1")),
                            HasSubstr(line("tenure_handover_gap_seconds_sum", "0.023"))));
  tell(Elected{"c-9"});
  tell(Inaugurated{8ms});
  EXPECT_THAT(text(), HasSubstr(line("tenure_handover_gap_seconds_count", "1"))) << "after a crash none is known";
}

// shows: watch/relay-tells-target
TEST_F(MetricsOfReplica, CountsAnswersOfStoreAndQueueAndThatThereWasNone) {
  const auto shown = [&](const char* name, std::uint64_t value) {
    return HasSubstr(line(name, std::to_string(value)));
  };
  class Watch final : public IAnswerWatch {
    void onOverdue(BootTime) override {}
    void onAnswered() override {}
  } watch;
  AnswerTimer timer(1s, watch);
  const std::uint64_t answered = answerTally().answered;
  const std::uint64_t unanswered = answerTally().unanswered;
  backends::AnswerWait(&timer, 1s).answered();
  backends::AnswerWait(&timer, 1s).answered();
  backends::AnswerWait(&timer, 1s).failed();
  EXPECT_THAT(text(), AllOf(shown("tenure_backend_round_trips_total", answered + 2),
                            shown("tenure_backend_errors_total", unanswered + 1)));
}

// shows: watch/waits-queue-told
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

// shows: watch/metrics-every-series
TEST_F(MetricsOfReplica, NoLabelBearsAnIdOrAGroup) {
  tell(QueueBlocked{"secret-id", "secret-group", 5, "no"});
  tell(GapFound{"secret-group"});
  tell(MessageDeadLettered{"secret-id", "no", 5});
  EXPECT_THAT(textOfLeader(), Not(HasSubstr("secret")));
}

// shows: watch/prometheus-text-format
TEST_F(MetricsOfReplica, PromtoolFindsNothingAmiss) {
  tell(BatchCommitted{64, 900, 1'250us, 128});
  EXPECT_EQ(test::amissIn(textOfLeader()), "");
}

// shows: watch/prometheus-text-format
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
}  // namespace tenure::telemetry
