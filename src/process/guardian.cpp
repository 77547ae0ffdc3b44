#include "process/guardian.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdlib>

#include "process/guardian_main.hpp"
#include "process/helper.hpp"
#include "process/process_handle.hpp"
#include "process/process_tree.hpp"
#include "process/system_error.hpp"

namespace tenure {
namespace {

/// Started without one of them, the next socket would become somebody's standard output.
void openStandardDescriptors() noexcept {
  int opened = open("/dev/null", O_RDWR);
  while (opened >= 0 && opened <= 2) opened = open("/dev/null", O_RDWR);
  if (opened >= 0) close(opened);
}

/// Whether that process has ended by `limit`.
bool waitForEnd(const Descriptor& process, BootTime limit) noexcept {
  pollfd ended{process.get(), POLLIN, 0};
  const Duration left = std::max(limit - BootClock::now(), Duration::zero());
  return poll(&ended, 1, static_cast<int>(left / std::chrono::milliseconds{1})) == 1;
}

/// Forks a child that has every signal blocked from its first moment.
pid_t forkDeaf() noexcept {
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  sigprocmask(SIG_SETMASK, &all, &before);
  const pid_t pid = fork();
  const int error = errno;
  if (pid != 0) sigprocmask(SIG_SETMASK, &before, nullptr);
  errno = error;
  return pid;
}

}  // namespace

Result<Guardian> Guardian::start(std::span<const std::string> withheld) {
  openStandardDescriptors();
  Result<std::pair<Line, Line>> ends = Line::makePair();
  if (!ends) return ends.error();
  Descriptor tool = openProcess(getpid());
  if (!tool) return failed("pidfd_open");
  std::array<int, 2> pipe{};
  if (pipe2(pipe.data(), O_CLOEXEC) != 0) return failed("pipe");
  Descriptor ending{pipe[0]};
  Descriptor says{pipe[1]};  // the guardian's alone
  const pid_t pid = forkDeaf();
  if (pid < 0) return failed("fork");
  if (pid == 0) {
    for (const std::string& variable : withheld) unsetenv(variable.c_str());
    guard(std::move(ends->second), std::move(tool), std::move(says));
  }
  Descriptor process = openProcess(pid);
  if (!process) return failed("pidfd_open");  // it ends as its line does
  ends->first.letGoFirst();
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  return Guardian(pid, std::move(process), std::move(ends->first), std::move(ending));
}

Guardian::Guardian(Guardian&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)),
      process_(std::move(other.process_)),
      line_(std::move(other.line_)),
      ending_(std::move(other.ending_)),
      running_(other.running_) {}

Guardian::~Guardian() {
  if (pid_ < 0) return;
  line_.close();
  wake();
  constexpr std::chrono::seconds limit{10};  // its own limit for killing is half of this
  waitForEnd(process_, BootClock::now() + limit);
  waitpid(pid_, nullptr, WNOHANG);
}

void Guardian::wake() const noexcept { signalThrough(process_, SIGCONT); }

// A process that ends lets go of its descriptors first, and only then of its children: both have to be seen dead before
// we have all that they left.
Result<void> Guardian::clearUpAfter(pid_t keeper, const Descriptor& handle) const {
  constexpr std::chrono::seconds dying{1};
  constexpr std::chrono::seconds killing{5};
  if (!waitForEnd(process_, BootClock::now() + dying))
    return Error{Errc::unavailable, "the guardian process could not start the command (out of descriptors?)"};
  const BootTime giveUpAt = BootClock::now() + killing;
  bool proven = false;
  const bool isUnseen = !handle && keeper > 0 && (kill(keeper, 0) == 0 || errno != ESRCH);
  const bool hasEnded = handle ? waitForEnd(handle, giveUpAt) : !isUnseen;
  while (hasEnded && !(proven = endAdopted(pid_, Helper::running())) && BootClock::now() < giveUpAt) {
    constexpr int lookAgainMs = 20;
    poll(nullptr, 0, lookAgainMs);
  }
  if (proven) return {};
  return Error{Errc::outcomeUnknown, "guardian and keeper were killed; something of the command may still run"};
}

Result<Line> Guardian::spawn(const SpawnRequest& request, const std::array<int, 3>& standard) const {
  const Result<std::string> bytes = encode(request);
  if (!bytes) return bytes.error();
  Result<std::pair<Line, Line>> ends = Line::makePair();
  if (!ends) return ends.error();
  const std::array descriptors{ends->second.descriptor(), standard[0], standard[1], standard[2]};
  const Result<void> sent = line_.send(*bytes, descriptors);
  if (sent) return std::move(ends->first);
  if (!line_.otherEndGone()) return sent.error();
  return Error{Errc::unsupported, "the guardian process " + std::to_string(pid_) +
                                      " is gone (killed?): no command can be started until this process is restarted"};
}

}  // namespace tenure
