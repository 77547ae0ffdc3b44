#include "support/ensemble.hpp"

#include <signal.h>

#include <fstream>
#include <stdexcept>

#include "support/session_closer.hpp"

namespace tenure::test {

struct Ensemble::Server {
  std::uint16_t client = 0;
  std::uint16_t peer = 0;
  std::uint16_t election = 0;
  std::optional<Program> process;
};

Ensemble::Ensemble(EnsembleOptions options) : options_(std::move(options)), servers_(options_.servers) {
  for (int attempt = 0; attempt < startAttempts; ++attempt) {
    choosePorts();
    for (std::size_t i = 0; i < size(); ++i) {
      writeConfiguration(i);
      launch(i);
    }
    if (waitUntilServing()) return;
    for (Server& server : servers_) server.process.reset();  // most likely somebody took a port: choose others
  }
  throw std::runtime_error("the ensemble does not start; see " + folder_.path().string());
}

Ensemble::~Ensemble() = default;

Ensemble& Ensemble::shared() {
  static Ensemble ensemble;
  return ensemble;
}

std::string Ensemble::hosts() const {
  std::string all;
  for (std::size_t i = 0; i < size(); ++i) all += (all.empty() ? "" : ",") + hosts(i);
  return all;
}

std::string Ensemble::hosts(std::size_t server) const {
  return home(server).address + ":" + std::to_string(port(server));
}

std::uint16_t Ensemble::port(std::size_t server) const { return servers_.at(server).client; }

const ServerHome& Ensemble::home(std::size_t server) const {
  static const ServerHome here;
  return options_.homes.empty() ? here : options_.homes.at(server);
}

void Ensemble::kill(std::size_t server) { servers_.at(server).process.reset(); }

void Ensemble::stop(std::size_t server) {
  servers_.at(server).process->signal(SIGTERM);
  servers_.at(server).process->waitForEnd(startLimit);
  servers_.at(server).process.reset();
}

void Ensemble::start(std::size_t server) {
  launch(server);
  awaitServing(server);
}

void Ensemble::awaitServing(std::size_t server, const std::function<void()>& meanwhile) const {
  const auto limit = std::chrono::steady_clock::now() + startLimit;
  for (; !serves(server); meanwhile())
    if (std::chrono::steady_clock::now() > limit)
      throw std::runtime_error("server " + std::to_string(server) + " does not start");
}

void Ensemble::restart(std::size_t server, const std::function<void()>& meanwhile) {
  stop(server);
  launch(server);
  awaitServing(server, meanwhile);
}

void Ensemble::restartTogether(const std::vector<std::size_t>& servers, const std::function<void()>& meanwhile) {
  for (const std::size_t server : servers) kill(server);
  for (const std::size_t server : servers) launch(server);
  for (const std::size_t server : servers) awaitServing(server, meanwhile);
}

void Ensemble::comeBackEmpty(const std::function<void()>& meanwhile) {
  for (std::size_t server = 0; server < size(); ++server) kill(server);
  for (std::size_t server = 0; server < size(); ++server) {
    std::filesystem::remove_all(folder_ / ("data" + std::to_string(server)));
    writeConfiguration(server);
    launch(server);
  }
  for (std::size_t server = 0; server < size(); ++server) awaitServing(server, meanwhile);
}

void Ensemble::freeze(std::size_t server) { servers_.at(server).process->signal(SIGSTOP); }

void Ensemble::thaw(std::size_t server) { servers_.at(server).process->signal(SIGCONT); }

std::string Ensemble::log(std::size_t server) const { return contentsOf(folder_ / ("log" + std::to_string(server))); }

std::size_t Ensemble::leader() const {
  std::size_t found = size();
  eventually(
      [&] {
        for (std::size_t i = 0; i < size(); ++i)
          if (const std::string mode = ask(i, "srvr");
              mode.find("Mode: leader") != std::string::npos || mode.find("Mode: standalone") != std::string::npos)
            found = i;
        return found < size();
      },
      startLimit);
  if (found == size()) throw std::runtime_error("no server leads");
  return found;
}

bool Ensemble::serves(std::size_t server) const { return ask(server, "srvr").find("Mode: ") != std::string::npos; }

std::vector<std::int64_t> Ensemble::sessionsAt(std::size_t server) const {
  constexpr std::string_view mark = "sid=0x";
  const std::string connections = ask(server, "cons");
  std::vector<std::int64_t> sessions;
  for (auto at = connections.find(mark); at != std::string::npos; at = connections.find(mark, at + 1))
    sessions.push_back(static_cast<std::int64_t>(std::stoull(connections.substr(at + mark.size()), nullptr, 16)));
  return sessions;
}

void Ensemble::expireSession(std::int64_t session) const {
  // Its own client may take it back before it is closed, and the answer may be lost: then nobody knows it any more.
  const auto anyServerClosesIt = [&] {
    bool known = false;
    for (std::size_t i = 0; i < size(); ++i) {
      if (closeSession(endpoint(i), session)) return true;
      known = known || attachToSession(endpoint(i), session).valid();
    }
    return !known;
  };
  if (!eventually(anyServerClosesIt, startLimit)) throw std::runtime_error("no server let the session be closed");
}

bool Ensemble::isReadOnly(std::size_t server) const {
  return ask(server, "srvr").find("Mode: read-only") != std::string::npos;
}

void Ensemble::choosePorts() {
  const std::vector<std::uint16_t> ports = freePorts(3 * size());
  for (std::size_t i = 0; i < size(); ++i) {
    servers_[i].client = i < options_.clientPorts.size() ? options_.clientPorts[i] : ports[3 * i];
    servers_[i].peer = ports[3 * i + 1];
    servers_[i].election = ports[3 * i + 2];
  }
}

void Ensemble::writeConfiguration(std::size_t server) const {
  const std::filesystem::path data = folder_ / ("data" + std::to_string(server));
  std::filesystem::create_directories(data / "version-2");
  std::ofstream(data / "myid") << server + 1 << '\n';
  if (options_.initialEpoch > 0)
    for (const char* kind : {"currentEpoch", "acceptedEpoch"})
      std::ofstream(data / "version-2" / kind) << options_.initialEpoch << '\n';
  std::ofstream file(folder_ / ("zoo" + std::to_string(server) + ".cfg"));
  file << "dataDir=" << data.string() << "\nclientPortAddress=" << home(server).address
       << "\nclientPort=" << port(server) << "\ntickTime=" << options_.tick.count()
       << "\ninitLimit=" << options_.initLimitTicks << "\nsyncLimit=" << options_.syncLimitTicks
       << "\nminSessionTimeout=" << options_.minSessionTimeout.count()
       << "\nmaxSessionTimeout=" << options_.maxSessionTimeout.count()
       << "\nmaxClientCnxns=0\nadmin.enableServer=false\n4lw.commands.whitelist=*\n"
       << options_.settings;
  for (std::size_t i = 0; size() > 1 && i < size(); ++i)
    file << "server." << i + 1 << '=' << home(i).address << ':' << route(server, i, servers_[i].peer) << ':'
         << route(server, i, servers_[i].election) << (isObserver(i) ? ":observer" : "") << '\n';
  if (isObserver(server)) file << "peerType=observer\n";
}

bool Ensemble::isObserver(std::size_t server) const { return server + options_.observers >= size(); }

std::uint16_t Ensemble::route(std::size_t from, std::size_t to, std::uint16_t port) const {
  return from == to || !options_.peerRoute ? port : options_.peerRoute(from, to, port);
}

void Ensemble::launch(std::size_t server) {
  const std::string number = std::to_string(server);
  Program::Arguments command{"java",
                             "-Xmx" + std::to_string(options_.heapMegabytes) + "m",
                             "-XX:+UseSerialGC",
                             "-XX:TieredStopAtLevel=1",
                             "-XX:-UsePerfData",
                             "-Djava.net.preferIPv4Stack=true",
                             "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn",
                             "-Dorg.slf4j.simpleLogger.showDateTime=true",
                             "-Dorg.slf4j.simpleLogger.dateTimeFormat=HH:mm:ss.SSS",
                             "-Dzookeeper.forceSync=no"};
  for (const auto& [name, value] : options_.properties) command.push_back("-D" + name + "=" + value);
  command.insert(command.end(),
                 {"-cp", "/usr/share/java/zookeeper.jar:/usr/share/java/slf4j-simple.jar",
                  "org.apache.zookeeper.server.quorum.QuorumPeerMain", (folder_ / ("zoo" + number + ".cfg")).string()});
  servers_.at(server).process.emplace(command, folder_ / ("log" + number), Program::Arguments{},
                                      std::filesystem::path{}, home(server).network);
}

bool Ensemble::waitUntilServing() {
  std::size_t serving = 0;
  const auto allServeOrOneEnded = [&] {
    while (serving < size() && serves(serving)) ++serving;
    return serving == size() || ended(serving);
  };
  return eventually(allServeOrOneEnded, startLimit) && serving == size();
}

bool Ensemble::ended(std::size_t server) {
  return servers_.at(server).process->waitForEnd(std::chrono::milliseconds::zero()).has_value();
}

std::string Ensemble::ask(std::size_t server, const std::string& word) const {
  const Descriptor socket = connectTo(endpoint(server), std::chrono::milliseconds{500});
  if (!socket.valid() || !sendAll(socket, word)) return {};
  return receiveAll(socket);
}

std::vector<std::uint16_t> freePorts(std::size_t count) {
  std::vector<Descriptor> held;  // all at once, so that they differ
  std::vector<std::uint16_t> ports;
  for (std::size_t i = 0; i < count; ++i) ports.push_back(portOf(held.emplace_back(listenOn(0))));
  return ports;
}

}  // namespace tenure::test
