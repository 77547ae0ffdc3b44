#include "support/machines.hpp"

#include <fcntl.h>
#include <sched.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <stdexcept>
#include <thread>

namespace tenure::test {
namespace {

constexpr const char* device = "eth0";

[[noreturn]] void fail(const std::string& what) { throw std::runtime_error(what + ": " + std::strerror(errno)); }

Descriptor spaceOfThisThread() { return Descriptor(open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC)); }

/// Made by a thread that ends: only the descriptor keeps it.
Descriptor newSpace() {
  int error = 0;
  Descriptor space;
  std::thread([&] {
    if (unshare(CLONE_NEWNET) == 0)
      space = spaceOfThisThread();
    else
      error = errno;
  }).join();
  errno = error;
  if (!space.valid()) fail("no network namespace can be made");
  return space;
}

std::string hardwareOf(std::size_t machine) {
  char text[18];
  std::snprintf(text, sizeof text, "02:00:00:00:77:%02zx", machine + 1);
  return text;
}
constexpr const char* nobodysHardware = "02:00:00:00:00:ff";

std::string pathOf(const Descriptor& space) {
  return "/proc/" + std::to_string(getpid()) + "/fd/" + std::to_string(space.get());
}

}  // namespace

Machines::Machines(std::size_t count) : outside_(spaceOfThisThread()), bridge_(newSpace()) {
  run(bridge_.get(), {"ip", "link", "set", "lo", "up"});
  run(bridge_.get(), {"ip", "link", "add", "bridge", "type", "bridge"});
  run(bridge_.get(), {"ip", "address", "add", "10.77.0.254/24", "dev", "bridge"});
  run(bridge_.get(), {"ip", "link", "set", "bridge", "up"});
  for (std::size_t machine = 0; machine < count; ++machine) {
    machines_.push_back(newSpace());
    plug(machine);
  }
  restoreAll();
  enter(bridge_.get());
}

void Machines::enter(int space) {
  if (setns(space, CLONE_NEWNET) != 0) fail("the network namespace cannot be entered");
}

Machines::~Machines() { setns(outside_.get(), CLONE_NEWNET); }

void Machines::plug(std::size_t machine) {
  const std::string port = "port" + std::to_string(machine);
  run(bridge_.get(), {"ip", "link", "add", port, "type", "veth", "peer", "name", device, "address", hardwareOf(machine),
                      "netns", pathOf(machines_[machine])});
  run(bridge_.get(), {"ip", "link", "set", port, "master", "bridge", "up"});
  run(space(machine), {"ip", "link", "set", "lo", "up"});
  run(space(machine), {"ip", "address", "add", address(machine) + "/24", "dev", device});
  run(space(machine), {"ip", "link", "set", device, "up"});
}

/// A fixed neighbour: the address is never asked for, so that a way can be led to nobody without anybody's noticing.
void Machines::lead(std::size_t from, std::size_t to, const std::string& hardware) {
  run(space(from), {"ip", "neighbour", "replace", address(to), "lladdr", hardware, "dev", device, "nud", "permanent"});
}

void Machines::lose(std::size_t from, std::size_t to) { lead(from, to, nobodysHardware); }

void Machines::refuse(std::size_t a, std::size_t b) {
  for (const auto& [at, peer] : {std::pair{a, b}, std::pair{b, a}})
    run(space(at), {"ip", "route", "replace", "unreachable", address(peer)});
  abort(a, b);
  abort(b, a);
}

void Machines::abort(std::size_t at, std::size_t peer) {
  run(space(at), {"ss", "--tcp", "--kill", "dst", address(peer)});
}

bool Machines::connected(std::size_t at, std::size_t peer) const {
  return !run(space(at), {"ss", "--no-header", "--tcp", "state", "established", "dst", address(peer)}).empty();
}

void Machines::restore(std::size_t a, std::size_t b) {
  for (const auto& [at, peer] : {std::pair{a, b}, std::pair{b, a}}) {
    lead(at, peer, hardwareOf(peer));
    run(space(at), {"ip", "route", "flush", address(peer)});
  }
}

void Machines::restoreAll() {
  for (std::size_t a = 0; a < count(); ++a)
    for (std::size_t b = 0; b < a; ++b) restore(a, b);
}

std::string Machines::run(int space, const Program::Arguments& command) const {
  const std::filesystem::path output = folder_ / "output";
  std::filesystem::remove(output);
  Program program(command, output, {}, {}, space);
  const auto ending = program.waitForEnd();
  if (ending && ending->exitCode == 0) return program.output();
  std::string line;
  for (const std::string& word : command) line += word + ' ';
  throw std::runtime_error("cannot " + line + program.output());
}

}  // namespace tenure::test
