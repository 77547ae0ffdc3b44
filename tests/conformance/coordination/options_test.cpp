// What is refused before a connection is tried, and what is not.
#include "support/results.hpp"
#include "zookeeper_world.hpp"

namespace tenure::test {
namespace {

using testing::HasSubstr;
using testing::Not;

Result<std::unique_ptr<ICoordination>> makeWith(ControlLoop& loop, ZooKeeperOptions options) {
  return makeZooKeeper(loop, options);
}

TEST(ZooKeeperOptions, AHostListThatCannotBeReadIsRefusedAndShown) {
  ControlLoop loop;
  for (const std::string hosts :
       {"", "localhost", "localhost:", "localhost:0", "localhost:65536", "localhost:21x", ":2181", "a:1,", ",a:1",
        "a:1,,b:2", "a b:1", "a:1 ,b:2", "a:1;b:2", "::1:2181", "[::1:2181", "a:1\n", "zk://a:1"}) {
    const auto refused = makeWith(loop, {.hosts = hosts});

    ASSERT_THAT(refused, failsWith(Errc::configurationRefused)) << hosts;
    EXPECT_THAT(refused.error().detail, HasSubstr("expected host:port")) << hosts;
  }
  EXPECT_THAT(makeWith(loop, {.hosts = "good:1,bad:99999"}).error().detail, HasSubstr("'bad:99999'"));
}

TEST(ZooKeeperOptions, AChrootIsRefusedInFavourOfTheRoot) {
  ControlLoop loop;

  EXPECT_THAT(makeWith(loop, {.hosts = "a:1,b:2/app"}).error().detail, HasSubstr("chroot"));
}

TEST(ZooKeeperOptions, Row20TlsThatTheLibraryHasNotIsRefusedNotLeftOut) {
  ControlLoop loop;
  for (const std::string hosts : {"zk-1.example.org:2181", "127.0.0.1:1,10.0.0.1:2181", "[2001:db8::1]:2181"}) {
    const auto refused = makeWith(loop, {.hosts = hosts, .requireTls = true});

    ASSERT_THAT(refused, failsWith(Errc::configurationRefused)) << hosts;
    EXPECT_THAT(refused.error().detail, testing::AllOf(HasSubstr("TLS"), HasSubstr("tunnel")));
  }
}

TEST(ZooKeeperOptions, Row20ATunnelThatBeginsOnThisMachineIsTaken) {
  ControlLoop loop;

  EXPECT_TRUE(makeWith(loop, {.hosts = "localhost:1,127.0.0.1:2,[::1]:3", .requireTls = true}));
}

TEST(ZooKeeperOptions, Row23ADigestIsSentInClearToWhoeverIsNotOnThisMachine) {
  const auto way = [](const std::string& hosts, const std::string& digest) {
    return digestTravelsInClear({.hosts = hosts, .digest = Secret(digest)});
  };

  EXPECT_EQ(way("127.0.0.1:1,zk-2:2181,zk-3:2181", "tenure:secret"), "zk-2:2181");
  EXPECT_EQ(way("localhost:1,127.0.0.1:2,[::1]:3", "tenure:secret"), std::nullopt);
  EXPECT_EQ(way("zk-1:2181", ""), std::nullopt) << "nothing to read";
}

TEST(ZooKeeperOptions, HostNamesAndAddressesOfBothKindsAreTaken) {
  ControlLoop loop;

  EXPECT_TRUE(makeWith(loop, {.hosts = "zk-1.example.org:2181,10.0.0.1:2181,[2001:db8::1]:2181,my_zk:1"}));
}

TEST(ZooKeeperOptions, AShortSessionHasToBeAskedForExplicitly) {
  using std::chrono_literals::operator""ms;
  ControlLoop loop;
  ZooKeeperOptions options{.hosts = "a:1", .sessionTimeout = 2'999ms};

  EXPECT_THAT(makeWith(loop, options), failsWith(Errc::configurationRefused));
  options.allowShortSession = true;
  EXPECT_TRUE(makeWith(loop, options));
  options.sessionTimeout = -1ms;
  EXPECT_THAT(makeWith(loop, options), failsWith(Errc::configurationRefused));
}

TEST(ZooKeeperOptions, ADigestWithoutAUserIsRefusedAndNotShown) {
  ControlLoop loop;
  for (const std::string digest : {"hunter2", ":hunter2"}) {
    const auto refused = makeWith(loop, {.hosts = "a:1", .digest = Secret(digest)});

    ASSERT_THAT(refused, failsWith(Errc::configurationRefused));
    EXPECT_THAT(refused.error().message(), Not(HasSubstr("hunter2")));
  }
}

/// Neither fails: the servers may come up, and the name service may answer later.
TEST(ZooKeeperOptions, ServersThatAreNotThereYetAreWaitedFor) {
  ControlLoop loop;
  const std::uint16_t port = freePorts(1).front();
  const auto coordination = makeWith(loop, {.hosts = "127.0.0.1:" + std::to_string(port)}).value();
  struct : ISessionObserver {
    void onConnected(const SessionInfo&) override { ++connections; }
    void onSuspended() override {}
    void onExpired() override { ADD_FAILURE(); }
    void onFatal(const Error& error) override { ADD_FAILURE() << error.message(); }
    int connections = 0;
  } observer;

  coordination->start(observer);
  loop.runReady();
  EnsembleOptions one{.servers = 1, .clientPorts = {port}};
  Ensemble late(one);

  EXPECT_TRUE(loop.runUntil([&] { return observer.connections == 1; }));
  EXPECT_TRUE(loop.awaitDone([&](auto done) { coordination->close(done); }));
}

TEST(ZooKeeperOptions, NamesThatDoNotResolveAreNotFatal) {
  ControlLoop loop;
  const auto coordination = makeWith(loop, {.hosts = "no-such-host.invalid:2181"}).value();
  struct : ISessionObserver {
    void onConnected(const SessionInfo&) override { ADD_FAILURE(); }
    void onSuspended() override {}
    void onExpired() override {}
    void onFatal(const Error& error) override { ADD_FAILURE() << error.message(); }
  } observer;

  coordination->start(observer);

  EXPECT_THAT(loop.await<Node>([&](auto done) { coordination->get("/", {}, done); }), failsWith(Errc::unavailable));
  EXPECT_TRUE(loop.awaitDone([&](auto done) { coordination->close(done); }));
}

}  // namespace
}  // namespace tenure::test
