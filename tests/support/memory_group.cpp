#include "support/memory_group.hpp"

#include <unistd.h>

#include <fstream>
#include <sstream>
#include <string>

namespace tenure::test {
namespace {

namespace fs = std::filesystem;

/// Where our own group of the memory controller is, or nothing.
std::optional<fs::path> ownGroup() {
  constexpr const char* roots[] = {"/sys/fs/cgroup/memory", "/sys/fs/cgroup"};
  std::ifstream places("/proc/self/cgroup");
  for (std::string line; std::getline(places, line);) {
    const std::string place = line.substr(line.rfind(':') + 1);
    if (line.find(":memory:") != std::string::npos) return fs::path(roots[0] + place);
    if (line.starts_with("0::") && fs::exists("/sys/fs/cgroup/cgroup.controllers")) return fs::path(roots[1] + place);
  }
  return std::nullopt;
}

bool put(const fs::path& file, const std::string& value) {
  std::ofstream out(file);
  return out.is_open() && out << value << std::flush;
}

/// Without swap, which would put the end off. Version 1 first.
bool limit(const fs::path& group, std::size_t bytes) {
  const std::string size = std::to_string(bytes);
  if (put(group / "memory.limit_in_bytes", size)) return put(group / "memory.swappiness", "0");
  if (!put(group / "memory.max", size)) return false;
  put(group / "memory.swap.max", "0");  // absent where there is no swap
  return true;
}

}  // namespace

std::optional<MemoryGroup> MemoryGroup::make(std::size_t bytes) {
  static int made = 0;
  const std::optional<fs::path> own = ownGroup();
  if (!own) return std::nullopt;
  const fs::path path = *own / ("tenure-test-" + std::to_string(getpid()) + "-" + std::to_string(++made));
  std::error_code refused;
  if (!fs::create_directory(path, refused) || refused) return std::nullopt;
  MemoryGroup group(path);
  return limit(path, bytes) ? std::optional(std::move(group)) : std::nullopt;
}

MemoryGroup::~MemoryGroup() {
  if (!path_.empty()) eventually([this] { return rmdir(path_.c_str()) == 0 || errno != EBUSY; });
}

Program::Arguments MemoryGroup::around(const Program::Arguments& command) const {
  Program::Arguments words{"sh", "-c", "echo $$ > \"$0\" && exec \"$@\"", path_ / "cgroup.procs"};
  words.insert(words.end(), command.begin(), command.end());
  return words;
}

}  // namespace tenure::test
