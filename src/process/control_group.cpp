#include "process/control_group.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <fstream>
#include <sstream>

#include "process/descriptor.hpp"

namespace tenure {
namespace {

/// Where the hierarchy is mounted, and which part of it.
struct Mount {
  std::string root;
  std::string point;
};

/// Of a line of /proc/self/mountinfo: number parent device ROOT POINT options… - TYPE source options
std::optional<Mount> mountIn(const std::string& line) {
  std::istringstream words(line);
  std::string skipped;
  Mount mount;
  if (!(words >> skipped >> skipped >> skipped >> mount.root >> mount.point)) return std::nullopt;
  const bool isUnified = line.find(" - cgroup2 ") != std::string::npos;
  const bool isEscaped = mount.point.find('\\') != std::string::npos;  // a place with blanks: not worth a parser
  return isUnified && !isEscaped ? std::optional(mount) : std::nullopt;
}

std::optional<Mount> unifiedMount() {
  std::ifstream mounts("/proc/self/mountinfo");
  for (std::string line; std::getline(mounts, line);)
    if (auto mount = mountIn(line)) return mount;
  return std::nullopt;
}

/// The calling process's place in the hierarchy, "/" at its root.
std::optional<std::string> ownPlace() {
  std::ifstream places("/proc/self/cgroup");
  for (std::string line; std::getline(places, line);)
    if (line.rfind("0::/", 0) == 0) return line.substr(3);
  return std::nullopt;
}

std::optional<std::string> groupPath(pid_t keeper) {
  const std::optional<Mount> mount = unifiedMount();
  std::optional<std::string> place = ownPlace();
  if (!mount || !place || place->find("/..") != std::string::npos) return std::nullopt;
  if (mount->root != "/") {
    if (place->rfind(mount->root, 0) != 0) return std::nullopt;
    place->erase(0, mount->root.size());
  }
  if (!place->empty() && place->back() == '/') place->pop_back();
  return mount->point + *place + "/tenure-" + std::to_string(keeper);
}

void writeInto(const std::string& file, char text) noexcept {
  const Descriptor descriptor{open(file.c_str(), O_WRONLY | O_CLOEXEC)};
  if (!descriptor) return;
  while (write(descriptor.get(), &text, 1) < 0 && errno == EINTR) {
  }
}

}  // namespace

std::optional<ControlGroup> ControlGroup::make(pid_t keeper) {
  std::optional<std::string> path = groupPath(keeper);
  if (!path || mkdir(path->c_str(), 0755) != 0) return std::nullopt;
  return ControlGroup(*std::move(path));
}

ControlGroup::~ControlGroup() {
  if (!path_.empty()) rmdir(path_.c_str());
}

void ControlGroup::enter() const noexcept { writeInto(path_ + "/cgroup.procs", '0'); }
void ControlGroup::killAll() const noexcept { writeInto(path_ + "/cgroup.kill", '1'); }

bool ControlGroup::removeAfter(pid_t keeper) {
  const std::optional<std::string> path = groupPath(keeper);
  if (!path) return true;
  writeInto(*path + "/cgroup.kill", '1');
  return rmdir(path->c_str()) == 0 || errno != EBUSY;
}

}  // namespace tenure
