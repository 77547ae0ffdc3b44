#include "process/control_group.hpp"

#include <fcntl.h>
#include <linux/sched.h>
#include <poll.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
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

/// The folder of the calling process's group.
std::optional<std::string> ownFolder() {
  const std::optional<Mount> mount = unifiedMount();
  std::optional<std::string> place = ownPlace();
  if (!mount || !place || place->find("/..") != std::string::npos) return std::nullopt;
  if (mount->root != "/") {
    if (place->rfind(mount->root, 0) != 0) return std::nullopt;
    place->erase(0, mount->root.size());
  }
  if (!place->empty() && place->back() == '/') place->pop_back();
  return mount->point + *place;
}

/// What the groups of our shims begin with: a pid says who it is only beside its namespace.
std::string ownPrefix() {
  struct stat space {};
  stat("/proc/self/ns/pid", &space);
  return "tenure-" + std::to_string(space.st_ino) + "-";
}

std::optional<std::string> groupPath(pid_t shim) {
  const std::optional<std::string> folder = ownFolder();
  if (!folder) return std::nullopt;
  return *folder + "/" + ownPrefix() + std::to_string(shim);
}

void writeInto(const std::string& file, char text) noexcept {
  const Descriptor descriptor{open(file.c_str(), O_WRONLY | O_CLOEXEC)};
  if (!descriptor) return;
  while (write(descriptor.get(), &text, 1) < 0 && errno == EINTR) {
  }
}

}  // namespace

std::optional<ControlGroup> ControlGroup::make(pid_t shim) {
  std::optional<std::string> path = groupPath(shim);
  if (!path || mkdir(path->c_str(), 0755) != 0) return std::nullopt;
  return ControlGroup(*std::move(path));
}

ControlGroup::~ControlGroup() {
  if (!path_.empty()) rmdir(path_.c_str());
}

pid_t ControlGroup::fork() const noexcept {
  const Descriptor folder{open(path_.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC)};
  clone_args how{};
  how.flags = CLONE_INTO_CGROUP;
  how.exit_signal = SIGCHLD;
  how.cgroup = static_cast<std::uint64_t>(folder.get());
  if (const long child = folder ? syscall(SYS_clone3, &how, sizeof how) : -1; child >= 0)
    return static_cast<pid_t>(child);
  const pid_t child = ::fork();  // a kernel before 5.7, or a filter of system calls
  if (child == 0) writeInto(path_ + "/cgroup.procs", '0');
  return child;
}
void ControlGroup::killAll() const noexcept { writeInto(path_ + "/cgroup.kill", '1'); }

bool ControlGroup::removeAfter(pid_t shim) {
  const std::optional<std::string> path = groupPath(shim);
  if (!path) return true;
  writeInto(*path + "/cgroup.kill", '1');
  return rmdir(path->c_str()) == 0 || errno != EBUSY;
}

void ControlGroup::removeAfterTheGone() {
  const std::optional<std::string> own = ownFolder();
  const std::string prefix = ownPrefix();
  std::error_code unseen;
  if (!own) return;
  for (std::filesystem::directory_iterator entry(*own, unseen), end; !unseen && entry != end; entry.increment(unseen)) {
    const std::string name = entry->path().filename();
    const pid_t shim = name.starts_with(prefix) ? std::atoi(name.c_str() + prefix.size()) : 0;
    if (shim <= 0 || kill(shim, 0) == 0 || errno != ESRCH) continue;
    constexpr int looks = 200;
    for (int look = 0; !removeAfter(shim) && look < looks; ++look) poll(nullptr, 0, 5);
  }
}

}  // namespace tenure
