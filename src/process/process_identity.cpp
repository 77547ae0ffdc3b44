#include "process/process_identity.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <fstream>
#include <limits>
#include <sstream>
#include <string_view>

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

/// The name in field 2 may hold spaces and parentheses.
std::optional<ProcessStat> readProcessStat(pid_t pid) {
  std::array<char, 64> path{};
  std::snprintf(path.data(), path.size(), "/proc/%d/stat", static_cast<int>(pid));
  const int file = open(path.data(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return std::nullopt;
  std::array<char, 1024> text{};
  const ssize_t size = read(file, text.data(), text.size() - 1);
  close(file);
  if (size <= 0) return std::nullopt;
  const std::string_view line(text.data());
  const std::size_t nameBegin = line.find('(');
  const std::size_t nameEnd = line.rfind(')');
  if (nameBegin == std::string_view::npos || nameEnd == std::string_view::npos) return std::nullopt;
  ProcessStat stat{.pid = pid, .name = std::string(line.substr(nameBegin + 1, nameEnd - nameBegin - 1))};
  int parent = 0;
  long long threads = 0;
  long long startTime = 0;
  // Fields 3, 4, 20 and 22.
  if (std::sscanf(text.data() + nameEnd + 1,
                  " %c %d %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %lld %*s %lld", &stat.state,
                  &parent, &threads, &startTime) != 4)
    return std::nullopt;
  stat.parent = parent;
  stat.threads = threads;
  stat.startTime = startTime;
  return stat;
}

}  // namespace tenure
