/// All elections of an ensemble, and all queues of a database, at a glance.
#include <nlohmann/json.hpp>

#include "replica.hpp"

namespace tenure::test {
namespace {

using testing::ContainsRegex;
using testing::HasSubstr;

class Listing : public ToolInElection {
 protected:
  const Arguments root_{"--root", "/listed"};

  Program replica(const std::string& name) { return consume(name, root_); }
  Run list(const Arguments& more = {}) {
    Arguments all{"list", "--zookeeper", Ensemble::shared().hosts(), "--root", "/listed"};
    all.insert(all.end(), more.begin(), more.end());
    return tenure(all);
  }
};

// shows: operations/tenure-list-shows
TEST_F(Listing, TellsWhoLeadsEachElectionAndWhatWaitsInEachQueue) {
  produce(numbered(3));
  Program first = replica("first");
  ASSERT_TRUE(ledgerReaches(3)) << first.output();
  Program second = replica("second");
  ASSERT_TRUE(second.waitForOutput(" stood_by ")) << second.output();

  const Run led = list({"--store", "sqlite:" + at("q.db")});
  EXPECT_EQ(led.exit, 0);
  EXPECT_THAT(led.output,
              ContainsRegex("^" + election() + "  leader first, token [0-9]+, for [0-9]+s  standing by 1\n" +
                            "orders  waiting 0  election " + election() + "\n"));

  ASSERT_EQ(tenure(inElection("pause", {"--root", "/listed", "--by", "lena"})).exit, 0);
  EXPECT_THAT(list().output, HasSubstr("standing by 1  PAUSED by lena since "));
  produce(
      "{\"id\":\"later\",\"body\":\"b\",\"deliver_at\":\"2033-01-01T00:00:00Z\"}\n{\"id\":\"now\",\"body\":\"b\"}\n");
  EXPECT_THAT(list({"--store", "sqlite:" + at("q.db")}).output,
              ContainsRegex("orders  waiting 1, the oldest for [0-9]+s  scheduled 1, the next at 2033-01-01T"));

  EXPECT_EQ(told(second, SIGTERM), 0) << second.output();
  EXPECT_EQ(told(first, SIGTERM), 0) << first.output();
  const auto left = nlohmann::json::parse(list({"--json"}).output);
  EXPECT_EQ(left["election"], election());
  EXPECT_TRUE(left["leader"].is_null());
  EXPECT_EQ(left["standing_by"], 0);
  EXPECT_EQ(left["paused"]["by"], "lena");
}

// shows: operations/tenure-list-shows
TEST_F(Listing, SaysWhatIsAbsent) {
  EXPECT_EQ(tenure({"list", "--zookeeper", Ensemble::shared().hosts(), "--root", "/absent"}).exit, 1);
  const Run moved = tenure({"queue", "list"});
  EXPECT_EQ(moved.exit, 64);
  EXPECT_THAT(moved.output, HasSubstr("tenure list --store URL"));
  const Run nothing = tenure({"list"});
  EXPECT_EQ(nothing.exit, 64);
  EXPECT_THAT(nothing.output, HasSubstr("--zookeeper HOSTS or --store URL is required"));
}

}  // namespace
}  // namespace tenure::test
