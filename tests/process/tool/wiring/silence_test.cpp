/// The leader's way to its store falls silent while the ensemble and everybody else's ways are well.
#include <chrono>

#include "process/tool/cli/replica.hpp"
#include "support/postgres_server.hpp"
#include "support/tcp_proxy.hpp"

namespace tenure::test {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

constexpr auto outageLimit = 4s;
constexpr auto toTheNext = 2s;
constexpr auto ofALoadedMachine = 3s;

class SilentStore : public ToolInElection, public testing::WithParamInterface<const char*> {
 protected:
  void SetUp() override {
    ToolInElection::SetUp();
    world_.ask("CREATE TABLE ledger(id text PRIMARY KEY); GRANT ALL ON ledger TO " + world_.role());
  }
  std::string url() {
    const postgresql::Options& options = world_.options();
    return "postgresql://" + options.user + "@127.0.0.1:" + std::to_string(options.port) + "/" + options.database;
  }
  /// `tenure consume`, its log in the file `name`. Replicas name their server alike, and reach it by the address.
  Program replica(const std::string& name, const std::string& address) {
    Arguments arguments{"--queue",        url(), "--id", name, "--sql", "INSERT INTO ledger(id) VALUES (:id)",
                        "--outage-limit", "4s"};
    if (*GetParam() != '0') arguments.insert(arguments.end(), {"--lanes", GetParam()});
    return start(inElection("consume", arguments), name, {"PGHOSTADDR=" + address});
  }
  void send(int from, int count) {
    std::string lines;
    for (int i = from; i < from + count; ++i)
      lines += "{\"id\":\"m-" + std::to_string(i) + "\",\"group\":\"g-" + std::to_string(i) + "\",\"body\":\"b\"}\n";
    const Run run = tenure({"produce", "--queue", url(), "--format", "jsonl"}, lines);
    ASSERT_EQ(run.exit, 0) << run.output;
  }
  bool reaches(int rows) {
    return eventually([&] { return world_.ask("SELECT count(*) FROM ledger") == std::to_string(rows); });
  }

  PostgresWorld world_;
  static constexpr const char* straight = "127.0.0.1";
  static constexpr const char* byTheProxy = "127.0.0.2";
  TcpProxy way_{world_.server().port(), byTheProxy};
};

INSTANTIATE_TEST_SUITE_P(Lanes, SilentStore, testing::Values("0", "4"));

// shows: operations/store-queue-without
TEST_P(SilentStore, OfTheLeaderHoldsUpTheQueueForNoMoreThanTheOutageLimitAndTwoSeconds) {
  Program leader = replica("leader", byTheProxy);
  ASSERT_TRUE(leads(leader)) << leader.output();
  Program next = replica("next", straight);
  ASSERT_TRUE(next.waitForOutput(" stood_by ")) << next.output();
  send(0, 20);
  ASSERT_TRUE(reaches(20)) << leader.output();

  way_.stall();
  const auto silentSince = Clock::now();
  send(20, 20);
  EXPECT_TRUE(leader.waitForOutput(" outage_began "));
  EXPECT_LE(Clock::now() - silentSince, toTheNext + ofALoadedMachine);
  EXPECT_TRUE(reaches(40)) << leader.output() << next.output();

  EXPECT_LE(Clock::now() - silentSince, outageLimit + toTheNext + ofALoadedMachine) << leader.output() << next.output();
  EXPECT_TRUE(leads(next)) << next.output();
}

}  // namespace
}  // namespace tenure::test
