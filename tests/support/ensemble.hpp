/// A real ZooKeeper ensemble of our own on free ports, its data in a temporary folder, gone with the test.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "support/loopback.hpp"
#include "support/program.hpp"

namespace tenure::test {

/// Where a server listens and runs; as a rule on the loopback interface of our own network.
struct ServerHome {
  std::string address = "127.0.0.1";
  int network = -1;  // a network namespace's descriptor
};

struct EnsembleOptions {
  std::size_t servers = 3;
  /// The last of them only observe: they serve clients and have no vote.
  std::size_t observers = 0;
  std::chrono::milliseconds tick{500};
  int heapMegabytes = 96;  // of each server, which keeps all znodes there: for some hundred thousand
  int syncLimitTicks = 10;
  int initLimitTicks = 40;
  std::chrono::milliseconds minSessionTimeout{1'000};
  std::chrono::milliseconds maxSessionTimeout{60'000};
  /// The epoch, the upper half of a zxid, that the servers believe to have seen; an ensemble of several only.
  std::int64_t initialEpoch = 0;
  /// Java system properties of every server, such as {"zookeeper.testingonly.initialZxid", "4294967280"}: the lower
  /// half of the first zxid, in an ensemble of several.
  std::map<std::string, std::string> properties{};
  /// More lines of every server's configuration.
  std::string settings{};
  /// Chosen when empty.
  std::vector<std::uint16_t> clientPorts{};
  std::vector<ServerHome> homes{};
  /// Where server `from` finds a port of server `to`, for proxies between the servers; the port itself when empty.
  std::function<std::uint16_t(std::size_t from, std::size_t to, std::uint16_t port)> peerRoute{};
};

/// Servers are numbered from 0. Every call that starts servers returns when they serve, or throws.
class Ensemble {
 public:
  explicit Ensemble(EnsembleOptions options = {});
  ~Ensemble();
  Ensemble(const Ensemble&) = delete;
  Ensemble& operator=(const Ensemble&) = delete;

  /// One of three servers for the whole test program, started when first asked for. Whoever stops, kills or freezes
  /// one of its servers brings it back before the test ends.
  static Ensemble& shared();

  std::size_t size() const noexcept { return options_.servers; }
  std::string hosts() const;
  std::string hosts(std::size_t server) const;
  std::uint16_t port(std::size_t server) const;
  Endpoint endpoint(std::size_t server) const { return {home(server).address, port(server)}; }

  /// kill -9, and an orderly stop; the data stays.
  void kill(std::size_t server);
  void stop(std::size_t server);
  void start(std::size_t server);
  /// `meanwhile` is called again and again until it serves: for a client whose loop must not stand still so long.
  void restart(std::size_t server, const std::function<void()>& meanwhile = pauseBetweenLooks);
  /// kill -9 of some at once; then all of them start, which one alone could not while the rest is away.
  void restartTogether(const std::vector<std::size_t>& servers,
                       const std::function<void()>& meanwhile = pauseBetweenLooks);
  /// All servers start again without data: another ensemble at the same addresses.
  void comeBackEmpty(const std::function<void()>& meanwhile = pauseBetweenLooks);
  void freeze(std::size_t server);
  void thaw(std::size_t server);

  /// The server that leads, as the servers say, waiting until one does.
  std::size_t leader() const;
  bool serves(std::size_t server) const;
  /// It serves, but has no majority to write with.
  bool isReadOnly(std::size_t server) const;
  /// What the server has logged.
  std::string log(std::size_t server) const;

  /// Of the clients that are connected there now.
  std::vector<std::int64_t> sessionsAt(std::size_t server) const;

  /// Ends a client's session as if it had expired: somebody else attaches to it and closes it.
  void expireSession(std::int64_t session) const;

 private:
  struct Server;
  const ServerHome& home(std::size_t server) const;
  void choosePorts();
  void awaitServing(std::size_t server, const std::function<void()>& meanwhile = pauseBetweenLooks) const;
  void writeConfiguration(std::size_t server) const;
  bool isObserver(std::size_t server) const;
  std::uint16_t route(std::size_t from, std::size_t to, std::uint16_t port) const;
  void launch(std::size_t server);
  bool waitUntilServing();
  bool ended(std::size_t server);
  std::string ask(std::size_t server, const std::string& word) const;

  EnsembleOptions options_;
  TemporaryFolder folder_;
  std::vector<Server> servers_;
};

/// Loopback ports that nobody listened on just now, each different.
std::vector<std::uint16_t> freePorts(std::size_t count);

}  // namespace tenure::test
