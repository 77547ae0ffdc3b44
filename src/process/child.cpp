#include "process/child.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>

#include "process/descriptor.hpp"

namespace tenure {
namespace {

using namespace std::chrono_literals;

Result<Descriptor> memoryFile(std::string_view content) {
  Descriptor file{memfd_create("message", MFD_CLOEXEC | MFD_ALLOW_SEALING)};
  if (!file) return failed("memfd_create");
  while (!content.empty()) {
    const ssize_t written = write(file.get(), content.data(), content.size());
    if (written < 0 && errno != EINTR) return failed("write to memory");
    if (written > 0) content.remove_prefix(static_cast<std::size_t>(written));
  }
  lseek(file.get(), 0, SEEK_SET);
  fcntl(file.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE);
  return file;
}

SpawnRequest requestFor(const ChildCommand& command, const ChildLimits& limits, BootTime until) {
  SpawnRequest request{
      until, limits.grace, limits.warning, command.termDescriptor, command.controlGroup, command.arguments, {}};
  for (const auto& [name, value] : command.environment)
    request.environment.push_back(std::string(name).append("=").append(value));
  return request;
}

ChildEnd endFrom(const ChildReport& report) {
  ChildEnd end{.exitCode = {},
               .signal = 0,
               .cause = report.cause,
               .killed = report.killed,
               .nothingLeft = report.nothingLeft,
               .ran = {}};
  if (WIFEXITED(report.waitStatus)) end.exitCode = WEXITSTATUS(report.waitStatus);
  if (WIFSIGNALED(report.waitStatus)) end.signal = WTERMSIG(report.waitStatus);
  return end;
}

/// What a command says on one of its streams, and the end of that.
class OutputPipe {
 public:
  using Sink = std::function<void(std::string_view bytes)>;

  explicit OutputPipe(Sink sink) : sink_(std::move(sink)) {}

  /// An errno, or 0.
  int open() {
    std::array<int, 2> ends{};
    if (pipe2(ends.data(), O_CLOEXEC) != 0) return errno;
    ours_ = Descriptor{ends[0]};
    commands_ = Descriptor{ends[1]};
    fcntl(ends[0], F_SETFL, O_NONBLOCK);
    return 0;
  }
  const Descriptor& commandsEnd() const noexcept { return commands_; }
  void closeCommandsEnd() noexcept { commands_.close(); }
  int descriptor() const noexcept { return ours_ ? ours_.get() : -1; }

  /// What is there now; of a command that never stops, as much as a pipe holds.
  void passOn() {
    std::array<char, 4096> bytes{};
    for (int i = 0; i < 16 && ours_; ++i) {
      const ssize_t count = read(ours_.get(), bytes.data(), bytes.size());
      if (count == 0) ours_.close();
      if (count <= 0) return;
      keep({bytes.data(), static_cast<std::size_t>(count)});
    }
  }
  std::string take() {
    passOn();
    return std::move(end_);
  }

 private:
  void keep(std::string_view bytes) {
    end_ += bytes;
    if (end_.size() > ChildEnd::errorsKept) end_.erase(0, end_.size() - ChildEnd::errorsKept);
    sink_(bytes);
  }

  Sink sink_;
  Descriptor ours_;
  Descriptor commands_;
  std::string end_;
};

/// To our own standard error. Never waits for a reader that stopped reading.
void passToOurErrors(std::string_view bytes) {
  pollfd out{STDERR_FILENO, POLLOUT, 0};
  if (poll(&out, 1, 0) == 1 && out.revents == POLLOUT)
    static_cast<void>(!write(STDERR_FILENO, bytes.data(), bytes.size()));
}

/// The streams that come through this process; the others are its own.
struct Outputs {
  explicit Outputs(const ChildCommand& command)
      : standard([&command](std::string_view bytes) { command.onOutput(OutputStream::standard, bytes); }),
        errors(command.onOutput
                   ? OutputPipe::Sink([&command](auto bytes) { command.onOutput(OutputStream::error, bytes); })
                   : passToOurErrors) {}

  OutputPipe standard;
  OutputPipe errors;
};

/// The conversation with one child's shim.
class Conversation {
 public:
  Conversation(const Supervisor& supervisor, IpcChannel channel, Outputs outputs, const ChildLimits& limits,
               BootTime until)
      : supervisor_(supervisor),
        channel_(std::move(channel)),
        outputs_(std::move(outputs)),
        limits_(limits),
        until_(until),
        stopEvent_(eventfd(0, EFD_CLOEXEC)) {}

  Result<ChildEnd> untilItEnds() {
    const std::stop_callback wake(limits_.stop, [this] { eventfd_write(stopEvent_.get(), 1); });
    while (true) {
      std::array<pollfd, 4> waited{
          pollfd{channel_.descriptor(), POLLIN, 0}, pollfd{stopSent_ ? -1 : stopEvent_.get(), POLLIN, 0},
          pollfd{outputs_.standard.descriptor(), POLLIN, 0}, pollfd{outputs_.errors.descriptor(), POLLIN, 0}};
      if (poll(waited.data(), waited.size(), waitMs()) < 0 && errno != EINTR) return failed("poll");
      if (waited[2].revents != 0) outputs_.standard.passOn();
      if (waited[3].revents != 0) outputs_.errors.passOn();
      if (waited[0].revents != 0) {
        if (auto end = hear()) {
          if (*end) {
            outputs_.standard.passOn();
            (*end)->errors = outputs_.errors.take();
            (*end)->ran = BootClock::now() - begunAt_;
          }
          return *std::move(end);
        }
      }
      supervisor_.wake();
      if (limits_.stop.stop_requested() && !stopSent_) sendStop();
      if (limits_.until) sendUntil();
      if (BootClock::now() >= answerDue())
        return Error{Errc::timedOut, "the process that keeps the command does not answer; the command may still run"};
    }
  }

  /// Nothing of the command runs any more, or ever did.
  bool provenEnd() const noexcept { return provenEnd_; }

 private:
  static constexpr Duration deadlineStep = 5ms;  // below it a moved deadline is not worth a packet
  static constexpr int lookAgainMs = 50;
  static constexpr int wakeSupervisorMs = 1'000;

  int waitMs() const noexcept { return limits_.until || stopSent_ ? lookAgainMs : wakeSupervisorMs; }

  /// Nullopt: it goes on.
  std::optional<Result<ChildEnd>> hear() {
    const std::optional<IpcChannel::Packet> packet = channel_.receive();
    const std::optional<ChildNews> news = packet ? readRecord<ChildNews>(packet->bytes) : std::optional<ChildNews>{};
    if (!news) {
      Result<ChildEnd> end = lost();
      provenEnd_ = !end || end->nothingLeft;  // without one it was never started
      return end;
    }
    if (news->kind == ChildNews::Kind::begun) {
      begunAt_ = BootClock::now();
      shim_ = news->shim;
      shimHandle_ = openProcess(shim_);
      return std::nullopt;
    }
    provenEnd_ = news->report.startError != 0 || news->report.nothingLeft;
    if (news->report.startError == 0) return endFrom(news->report);
    errno = news->report.startError;
    return failed("the command could not be started");
  }

  /// Shim and supervisor have closed the channel.
  Result<ChildEnd> lost() const {
    const Result<void> nothingLeft = supervisor_.clearUpAfter(shim_, shimHandle_);
    if (!nothingLeft && !nothingLeft.error().is(Errc::outcomeUnknown)) return nothingLeft.error();
    return endFrom({SIGKILL, EndCause::shimLost, true, nothingLeft.has_value()});
  }

  void sendStop() {
    stopSent_ = true;
    toldAt_ = BootClock::now();
    stopDue_ = toldAt_ + limits_.grace;
    static_cast<void>(channel_.sendRecord(ChildOrder{ChildOrder::Kind::stop, {}}));
  }

  void sendUntil() {
    const BootTime until = limits_.until();
    const bool same = until == until_ || (until != BootTime::min() && until_ != BootTime::min() &&
                                          until < until_ + deadlineStep && until_ < until + deadlineStep);
    if (same) return;
    until_ = until;
    toldAt_ = BootClock::now();
    static_cast<void>(channel_.sendRecord(ChildOrder{ChildOrder::Kind::until, until}));
  }

  BootTime answerDue() const {
    const BootTime killed = std::max(BootTime{}, std::min(until_, stopDue_));
    return killed == BootTime::max() ? killed : std::max(killed, toldAt_) + limits_.answer;
  }

  const Supervisor& supervisor_;
  IpcChannel channel_;
  Outputs outputs_;
  pid_t shim_ = 0;
  BootTime begunAt_ = BootClock::now();
  Descriptor shimHandle_;
  const ChildLimits& limits_;
  BootTime toldAt_ = BootClock::now();  // the last order; it may name a time that has passed
  BootTime until_;
  BootTime stopDue_{BootTime::max()};
  Descriptor stopEvent_;
  bool stopSent_ = false;
  bool provenEnd_ = false;
};

}  // namespace

std::vector<std::string> shell(std::string command) { return {"/bin/sh", "-c", std::move(command)}; }

std::string ChildEnd::description() const {
  if (cause == EndCause::shimLost) return "killed: the process that kept it was killed";
  if (exitCode) return "exit status " + std::to_string(*exitCode);
  const char* name = sigabbrev_np(signal);
  return name != nullptr ? std::string("killed by SIG") + name : "killed by signal " + std::to_string(signal);
}

Result<ChildEnd> runChild(const Supervisor& supervisor, const ChildCommand& command, const ChildLimits& limits) {
  const Result<Descriptor> written = memoryFile(command.input);
  if (!written) return written.error();
  const int input = command.passInput ? STDIN_FILENO : written->get();
  Outputs outputs(command);
  const bool takesErrors = command.keepErrors || command.onOutput;
  if (takesErrors && outputs.errors.open() != 0) return failed("pipe");
  if (command.onOutput && outputs.standard.open() != 0) return failed("pipe");
  const int output = command.onOutput ? outputs.standard.commandsEnd().get() : STDOUT_FILENO;
  const int errors = takesErrors ? outputs.errors.commandsEnd().get() : STDERR_FILENO;
  const BootTime until = limits.until ? limits.until() : BootTime::max();
  Result<IpcChannel> channel = supervisor.spawn(requestFor(command, limits, until), {input, output, errors});
  if (!channel) return channel.error();
  outputs.standard.closeCommandsEnd();
  outputs.errors.closeCommandsEnd();
  supervisor.began();
  Conversation conversation(supervisor, std::move(*channel), std::move(outputs), limits, until);
  Result<ChildEnd> end = conversation.untilItEnds();
  if (conversation.provenEnd()) supervisor.provenEnded();
  return end;
}

}  // namespace tenure
