#include "base/process_identity.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <fstream>
#include <sstream>

#include "base/text.hpp"

namespace tenure {
namespace {

std::string firstLine(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

/// Field 22 of /proc/<pid>/stat; the name in field 2 may hold spaces and parentheses. Nullopt: no such process.
std::optional<std::int64_t> startTimeOf(std::int64_t pid) {
  const std::string stat = firstLine("/proc/" + std::to_string(pid) + "/stat");
  const std::size_t nameEnd = stat.rfind(')');
  if (nameEnd == std::string::npos) return std::nullopt;
  std::istringstream fields(stat.substr(nameEnd + 1));
  std::string field;
  for (int number = 3; number <= 22; ++number)
    if (!(fields >> field)) return std::nullopt;
  return parseInteger(field);
}

bool isZombie(std::int64_t pid) {
  const std::string stat = firstLine("/proc/" + std::to_string(pid) + "/stat");
  const std::size_t nameEnd = stat.rfind(')');
  return nameEnd != std::string::npos && stat.substr(nameEnd).starts_with(") Z");
}

ProcessIdentity readThisProcess() {
  ProcessIdentity self;
  std::array<char, 256> host{};
  if (gethostname(host.data(), host.size() - 1) == 0) self.host = host.data();
  self.pid = getpid();
  self.startTime = startTimeOf(self.pid).value_or(0);
  self.bootId = firstLine("/proc/sys/kernel/random/boot_id");
  struct stat ns {};
  if (stat("/proc/self/ns/pid", &ns) == 0) self.pidNamespace = ns.st_ino;
  return self;
}

}  // namespace

const ProcessIdentity& thisProcess() {
  static const ProcessIdentity self = readThisProcess();
  return self;
}

Liveness livenessOf(const ProcessIdentity& process) {
  const ProcessIdentity& self = thisProcess();
  if (process.pid <= 0 || process.bootId.empty() || process.host != self.host) return Liveness::unknown;
  if (process.bootId != self.bootId) return Liveness::gone;
  if (process.pidNamespace == 0 || process.pidNamespace != self.pidNamespace) return Liveness::unknown;
  const std::optional<std::int64_t> startTime = startTimeOf(process.pid);
  if (!startTime || *startTime != process.startTime || isZombie(process.pid)) return Liveness::gone;
  return Liveness::alive;
}

}  // namespace tenure
