#include "process/process_stat.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <string_view>

namespace tenure {

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
