/// A C++ program's own health checks and metrics.
#include "tenure/telemetry.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/asio/io_context.hpp>
#include <thread>

#include "support/http.hpp"
#include "support/program.hpp"
#include "support/results.hpp"

namespace tenure {
namespace {

using test::failsWith;
using testing::HasSubstr;
using testing::Not;

class Idle final : public ILeaderCareer {
  bool execute(const Term&) override { return false; }
};

class Counting final : public IEventSink {
 public:
  void on(const Event&) noexcept override { ++events; }
  int events = 0;
};

class TelemetryOfAProgram : public testing::Test {
 protected:
  static CandidateOptions options() {
    CandidateOptions made;
    made.zookeeper.hosts = "127.0.0.1:1";  // nothing listens there
    made.election = ElectionName{"orders"};
    return made;
  }
  void tell(EventBody body) { telemetry.on(Event{{}, {"orders"}, {}, std::move(body)}); }

  Counting next;
  Telemetry telemetry{options(), next};
};

// shows: watch/program-own-serves
TEST_F(TelemetryOfAProgram, AnswersOnTheCandidatesLoop) {
  test::TemporaryFolder folder;
  const std::string path = (folder / "health.sock").string();
  boost::asio::io_context loop{1};
  Idle career;
  const Candidate candidate(options(), career, telemetry, loop);
  ASSERT_EQ(telemetry.serve(loop, candidate, "unix:" + path).value(), "unix:" + path);
  auto keepsRunning = boost::asio::make_work_guard(loop);
  std::thread control([&] { loop.run(); });

  const test::HttpAnswer lives = test::httpGet(path, "/livez"), ready = test::httpGet(path, "/readyz");
  const test::HttpAnswer leads = test::httpGet(path, "/leader"), metrics = test::httpGet(path, "/metrics");

  loop.stop();
  control.join();
  telemetry.close();
  EXPECT_EQ(lives.status, 200);
  EXPECT_EQ(ready.status, 503);
  EXPECT_EQ(leads.status, 503);
  EXPECT_EQ(metrics.status, 200);
  EXPECT_THAT(metrics.body, HasSubstr("election=\"orders\""));
}

TEST_F(TelemetryOfAProgram, CountsEventsAndPassesThemOn) {
  const std::string before = telemetry.metrics();
  tell(SessionConnected{});

  EXPECT_EQ(next.events, 1);
  EXPECT_NE(telemetry.metrics(), before);
}

// shows: watch/program-own-serves
TEST_F(TelemetryOfAProgram, CountsTheRunsOfAHandler) {
  EXPECT_THAT(telemetry.metrics(), Not(HasSubstr("tenure_handler_seconds_count")));

  telemetry.counted([](const Delivery&) { return Outcome::done(); });

  EXPECT_THAT(telemetry.metrics(), HasSubstr("tenure_handler_seconds_count"));
}

TEST_F(TelemetryOfAProgram, RefusesAnAddressThatIsNone) {
  boost::asio::io_context loop{1};
  Idle career;
  const Candidate candidate(options(), career, telemetry, loop);

  EXPECT_THAT(telemetry.serve(loop, candidate, "nowhere"), failsWith(Errc::invalidArgument));
}

}  // namespace
}  // namespace tenure
