#include "bench/failover/system.hpp"

#include <signal.h>

#include <cstdio>
#include <stdexcept>

namespace tenure::test {
namespace {

const std::string peersFolder = TENURE_SOURCE_DIR "/tests/bench/peers/";
const std::string curatorClassPath =
    "/usr/share/java/curator-recipes.jar:/usr/share/java/curator-framework.jar:/usr/share/java/curator-client.jar:"
    "/usr/share/java/guava.jar:/usr/share/java/zookeeper.jar:/usr/share/java/slf4j-simple.jar:"
    "/usr/share/java/sqlite-jdbc.jar";

std::vector<std::uint16_t> portsOf(const Ensemble& ensemble) {
  std::vector<std::uint16_t> ports;
  for (std::size_t server = 0; server < ensemble.size(); ++server) ports.push_back(ensemble.port(server));
  return ports;
}

// Debian's modules belong to Debian's interpreter, whichever else is first in the path.
const std::string python = "/usr/bin/python3";

/// With a session of its own, so that a signal to its process group reaches all that it started.
Program::Arguments ownSession(Program::Arguments command) {
  command.insert(command.begin(), "setsid");
  return command;
}

}  // namespace

System tenureSystem(const Ensemble& ensemble, Operation operation) {
  if (operation == Operation::append)
    return {"Tenure", false, {TENURE_BINARY_DIR "/test_programs/append_replica"}, SIGUSR1, portsOf(ensemble)};
  return {"Tenure",
          false,
          {TENURE_BINARY_DIR "/test_programs/ledger_replica", "will=1", "batch=1", "pace-ms=1", "execute-ms=1000",
           "grace-ms=500"},
          SIGUSR1,
          portsOf(ensemble)};
}

const System* Peers::find(const std::string& name) {
  if (!prepared_.contains(name)) try {
      prepared_[name] = prepare(name);
    } catch (const std::runtime_error& missing) {
      prepared_[name] = std::nullopt;
      std::fprintf(stderr, "%s is skipped: %s (deploy/install-deps --peers)\n", name.c_str(), missing.what());
    }
  const std::optional<System>& system = prepared_[name];
  return system ? &*system : nullptr;
}

System Peers::prepare(const std::string& name) {
  System system{name, true, {}, SIGUSR2, portsOf(ensemble_)};
  if (name == "kazoo") prepareKazoo(system);
  if (name == "curator") prepareCurator(system);
  if (name == "etcd") prepareEtcd(system);
  if (name == "bare") system.command = ownSession({TENURE_BINARY_DIR "/test_programs/bare_replica"});
  if (operation_ == Operation::append) system.command.push_back("append=1");
  return system;
}

void Peers::prepareKazoo(System& system) const {
  Program import({python, "-c", "import kazoo"}, folder_ / "import");
  if (import.waitForEnd()->exitCode != 0) throw std::runtime_error("python3-kazoo is not installed");
  system.command = ownSession({python, peersFolder + "kazoo_peer.py"});
}

void Peers::prepareCurator(System& system) const {
  const std::string classes = (folder_ / "classes").string();
  Program compile({"javac", "-nowarn", "-d", classes, "-cp", curatorClassPath, peersFolder + "CuratorPeer.java"},
                  folder_ / "javac");
  if (compile.waitForEnd()->exitCode != 0)
    throw std::runtime_error("javac, libcurator-recipes-java or libxerial-sqlite-jdbc-java is not installed");
  system.command = ownSession({"java", "-Xmx64m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-XX:-UsePerfData",
                               "-Djava.net.preferIPv4Stack=true", "-Dorg.slf4j.simpleLogger.defaultLogLevel=error",
                               "-cp", classes + ":" + curatorClassPath, "CuratorPeer"});
}

/// Three servers, as many as ZooKeeper has here.
void Peers::prepareEtcd(System& system) {
  Program version({"etcdctl", "version"}, folder_ / "etcdctl");
  if (version.waitForEnd()->exitCode != 0) throw std::runtime_error("etcd-client is not installed");
  constexpr std::size_t size = 3;
  const std::vector<std::uint16_t> ports = freePorts(2 * size);
  const auto url = [&](std::size_t i) { return "http://127.0.0.1:" + std::to_string(ports[i]); };
  const auto name = [](std::size_t i) { return "etcd" + std::to_string(i); };
  system.servers.assign(ports.begin(), ports.begin() + size);
  std::string cluster;
  for (std::size_t i = 0; i < size; ++i) cluster += (i > 0 ? "," : "") + name(i) + "=" + url(i + size);
  for (std::size_t i = 0; i < size; ++i)
    etcd_.emplace_back(
        Program::Arguments{"etcd", "--name", name(i), "--data-dir", folder_ / name(i), "--listen-client-urls", url(i),
                           "--advertise-client-urls", url(i), "--listen-peer-urls", url(i + size),
                           "--initial-advertise-peer-urls", url(i + size), "--initial-cluster", cluster},
        folder_ / (name(i) + ".log"));
  for (Program& server : etcd_)
    if (!server.waitForOutput("ready to serve client requests"))
      throw std::runtime_error("etcd-server is not installed, or does not start");
  system.command = ownSession({python, peersFolder + "etcd_peer.py"});
}

}  // namespace tenure::test
