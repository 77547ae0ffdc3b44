#include "process/process_identity.hpp"

#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <fstream>
#include <limits>
#include <sstream>

#include "process/process_stat.hpp"

namespace tenure {
namespace {

std::string firstLine(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

/// What follows `key` on its line; empty without one.
std::string valueIn(const std::string& path, std::string_view key) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);)
    if (line.starts_with(key)) return line.substr(key.size());
  return {};
}

/// Each namespace below that of the /proc that we see gives us one more number.
bool procIsOfOurNamespace() {
  std::istringstream numbers(valueIn("/proc/self/status", "NSpid:"));
  std::int64_t number = 0;
  std::int64_t another = 0;
  return numbers >> number && number == getpid() && !(numbers >> another);
}

/// In a time namespace start times are shown as its clock would have them.
bool clockIsTheMachines() {
  std::istringstream offset(valueIn("/proc/self/timens_offsets", "boottime"));
  std::int64_t seconds = 0;
  std::int64_t nanoseconds = 0;
  offset >> seconds >> nanoseconds;
  return seconds == 0 && nanoseconds == 0;
}

ProcessIdentity readThisProcess() {
  ProcessIdentity self;
  std::array<char, 256> host{};
  if (gethostname(host.data(), host.size() - 1) == 0) self.host = host.data();
  self.pid = getpid();
  self.bootId = firstLine("/proc/sys/kernel/random/boot_id");
  if (!procIsOfOurNamespace() || !clockIsTheMachines()) return self;
  if (const auto stat = readProcessStat(getpid())) self.startTime = stat->startTime;
  struct stat space {};
  if (self.startTime > 0 && stat("/proc/self/ns/pid", &space) == 0) self.pidNamespace = space.st_ino;
  return self;
}

bool canBeCompared(const ProcessIdentity& process, const ProcessIdentity& self) {
  return !process.bootId.empty() && process.bootId == self.bootId && process.pidNamespace != 0 &&
         process.pidNamespace == self.pidNamespace && process.pid > 0 &&
         process.pid <= std::numeric_limits<pid_t>::max();
}

}  // namespace

const ProcessIdentity& thisProcess() {
  static const ProcessIdentity self = readThisProcess();
  return self;
}

Liveness livenessOf(const ProcessIdentity& process) {
  if (!canBeCompared(process, thisProcess())) return Liveness::unknown;
  const auto pid = static_cast<pid_t>(process.pid);
  if (kill(pid, 0) != 0 && errno == ESRCH) return Liveness::gone;
  const std::optional<ProcessStat> stat = readProcessStat(pid);
  if (!stat) return Liveness::unknown;
  if (stat->startTime != process.startTime) return Liveness::gone;
  return stat->isDead() ? Liveness::unknown : Liveness::alive;
}

}  // namespace tenure
