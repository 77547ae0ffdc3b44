#include "process/shim.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <system_error>

#include "base/secret_variables.hpp"
#include "process/control_group.hpp"
#include "process/process_tree.hpp"
#include "process/shim_machine.hpp"

namespace tenure {
namespace {

void restoreSignals() noexcept {
  for (int signal = 1; signal < NSIG; ++signal) ::signal(signal, SIG_DFL);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
}

/// The pipe behind SpawnRequest::termDescriptor: the term in lines, and its end of file when the shim closes it.
struct TermPipe {
  Descriptor command;
  Descriptor shim;
};

/// Throws std::system_error.
TermPipe makeTermPipe(const std::vector<std::string>& lines) {
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) throw std::system_error(errno, std::generic_category());
  TermPipe made{Descriptor{ends[0]}, Descriptor{ends[1]}};
  fcntl(ends[1], F_SETFL, O_NONBLOCK);  // what does not fit is not worth a shim that waits
  for (const std::string& line : lines)
    if (write(ends[1], (line + '\n').data(), line.size() + 1) < 0) break;
  return made;
}

/// What the command starts with, apart from its request.
struct SpawnPlan {
  std::array<Descriptor, 3> standard;
  TermPipe term{};
  std::optional<ControlGroup> group{};
};

/// dup2() that also lets an exec keep a descriptor which has the right number already.
void moveTo(int target, const Descriptor& descriptor) noexcept {
  if (descriptor.get() == target) fcntl(target, F_SETFD, 0);
  if (descriptor.get() != target) dup2(descriptor.get(), target);
}

/// In the command's own process. It dies with its shim even if that one is killed, unless it executes what the kernel
/// gives other rights (set-uid, set-gid, file capabilities): that takes the signal of the parent's death away.
[[noreturn]] void becomeCommand(const SpawnRequest& request, const SpawnPlan& plan, pid_t shim) {
  setsid();
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != shim) _exit(127);
  for (int target = 0; target < 3; ++target) dup2(plan.standard[static_cast<std::size_t>(target)].get(), target);
  if (plan.term.command) moveTo(request.termDescriptor, plan.term.command);
  for (const char* secret : secretVariables) unsetenv(secret);
  for (const char* ours : managerVariables) unsetenv(ours);
  for (const std::string& variable : request.environment) {
    const std::size_t equals = variable.find('=');
    setenv(variable.substr(0, equals).c_str(), variable.substr(equals + 1).c_str(), 1);
  }
  std::vector<char*> arguments;
  for (const std::string& argument : request.arguments) arguments.push_back(const_cast<char*>(argument.c_str()));
  arguments.push_back(nullptr);
  restoreSignals();
  execvp(arguments[0], arguments.data());
  const bool isAbsent = errno == ENOENT;
  dprintf(STDERR_FILENO, "tenure: %s: %s\n", arguments[0], strerror(errno));
  _exit(isAbsent ? 127 : 126);
}

class Shim {
 public:
  Shim(IpcChannel channel, const SpawnRequest& request)
      : channel_(std::move(channel)), machine_({request.until, request.grace, request.warning}) {
    sigset_t childEnded;
    sigemptyset(&childEnded);
    sigaddset(&childEnded, SIGCHLD);
    signals_ = Descriptor{signalfd(-1, &childEnded, SFD_CLOEXEC | SFD_NONBLOCK)};
    timer_ = Descriptor{timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC | TFD_NONBLOCK)};
  }

  /// Returns when it is over: whether nothing is left.
  bool run(const SpawnRequest& request, std::array<Descriptor, 3> standard) {
    static_cast<void>(channel_.sendRecord(ChildNews{ChildNews::Kind::begun, getpid()}));
    if (const int error = start(request, std::move(standard))) {
      say({.startError = error});
      return true;
    }
    if (command_ == 0) say(machine_.report());
    while (command_ != 0 && !over_) step();
    group_.reset();
    return machine_.report().nothingLeft;
  }

 private:
  /// Returns an errno. No command when there is no time left for one.
  int start(const SpawnRequest& request, std::array<Descriptor, 3> standard) try {
    SpawnPlan plan{std::move(standard)};
    if (request.termDescriptor > 0) plan.term = makeTermPipe(request.environment);
    if (request.controlGroup) plan.group = ControlGroup::make(getpid());
    if (!machine_.mayStart(BootClock::now())) return 0;
    const pid_t self = getpid();
    command_ = plan.group ? plan.group->fork() : fork();
    if (command_ == 0) becomeCommand(request, plan, self);
    if (command_ < 0) return errno;
    term_ = std::move(plan.term.shim);
    group_ = std::move(plan.group);
    return 0;
  } catch (const std::system_error& error) {
    return error.code().value();
  }

  void say(const ChildReport& report) const {
    static_cast<void>(channel_.sendRecord(ChildNews{ChildNews::Kind::over, getpid(), report}));
  }

  void step() {
    armTimer();
    std::array<pollfd, 3> waited{pollfd{channel_.descriptor(), POLLIN, 0}, pollfd{signals_.get(), POLLIN, 0},
                                 pollfd{timer_.get(), POLLIN, 0}};
    if (poll(waited.data(), waited.size(), -1) < 0) return;
    if (waited[1].revents != 0) reap();
    if (waited[2].revents != 0) feed(Tick{});
    if (waited[0].revents != 0 && !over_) hear();
  }

  void hear() {
    const std::optional<IpcChannel::Packet> packet = channel_.receive();
    if (!packet) {
      channel_.close();  // poll skips it from here on
      return feed(ToolGone{});
    }
    const std::optional<ChildOrder> order = readRecord<ChildOrder>(packet->bytes);
    if (!order) return;
    if (order->kind == ChildOrder::Kind::stop) return feed(StopAsked{});
    feed(DeadlineMoved{order->until});
  }

  void reap() {
    signalfd_siginfo ignored{};
    while (read(signals_.get(), &ignored, sizeof ignored) > 0) {
    }
    Reaped reaped;
    int status = 0;
    pid_t pid = 0;
    while ((pid = waitpid(-1, &status, WNOHANG)) > 0)
      if (pid == command_) reaped.commandStatus = status;
    reaped.nothingLeft = pid < 0 && errno == ECHILD;
    feed(reaped);
  }

  void feed(const ShimInput& input) {
    for (const ShimAction action : machine_.on(input, BootClock::now())) {
      switch (action) {
        case ShimAction::terminateAll:
          term_.close();
          askToEnd(true);
          break;
        case ShimAction::remindAll: askToEnd(false); break;
        case ShimAction::killAll: killAll(); break;
        case ShimAction::finish:
          over_ = true;
          if (!machine_.toolGone()) say(machine_.report());
      }
    }
  }

  /// Sends SIGTERM once per process, again only after an exec.
  void askToEnd(bool alsoNew) {
    for (const LiveProcess& process : descendantsOf(getpid())) {
      const auto known = std::find(asked_.begin(), asked_.end(), process);
      const bool isNew = known == asked_.end();
      if (isNew ? !alsoNew : known->name == process.name) continue;
      if (!isNew) asked_.erase(known);
      asked_.push_back(process);
      signalProcess(process, SIGTERM);
    }
  }

  /// The group first: nothing in it can run from one look at the tree to the next.
  void killAll() {
    if (group_) group_->killAll();
    term_.close();
    signalDescendants(SIGKILL);
  }

  /// On CLOCK_BOOTTIME, which a suspended machine does not stop.
  void armTimer() {
    itimerspec alarm{};
    if (machine_.wakeAt() != BootTime::max()) {
      const Duration at = std::max(machine_.wakeAt().time_since_epoch(), Duration{1});  // zero would disarm it
      alarm.it_value.tv_sec = at / std::chrono::seconds{1};
      alarm.it_value.tv_nsec = (at % std::chrono::seconds{1}).count();
    }
    timerfd_settime(timer_.get(), TFD_TIMER_ABSTIME, &alarm, nullptr);
  }

  IpcChannel channel_;
  ShimMachine machine_;
  Descriptor signals_;
  Descriptor timer_;
  Descriptor term_;
  std::optional<ControlGroup> group_;
  std::vector<LiveProcess> asked_;  // to end
  pid_t command_ = 0;
  bool over_ = false;
};

}  // namespace

void closeAllBut(std::vector<int> kept) noexcept {
  std::sort(kept.begin(), kept.end());
  unsigned first = 3;
  for (const int descriptor : kept) {
    const auto number = static_cast<unsigned>(descriptor);
    if (number > first) close_range(first, number - 1, 0);
    first = std::max(first, number + 1);
  }
  close_range(first, ~0U, 0);
}

void keep(IpcChannel channel, const SpawnRequest& request, std::array<Descriptor, 3> standard) noexcept {
  closeAllBut({channel.descriptor(), standard[0].get(), standard[1].get(), standard[2].get()});
  prctl(PR_SET_NAME, "tenure-shim");
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  _exit(Shim(std::move(channel), request).run(request, std::move(standard)) ? 0 : 1);
}

}  // namespace tenure
