#include "process/helper.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <filesystem>
#include <mutex>
#include <string_view>
#include <vector>

#include "process/descriptor.hpp"

#if !defined(TENURE_LIBEXEC) || !defined(TENURE_LIBEXEC_FROM_BIN)
#error "the folder of installed helpers, and the way to it from the folder of installed programs, by the build"
#endif

/// In a program that was linked with an installed library: where that library's helpers are. The CMake package adds it.
extern "C" __attribute__((weak)) const char tenureHelpers[];

namespace tenure {
namespace {

// What the helper finds open.
constexpr int linePlace = 3;
constexpr int ownerPlace = 4;
constexpr int firstFree = 5;

constexpr int farewellMs = 1'000;

Error failed(const std::string& what, int error) {
  return {Errc::unavailable, what + ": " + std::generic_category().message(error)};
}

/// Out of the way of the places above, so that none of them is overwritten before it is copied.
Descriptor outOfTheWay(int number) noexcept { return Descriptor{fcntl(number, F_DUPFD_CLOEXEC, firstFree)}; }

/// What the loader, the resolver and the sanitizers read, and nothing else: an environment may hold secrets.
std::vector<char*> barestEnvironment() {
  std::vector<char*> kept;
  for (char** variable = environ; *variable != nullptr; ++variable) {
    const std::string_view text = *variable;
    const std::string_view name = text.substr(0, text.find('='));
    if (name.starts_with("LD_") || name.ends_with("SAN_OPTIONS") || name == "RES_OPTIONS" || name == "LOCALDOMAIN")
      kept.push_back(*variable);
  }
  kept.push_back(nullptr);
  return kept;
}

/// How the helper is born: in a session of its own, deaf from its first moment, nothing but its posts open.
class Birth {
 public:
  Birth(int channel, int owner) {
    posix_spawnattr_init(&attributes_);
    posix_spawn_file_actions_init(&actions_);
    sigset_t all;
    sigfillset(&all);
    posix_spawnattr_setsigmask(&attributes_, &all);
    posix_spawnattr_setflags(&attributes_, POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGMASK);
    for (int standard = 0; standard < 3; ++standard)
      posix_spawn_file_actions_addopen(&actions_, standard, "/dev/null", O_RDWR, 0);
    posix_spawn_file_actions_adddup2(&actions_, channel, linePlace);
    posix_spawn_file_actions_adddup2(&actions_, owner, ownerPlace);
    posix_spawn_file_actions_addclosefrom_np(&actions_, firstFree);
  }
  ~Birth() {
    posix_spawn_file_actions_destroy(&actions_);
    posix_spawnattr_destroy(&attributes_);
  }
  Birth(const Birth&) = delete;
  Birth& operator=(const Birth&) = delete;

  /// 0, or why not.
  int of(const std::string& program, pid_t& pid) const {
    const std::array<char*, 2> arguments{const_cast<char*>(program.c_str()), nullptr};
    const std::vector<char*> environment = barestEnvironment();
    return posix_spawn(&pid, program.c_str(), &actions_, &attributes_, arguments.data(), environment.data());
  }

 private:
  posix_spawnattr_t attributes_{};
  posix_spawn_file_actions_t actions_{};
};

/// As the kernel's list of our children, it is one for the whole process.
struct Running {
  std::mutex mutex;
  std::vector<pid_t> pids;
};

Running& allRunning() {
  static Running running;
  return running;
}

/// By its handle: where the program waits for any child, the helper's number may be another child's by now.
void waitFor(pid_t helper, const Descriptor& process) {
  siginfo_t ended{};
  while (waitid(P_PIDFD, static_cast<id_t>(process.get()), &ended, WEXITED) < 0 && errno == EINTR) {
  }
  const std::lock_guard lock(allRunning().mutex);
  std::erase(allRunning().pids, helper);
}

}  // namespace

std::vector<pid_t> Helper::running() {
  const std::lock_guard lock(allRunning().mutex);
  return allRunning().pids;
}

Result<Helper> Helper::start(const std::string& program) {
  Result<std::pair<IpcChannel, IpcChannel>> ends = IpcChannel::makePair();
  if (!ends) return ends.error();
  const Descriptor self = openProcess(getpid());
  if (!self) return failed("pidfd_open", errno);
  const Descriptor channel = outOfTheWay(ends->second.descriptor());
  const Descriptor owner = outOfTheWay(self.get());
  if (!channel || !owner) return failed("fcntl", errno);
  pid_t pid = -1;
  if (const int error = Birth(channel.get(), owner.get()).of(program, pid); error != 0) return failed(program, error);
  {
    const std::lock_guard lock(allRunning().mutex);
    allRunning().pids.push_back(pid);
  }
  Descriptor process = openProcess(pid);
  ends->first.closeFirst();
  if (process) return Helper(pid, std::move(ends->first), std::move(process));
  const int error = errno;
  // By number it is neither killed nor waited for: a program that reaps any child may have made the number another's.
  // Without its channel it ends by itself.
  const std::lock_guard lock(allRunning().mutex);
  std::erase(allRunning().pids, pid);
  return failed("pidfd_open", error);
}

Helper::Helper(Helper&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)), channel_(std::move(other.channel_)), process_(std::move(other.process_)) {}

void Helper::kill() const noexcept { signalThrough(process_, SIGKILL); }

Helper::~Helper() {
  if (pid_ < 0) return;
  channel_.close();
  pollfd ended{process_.get(), POLLIN, 0};
  if (poll(&ended, 1, farewellMs) != 1) kill();
  waitFor(pid_, process_);
}

Result<std::string> findHelper(const std::string& name) {
  std::error_code unreadable;
  const std::filesystem::path here = std::filesystem::read_symlink("/proc/self/exe", unreadable).parent_path();
  std::vector<std::filesystem::path> folders{here, (here / TENURE_LIBEXEC_FROM_BIN).lexically_normal()};
  if (tenureHelpers != nullptr) folders.emplace_back(tenureHelpers);
  folders.emplace_back(TENURE_LIBEXEC);
  std::string looked;
  for (const std::filesystem::path& folder : folders) {
    const std::filesystem::path place = folder / name;
    if (place.is_absolute() && access(place.c_str(), X_OK) == 0) return place.string();
    looked += (looked.empty() ? "" : ", ") + place.string();
  }
  return Error{Errc::notFound, "no program to be run at any of " + looked};
}

Result<HelperPost> becomeHelper(const char* name) {
  int type = 0;
  socklen_t size = sizeof type;
  const bool isLine = getsockopt(linePlace, SOL_SOCKET, SO_TYPE, &type, &size) == 0 && type == SOCK_SEQPACKET;
  if (!isLine || fcntl(ownerPlace, F_GETFD) < 0)
    return Error{Errc::invalidArgument, std::string(name) + " is started by a candidate, not by hand"};
  for (const int place : {linePlace, ownerPlace}) fcntl(place, F_SETFD, FD_CLOEXEC);
  prctl(PR_SET_DUMPABLE, 0);
  const rlimit none{0, 0};
  setrlimit(RLIMIT_CORE, &none);
  if (chdir("/") != 0) return failed("chdir", errno);
  return HelperPost{IpcChannel{Descriptor{linePlace}}, Descriptor{ownerPlace}, getppid()};
}

}  // namespace tenure
