// The connection that the next in line's source has opened before it attaches.
#include "scene.hpp"
#include "support/tcp_proxy.hpp"

namespace tenure::test {
namespace {

class APreparedSource : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_THAT(next_.source().prepare({}), succeeds());
    opened_ = connectionsTo(server_);
    ASSERT_EQ(opened_.size(), 1U);
  }

  RedisServer server_;
  Leader next_{server_.options(), TestTerm(8)};
  std::set<std::string> opened_;
};

TEST_F(APreparedSource, ReadsOverTheConnectionThatItHadOpened) {
  ASSERT_THAT(next_.source().attach(next_.term()), succeeds());

  EXPECT_EQ(connectionsTo(server_), opened_);
  next_.source().detach();
  EXPECT_TRUE(eventually([&] { return connectionsTo(server_).empty(); }));
}

TEST_F(APreparedSource, DoesNotNeedThatConnection) {
  server_.ask({"CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes"});

  ASSERT_THAT(next_.source().attach(next_.term()), succeeds());

  EXPECT_THAT(next_.source().fetch(1, BootClock::now(), {}), succeeds());
}

TEST_F(APreparedSource, ConnectsAnewWhereItsServerHasBecomeAReplica) {
  server_.ask({"REPLICAOF", "127.0.0.1", "1"});

  EXPECT_THAT(next_.source().attach(next_.term()), failsWith(Errc::unavailable));

  EXPECT_TRUE(eventually([&] { return connectionsTo(server_).empty(); }));
  server_.ask({"REPLICAOF", "NO", "ONE"});
  EXPECT_THAT(next_.source().attach(next_.term()), succeeds());
}

// shows: operations/kept-session-dead
TEST(ADeadKeptConnection, IsReplacedByTheClaimAndTheAttachmentWithinASecond) {
  RedisServer server;
  TcpProxy proxy{server.port()};
  redis::Options options = server.options();
  options.port = proxy.port();
  Leader next{options, TestTerm(8)};
  ASSERT_THAT(next.store().prepare({}), succeeds());
  ASSERT_THAT(next.source().prepare({}), succeeds());
  proxy.forgetConnections();
  const BootTime began = BootClock::now();
  ASSERT_TRUE(eventually([&] { return BootClock::now() > began + std::chrono::seconds{1}; }));

  EXPECT_THAT(next.claim(), succeeds());
  EXPECT_THAT(next.source().attach(next.term()), succeeds());

  EXPECT_LT(BootClock::now() - began, std::chrono::seconds{5}) << "far below any limit of an answer";
}

}  // namespace
}  // namespace tenure::test
