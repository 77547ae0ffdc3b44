#include "bench/servers.hpp"

#include <algorithm>
#include <sstream>
#include <stdexcept>

#include "base/random.hpp"
#include "coordination/zookeeper.hpp"
#include "support/await.hpp"
#include "support/loopback.hpp"
#include "support/unobserved.hpp"

namespace tenure::test {
namespace {

std::string ask(std::uint16_t port, const std::string& word) {
  const Descriptor socket = connectTo(port);
  return socket.valid() && sendAll(socket, word) ? receiveAll(socket) : "";
}

}  // namespace

namespace {

void warmUp(const std::string& host, int rounds, std::vector<std::chrono::microseconds>& writes) {
  ControlLoop control;
  ZooKeeperOptions options;
  options.hosts = host;
  const auto server = makeZooKeeper(control, options).value();
  Unobserved session;
  server->start(session);
  const std::string path = "/warm-" + freshUuid();
  for (int i = 0; i < rounds; ++i) {
    if (!control.runUntil([&] { return session.connected; })) throw std::runtime_error(host + " does not serve");
    const BootTime began = BootClock::now();
    control.await<CreatedNode>([&](auto done) { server->create(path, "x", CreateMode::ephemeral, done); }).value();
    writes.push_back(std::chrono::duration_cast<std::chrono::microseconds>(BootClock::now() - began));
    control
        .await<Node>([&](auto done) {
          server->get(
              path, [](WatchEvent) {}, done);
        })
        .value();
    control.await<std::vector<std::string>>([&](auto done) { server->children("/", {}, done); }).value();
    control
        .await<std::vector<std::string>>([&](auto done) {
          server->multi({CheckOp{path}, SetOp{path, "y"}, RemoveOp{path}}, done);
        })
        .value();
  }
  control.awaitDone([&](auto done) { server->close(done); });
}

}  // namespace

std::chrono::microseconds warmUp(const Ensemble& ensemble, int rounds) {
  std::vector<std::chrono::microseconds> writes;
  for (std::size_t server = 0; server < ensemble.size(); ++server) warmUp(ensemble.hosts(server), rounds, writes);
  if (writes.empty()) return {};
  writes.erase(writes.begin(), writes.end() - static_cast<std::ptrdiff_t>((writes.size() + 2) / 3));
  std::ranges::sort(writes);
  return writes[writes.size() / 2];
}

std::set<std::int64_t> sessionsWatching(const Ensemble& ensemble, const std::string& znode) {
  std::set<std::int64_t> sessions;
  for (std::size_t server = 0; server < ensemble.size(); ++server) {
    // A line for each path that is watched, and below it one for each session, indented.
    std::istringstream watches(ask(ensemble.port(server), "wchp"));
    bool here = false;
    for (std::string line; std::getline(watches, line);)
      if (line.starts_with('/'))
        here = line.ends_with("/" + znode);
      else if (here && !line.empty())
        sessions.insert(static_cast<std::int64_t>(std::stoull(line, nullptr, 16)));
  }
  return sessions;
}

}  // namespace tenure::test
