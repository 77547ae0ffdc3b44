#include "process/supervisor.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <vector>

#include "process/control_group.hpp"
#include "process/descriptor.hpp"
#include "process/helper.hpp"
#include "process/process_tree.hpp"
#include "process/requests.hpp"
#include "process/shim.hpp"

namespace tenure {

namespace {

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

Result<Supervisor> Supervisor::start(std::span<const std::string> withheld) {
  openStandardDescriptors();
  Result<std::pair<IpcChannel, IpcChannel>> ends = IpcChannel::makePair();
  if (!ends) return ends.error();
  Descriptor tool = openProcess(getpid());
  if (!tool) return failed("pidfd_open");
  std::array<int, 2> pipe{};
  if (pipe2(pipe.data(), O_CLOEXEC) != 0) return failed("pipe");
  Descriptor ending{pipe[0]};
  Descriptor says{pipe[1]};  // the supervisor's alone
  const pid_t pid = forkDeaf();
  if (pid < 0) return failed("fork");
  if (pid == 0) {
    for (const std::string& variable : withheld) unsetenv(variable.c_str());
    guard(std::move(ends->second), std::move(tool), std::move(says));
  }
  Descriptor process = openProcess(pid);
  if (!process) return failed("pidfd_open");  // it ends as its line does
  ends->first.closeFirst();
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  return Supervisor(pid, std::move(process), std::move(ends->first), std::move(ending));
}

Supervisor::Supervisor(Supervisor&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)),
      process_(std::move(other.process_)),
      channel_(std::move(other.channel_)),
      ending_(std::move(other.ending_)),
      running_(other.running_) {}

Supervisor::~Supervisor() {
  if (pid_ < 0) return;
  channel_.close();
  wake();
  constexpr std::chrono::seconds limit{10};  // its own limit for killing is half of this
  waitForEnd(process_, BootClock::now() + limit);
  waitpid(pid_, nullptr, WNOHANG);
}

void Supervisor::wake() const noexcept { signalThrough(process_, SIGCONT); }

// A process that ends lets go of its descriptors first, and only then of its children: both have to be seen dead before
// we have all that they left.
Result<void> Supervisor::clearUpAfter(pid_t shim, const Descriptor& handle) const {
  constexpr std::chrono::seconds dying{1};
  constexpr std::chrono::seconds killing{5};
  if (!waitForEnd(process_, BootClock::now() + dying))
    return Error{Errc::unavailable, "the supervisor process could not start the command (out of descriptors?)"};
  const BootTime giveUpAt = BootClock::now() + killing;
  bool proven = false;
  const bool isUnseen = !handle && shim > 0 && (kill(shim, 0) == 0 || errno != ESRCH);
  const bool hasEnded = handle ? waitForEnd(handle, giveUpAt) : !isUnseen;
  while (hasEnded && !(proven = endAdopted(pid_, Helper::running())) && BootClock::now() < giveUpAt) {
    constexpr int lookAgainMs = 20;
    poll(nullptr, 0, lookAgainMs);
  }
  if (proven) return {};
  return Error{Errc::outcomeUnknown, "supervisor and shim were killed; something of the command may still run"};
}

Result<IpcChannel> Supervisor::spawn(const SpawnRequest& request, const std::array<int, 3>& standard) const {
  const Result<std::string> bytes = encode(request);
  if (!bytes) return bytes.error();
  Result<std::pair<IpcChannel, IpcChannel>> ends = IpcChannel::makePair();
  if (!ends) return ends.error();
  const std::array descriptors{ends->second.descriptor(), standard[0], standard[1], standard[2]};
  const Result<void> sent = channel_.send(*bytes, descriptors);
  if (sent) return std::move(ends->first);
  if (!channel_.otherEndGone()) return sent.error();
  return Error{Errc::unsupported, "the supervisor process " + std::to_string(pid_) +
                                      " is gone (killed?): no command can be started until this process is restarted"};
}

namespace {

/// Out of the tool's session and process group, holding nothing of the tool's open.
void stepAside(const IpcChannel& channel, const Descriptor& tool, const Descriptor& ending) {
  setsid();
  signal(SIGCHLD, SIG_DFL);  // were it ignored, the dead would not be reported
  closeAllBut({channel.descriptor(), tool.get(), ending.get()});
  const int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
  for (int standard = 0; standard < 3; ++standard) dup2(nothing, standard);
  prctl(PR_SET_NAME, "tenure-superv");  // the kernel keeps 15 characters
  prctl(PR_SET_CHILD_SUBREAPER, 1);
}

class SupervisorMain {
 public:
  SupervisorMain(IpcChannel channel, Descriptor tool) : channel_(std::move(channel)), tool_(std::move(tool)) {
    sigset_t childEnded;
    sigemptyset(&childEnded);
    sigaddset(&childEnded, SIGCHLD);
    signals_ = Descriptor{signalfd(-1, &childEnded, SFD_CLOEXEC | SFD_NONBLOCK)};
  }

  /// When the shims are gone as well.
  void removeGroups() {
    for (const std::vector<Kept>* all : {&shims_, &lost_})
      for (const Kept& kept : *all) ControlGroup::removeAfter(kept.shim);
  }

  /// Returns when the tool has closed the line or is dead.
  void serve() {
    while (true) {
      std::array<pollfd, 3> waited{pollfd{channel_.descriptor(), POLLIN, 0}, pollfd{tool_.get(), POLLIN, 0},
                                   pollfd{signals_.get(), POLLIN, 0}};
      if (poll(waited.data(), waited.size(), lost_.empty() ? -1 : lookAgainMs) < 0) continue;
      if (waited[1].revents != 0) return;
      if (waited[2].revents != 0) reap();
      if (!lost_.empty()) answerForTheLost();
      if (waited[0].revents == 0) continue;
      std::optional<IpcChannel::Packet> packet = channel_.receive();
      if (!packet) return;
      startShim(std::move(*packet));
    }
  }

 private:
  static constexpr int lookAgainMs = 20;
  static constexpr std::chrono::seconds giveUpAfter{5};

  /// A shim, and its end of the child's line: the supervisor answers for it if it is killed.
  struct Kept {
    pid_t shim = 0;
    IpcChannel channel;
    BootTime giveUpAt{};
  };

  void startShim(IpcChannel::Packet packet) {
    const std::optional<SpawnRequest> request = decodeSpawnRequest(packet.bytes);
    if (!request || packet.descriptors.size() != 4) return;  // the child's line closes and says so
    if (request->controlGroup) clearUpBeforeTheFirst();
    std::vector<Descriptor>& passed = packet.descriptors;
    IpcChannel childChannel{std::move(passed[0])};
    const pid_t shim = fork();
    if (shim == 0)
      keep(std::move(childChannel), *request, {std::move(passed[1]), std::move(passed[2]), std::move(passed[3])});
    if (shim > 0) return shims_.push_back({shim, std::move(childChannel)});
    static_cast<void>(childChannel.sendRecord(ChildNews{ChildNews::Kind::over, 0, {.startError = errno}}));
  }

  /// What another supervisor could not end any more must not go on beside a command of ours.
  void clearUpBeforeTheFirst() {
    constexpr std::chrono::seconds once{1};  // a command that follows another one needs no look
    const BootTime now = BootClock::now();
    if (shims_.empty() && now >= lastCommandAt_ + once) ControlGroup::removeAfterTheGone();
    lastCommandAt_ = now;
  }

  void reap() {
    signalfd_siginfo ignored{};
    while (read(signals_.get(), &ignored, sizeof ignored) > 0) {
    }
    int status = 0;
    for (pid_t pid = 0; (pid = waitpid(-1, &status, WNOHANG | WUNTRACED)) > 0;) {
      const auto kept = std::find_if(shims_.begin(), shims_.end(), [pid](const Kept& k) { return k.shim == pid; });
      if (kept == shims_.end()) continue;
      if (WIFSTOPPED(status)) {
        kill(pid, SIGCONT);  // a stopped shim would never end its command
        continue;
      }
      kept->giveUpAt = BootClock::now() + giveUpAfter;
      if (status != 0) lost_.push_back(std::move(*kept));  // it was killed, or could not kill
      shims_.erase(kept);
    }
  }

  /// The supervisor has adopted what lost shims left, and cannot tell whose: no command has ended before all have.
  void answerForTheLost() {
    const bool noneLeft = endAdopted(getpid());
    std::erase_if(lost_, [&](Kept& lost) {
      const bool nothingLeft = ControlGroup::removeAfter(lost.shim) && noneLeft;  // the group dies in any case
      if (!nothingLeft && BootClock::now() < lost.giveUpAt) return false;
      const ChildReport report{SIGKILL, EndCause::shimLost, true, nothingLeft};
      if (lost.channel.descriptor() >= 0)
        static_cast<void>(lost.channel.sendRecord(ChildNews{ChildNews::Kind::over, lost.shim, report}));
      lost.channel.close();
      return nothingLeft;
    });
  }

  IpcChannel channel_;
  Descriptor tool_;
  Descriptor signals_;
  BootTime lastCommandAt_{};
  std::vector<Kept> shims_;
  std::vector<Kept> lost_;  // commands without a shim, some of whose processes may live
};

}  // namespace

void guard(IpcChannel channel, Descriptor tool, Descriptor ending) noexcept {
  stepAside(channel, tool, ending);
  SupervisorMain supervisor(std::move(channel), std::move(tool));
  supervisor.serve();
  const bool nothingLeft = endDescendants();
  const bool said = nothingLeft && write(ending.get(), "", 1) == 1;
  supervisor.removeGroups();
  _exit(said ? 0 : 1);
}

}  // namespace tenure
