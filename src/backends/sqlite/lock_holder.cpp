#include "backends/sqlite/lock_holder.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <fstream>
#include <memory>
#include <utility>

#include "process/process_identity.hpp"

namespace tenure::sqlite {
namespace {

// The bytes that SQLite locks: in the database file (os.h), and in the -shm file of WAL mode (wal.c).
constexpr off_t pendingByte = 0x40000000;
constexpr off_t reservedByte = pendingByte + 1;
constexpr off_t sharedFirst = pendingByte + 2;
constexpr off_t sharedSize = 510;
constexpr off_t walWriteByte = 120;

/// A descriptor of this process that is open on the file; it stays SQLite's.
std::optional<int> ownDescriptor(const std::filesystem::path& file) {
  struct stat wanted {};
  if (stat(file.c_str(), &wanted) != 0) return std::nullopt;
  const std::unique_ptr<DIR, int (*)(DIR*)> directory(opendir("/proc/self/fd"), &closedir);
  if (directory == nullptr) return std::nullopt;
  while (const dirent* entry = readdir(directory.get())) {
    char* end = nullptr;
    const auto number = static_cast<int>(std::strtol(entry->d_name, &end, 10));
    if (end == entry->d_name || *end != '\0') continue;
    struct stat open {};
    if (fstat(number, &open) == 0 && open.st_dev == wanted.st_dev && open.st_ino == wanted.st_ino) return number;
  }
  return std::nullopt;
}

std::optional<pid_t> whoBlocks(int descriptor, off_t first, off_t size) {
  struct flock lock {};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  lock.l_start = first;
  lock.l_len = size;
  if (fcntl(descriptor, F_GETLK, &lock) != 0 || lock.l_type == F_UNLCK || lock.l_pid <= 0) return std::nullopt;
  return lock.l_pid;
}

class PidDescriptor {
 public:
  explicit PidDescriptor(pid_t pid) noexcept : descriptor_(static_cast<int>(syscall(SYS_pidfd_open, pid, 0))) {}
  ~PidDescriptor() {
    if (descriptor_ >= 0) close(descriptor_);
  }
  PidDescriptor(const PidDescriptor&) = delete;
  PidDescriptor& operator=(const PidDescriptor&) = delete;

  bool isOpen() const noexcept { return descriptor_ >= 0; }
  bool kill() const noexcept { return syscall(SYS_pidfd_send_signal, descriptor_, SIGKILL, nullptr, 0) == 0; }
  /// A process that has ended has given up its locks, whether or not its parent has noticed.
  bool waitUntilGone(std::chrono::milliseconds limit) const noexcept {
    pollfd waiting{.fd = descriptor_, .events = POLLIN, .revents = 0};
    const BootTime deadline = BootClock::now() + limit;
    for (;;) {
      const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - BootClock::now());
      if (left <= left.zero()) return false;
      const int ready = poll(&waiting, 1, static_cast<int>(left.count()));
      if (ready > 0) return true;
      if (ready < 0 && errno != EINTR) return false;
    }
  }

 private:
  int descriptor_;
};

/// By a signal, or a debugger.
bool isStopped(pid_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
  std::string stat;
  std::getline(file, stat);
  const std::size_t nameEnd = stat.rfind(") ");  // the name may hold anything
  return nameEnd != std::string::npos && (stat[nameEnd + 2] == 'T' || stat[nameEnd + 2] == 't');
}

std::optional<Duration> processorTimeOf(pid_t pid) {
  clockid_t clock{};
  timespec time{};
  if (clock_getcpuclockid(pid, &clock) != 0 || clock_gettime(clock, &time) != 0) return std::nullopt;
  return std::chrono::seconds{time.tv_sec} + std::chrono::nanoseconds{time.tv_nsec};
}

std::string failure(const char* call) { return std::string(call) + ": " + std::strerror(errno); }

}  // namespace

std::optional<pid_t> lockHolder(const std::filesystem::path& file) {
  if (const std::optional<int> database = ownDescriptor(file)) {
    // The writer first, then a process about to write, then a reader that keeps a commit waiting.
    if (const auto pid = whoBlocks(*database, reservedByte, 1)) return pid;
    if (const auto pid = whoBlocks(*database, pendingByte, 1)) return pid;
    if (const std::optional<int> shared = ownDescriptor(file.string() + "-shm"))
      return whoBlocks(*shared, walWriteByte, 1);
    return whoBlocks(*database, sharedFirst, sharedSize);
  }
  return std::nullopt;
}

std::optional<pid_t> walKeeper(const std::filesystem::path& file) {
  const std::optional<int> database = ownDescriptor(file);
  return database ? whoBlocks(*database, sharedFirst, sharedSize) : std::nullopt;
}

Eviction evictHolder(const std::filesystem::path& file, std::span<const ProcessIdentity> suspects,
                     std::optional<HolderLook>& first, std::chrono::milliseconds limit) {
  using enum Eviction::Outcome;
  const std::optional<HolderLook> before = std::exchange(first, std::nullopt);
  const std::optional<pid_t> holder = lockHolder(file);
  if (!holder) return {.detail = "no other process is seen to hold the lock"};
  const std::string who = "process " + std::to_string(*holder);
  const auto suspect = std::find_if(suspects.begin(), suspects.end(), [&](const ProcessIdentity& process) {
    return process.pid == *holder && livenessOf(process) == Liveness::alive;
  });
  if (suspect == suspects.end())
    return {*holder, refused, who + " holds the lock and is not proven to be the predecessor"};
  const PidDescriptor process(*holder);
  if (!process.isOpen()) return {*holder, refused, who + ": " + failure("pidfd_open")};
  if (!isStopped(*holder)) {
    const auto ran = processorTimeOf(*holder);
    if (!ran) return {*holder, refused, who + " holds the lock, and whether it is frozen cannot be seen"};
    const bool isKnown = before && before->process == *suspect;
    if (isKnown && before->ran != *ran) return {*holder, refused, who + " holds the lock and is at work"};
    first = isKnown ? before : HolderLook{*suspect, BootClock::now(), *ran};
    if (BootClock::now() - first->at < frozenFor) return {*holder, suspected};
  }
  if (livenessOf(*suspect) != Liveness::alive || lockHolder(file) != holder) return {*holder, released};
  if (!isStopped(*holder) && (!first || processorTimeOf(*holder) != first->ran)) return {*holder, suspected};
  if (!process.kill()) return {*holder, refused, who + ": " + failure("pidfd_send_signal")};
  if (!process.waitUntilGone(limit)) return {*holder, refused, who + " was killed but does not go"};
  return {*holder, evicted};
}

}  // namespace tenure::sqlite
