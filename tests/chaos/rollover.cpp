#include "chaos/rollover.hpp"

#include "chaos/arena.hpp"
#include "coordination/zookeeper.hpp"
#include "support/await.hpp"

namespace tenure::chaos {
namespace {

using namespace std::chrono_literals;

struct Session final : ISessionObserver {
  bool connected = false;
  void onConnected(const SessionInfo&) override { connected = true; }
  void onSuspended() override { connected = false; }
  void onExpired() override {}
  void onFatal(const Error& error) override { throw Failure(error.message()); }
};

constexpr int writesAtOnce = 100;

/// The epoch of the last of some writes; 0 when the connection was lost meanwhile.
std::int64_t epochAfterWrites(test::ControlLoop& loop, ICoordination& client, const std::string& path) {
  std::int64_t zxid = 0;
  int answers = 0;
  for (int i = 0; i < writesAtOnce; ++i)
    client.set(path, "", anyVersion, [&](const Result<NodeStat>& stat) {
      ++answers;
      if (stat) zxid = std::max(zxid, stat->mzxid);
    });
  if (!loop.runUntil([&] { return answers == writesAtOnce; })) throw Failure("writes without an answer");
  return zxid >> 32;
}

}  // namespace

void rollOverZxid(const test::Ensemble& ensemble) {
  test::ControlLoop loop;
  ZooKeeperOptions options;
  options.hosts = ensemble.hosts();
  options.sessionTimeout = 20s;
  const auto client = std::move(makeZooKeeper(loop, options).value());
  Session session;
  const auto connect = [&] {
    if (!loop.runUntil([&] { return session.connected; }, 60s)) throw Failure("no connection for the roll-over");
  };
  client->start(session);
  connect();
  const std::string path = "/roll-over";
  loop.await<CreatedNode>([&](auto done) { client->create(path, "", CreateMode::persistent, done); }).value();

  std::int64_t first = 0;
  for (int rounds = 0; rounds < 1'000; ++rounds) {
    connect();
    const std::int64_t epoch = epochAfterWrites(loop, *client, path);
    if (first == 0) first = epoch;
    if (first != 0 && epoch > first) {
      loop.awaitDone([&](auto done) { client->close(done); });
      return;
    }
  }
  throw Failure("the zxid never rolled over");
}

}  // namespace tenure::chaos
