/// examples/billing_gateway loses no event that it has accepted and keeps the order of each account, where its queue is
/// stopped and it is killed itself.
#include <gmock/gmock.h>

#include <map>
#include <set>
#include <sstream>

#include "support/example_output.hpp"
#include "support/postgres_server.hpp"

namespace tenure::test {
namespace {

using testing::HasSubstr;
using testing::Not;

class BillingGateway : public testing::Test {
 protected:
  static constexpr int connections = 8;
  static constexpr int forEver = 1'000'000;

  /// Each of its customers goes on behind the last event that was accepted.
  Program start(const std::string& queue, int events = forEver) {
    return {{TENURE_BINARY_DIR "/examples/billing_gateway", queue, folder_ / "spool.db", answers(),
             std::to_string(connections), std::to_string(events), "100"},
            folder_ / ("gateway-" + std::to_string(++started_))};
  }
  static void kill(Program& gateway) {
    gateway.signal(SIGKILL);
    ASSERT_TRUE(gateway.waitForEnd());
  }
  std::string answers() const { return folder_ / "answers"; }
  std::size_t accepted() const { return occurrences(contentsOf(answers()), "\n"); }
  /// So many more than now.
  bool awaitAccepted(std::size_t more) const {
    return eventually([this, enough = accepted() + more] { return accepted() >= enough; });
  }

  TemporaryFolder folder_;

 private:
  int started_ = 0;
};

class BillingOnPostgresql : public BillingGateway {
 protected:
  std::string url() const {
    return "postgresql://" + world_.role() + "@127.0.0.1:" + std::to_string(server_.port()) + "/postgres?queue=billing";
  }
  bool awaitStored(int more) const {
    return eventually([this, enough = stored() + more] { return stored() >= enough; });
  }
  /// Of each account, the numbers of its events in the order of their first copies.
  std::map<std::string, std::vector<int>> firstCopies() const {
    std::istringstream ids(
        world_.ask("SELECT string_agg(convert_from(id, 'UTF8'), E'\\n' ORDER BY n) FROM tenure_message"));
    std::map<std::string, std::vector<int>> numbers;
    std::set<std::string> seen;
    for (std::string id; std::getline(ids, id);)
      if (seen.insert(id).second) numbers[accountOf(id)].push_back(numberOf(id));
    return numbers;
  }
  static std::string accountOf(const std::string& id) { return id.substr(0, id.find('/')); }
  static int numberOf(const std::string& id) { return std::stoi(id.substr(id.find('/') + 1)); }

  PostgresServer server_;
  PostgresWorld world_{server_};

 private:
  int stored() const { return std::stoi(world_.ask("SELECT count(*) FROM tenure_message")); }
};

// shows: S10, sending/accepted-event-lost, sending/left-behind-sent
TEST_F(BillingOnPostgresql, LosesNoAcceptedEventAndKeepsEachAccountsOrderThroughAnOutageAndKills) {
  Program first = start(url());
  ASSERT_TRUE(awaitStored(200)) << first.output();
  server_.stop();
  ASSERT_TRUE(first.waitForOutput(" spool_began ")) << first.output();
  ASSERT_TRUE(awaitAccepted(500)) << first.output();
  kill(first);

  for (int kills = 0; kills < 5; ++kills) {  // while the queue is away
    Program next = start(url());
    ASSERT_TRUE(awaitAccepted(50)) << next.output();
    EXPECT_THAT(next.output(), Not(HasSubstr("begins with 0 events")));
    kill(next);
  }
  Program second = start(url());
  ASSERT_TRUE(awaitAccepted(500)) << second.output();
  server_.start();
  ASSERT_TRUE(awaitStored(500)) << second.output();
  kill(second);

  Program third = start(url());
  ASSERT_TRUE(awaitAccepted(500)) << third.output();
  stop(third);
  Program last = start(url(), 0);  // the customers are gone
  ASSERT_EQ(last.waitForEnd().value_or(Ending{}).exitCode, 0) << last.output();
  EXPECT_THAT(last.output(), HasSubstr("ends with 0 events"));

  const auto stored = firstCopies();
  EXPECT_EQ(stored.size(), std::size_t{connections});
  for (const auto& [account, numbers] : stored)
    for (std::size_t i = 0; i < numbers.size(); ++i) ASSERT_EQ(numbers[i], static_cast<int>(i) + 1) << "of " << account;
  std::istringstream answered(contentsOf(answers()));
  for (std::string id; std::getline(answered, id);)
    ASSERT_TRUE(stored.contains(accountOf(id)) && stored.at(accountOf(id)).back() >= numberOf(id)) << id << " is lost";
  EXPECT_EQ(world_.ask("SELECT count(*) FROM (SELECT id FROM tenure_message GROUP BY id"
                       " HAVING count(DISTINCT (grp, body, headers)) > 1) AS another"),
            "0");
}

// shows: sending/service-starts-queue, sending/service-says-sigterm
TEST_F(BillingGateway, TellsWhatSigtermLeavesInTheSpoolAndTheNextStartSendsIt) {
  const std::filesystem::path folder = folder_ / "not-there-yet";
  const std::string queue = "sqlite:" + (folder / "queue.db").string();
  Program outage = start(queue);
  ASSERT_TRUE(awaitAccepted(500)) << outage.output();
  ASSERT_TRUE(outage.waitForOutput(" full_in=")) << outage.output();

  stop(outage);

  const std::string left = std::to_string(accepted()) + " events in the spool";
  EXPECT_THAT(outage.output(), HasSubstr("ends with " + left));
  std::filesystem::create_directory(folder);
  Program next = start(queue, 0);
  ASSERT_EQ(next.waitForEnd().value_or(Ending{}).exitCode, 0) << next.output();
  EXPECT_THAT(next.output(), HasSubstr("begins with " + left));
  EXPECT_THAT(next.output(), HasSubstr("ends with 0 events"));
}

TEST_F(BillingGateway, EndsBeforeItTakesAnEventWhereItIsStartedWrongly) {
  Program wrong = start("mqtt://broker/billing");

  EXPECT_EQ(wrong.waitForEnd().value_or(Ending{}).exitCode, 78);
  EXPECT_THAT(wrong.output(), HasSubstr("mqtt"));
  EXPECT_EQ(accepted(), 0U);
}

}  // namespace
}  // namespace tenure::test
