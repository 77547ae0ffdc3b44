#include "cli/worker/worker_process.hpp"

#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "base/text.hpp"
#include "base/threads.hpp"
#include "process/child.hpp"

namespace tenure::cli::worker {
namespace {

using namespace std::chrono_literals;

constexpr auto look = 50ms;  // whether the command has ended
constexpr std::size_t atOnce = 64U << 10U;

/// The service's own folder where it has one: other users may not look into that.
std::string placeForSockets() {
  const char* runtime = std::getenv("RUNTIME_DIRECTORY");
  if (runtime != nullptr && *runtime != '\0') return std::string(runtime, std::strcspn(runtime, ":"));
  std::error_code none;
  const std::filesystem::path temporary = std::filesystem::temp_directory_path(none);
  return none ? "/tmp" : temporary.string();
}

int untilIn(BootTime until) {
  const auto wait = std::chrono::ceil<std::chrono::milliseconds>(until - BootClock::now());
  return static_cast<int>(std::clamp<std::int64_t>(wait.count(), 0, std::chrono::milliseconds{look}.count()));
}

}  // namespace

WorkerProcess::WorkerProcess(const Supervisor& supervisor, WorkerSettings settings, Watch watch)
    : supervisor_(supervisor),
      settings_(std::move(settings)),
      watch_(std::move(watch)),
      output_("", [this](EventBody event) { watch_.said(std::move(event)); }) {}

Result<std::unique_ptr<WorkerProcess>> WorkerProcess::start(const Supervisor& supervisor, WorkerSettings settings,
                                                            Watch watch, const std::stop_token& stop) {
  std::unique_ptr<WorkerProcess> worker(new WorkerProcess(supervisor, std::move(settings), std::move(watch)));
  if (const Result<void> listening = worker->listen(); !listening) return listening.error();
  worker->keeper_ = std::jthread([self = worker.get()](const std::stop_token& cut) { self->keep(cut); });
  if (const Result<void> greeted = worker->greet(stop); !greeted) return greeted.error();
  return worker;
}

WorkerProcess::~WorkerProcess() {
  isKilled_ = true;
  if (keeper_.joinable()) keeper_.join();
  removeFolder();
}

/// Runs the command to its end.
void WorkerProcess::keep(const std::stop_token& cut) {
  const SignalsBlocked untilItIsOver;
  ChildCommand command{
      .arguments = shell(settings_.command), .environment = settings_.environment, .controlGroup = true};
  command.environment.emplace_back("TENURE_WORKER_SOCKET", path_);
  command.onOutput = [this](auto stream, auto bytes) {
    const std::lock_guard lock(outputMutex_);
    output_.take(stream, bytes);
  };
  const auto until = [this] { return isKilled_ ? BootTime::min() : watch_.until(); };
  Result<ChildEnd> end = runChild(supervisor_, command, {.stop = cut, .grace = 1'000ms, .until = until});
  {
    const std::lock_guard lock(outputMutex_);
    output_.end();
  }
  const std::lock_guard lock(endMutex_);
  end_ = std::move(end);
}

void WorkerProcess::turnTo(const std::string& message) {
  const std::lock_guard lock(outputMutex_);
  output_.turnTo(message);
}

void WorkerProcess::removeFolder() noexcept {
  std::error_code ignored;
  if (!folder_.empty()) std::filesystem::remove_all(std::exchange(folder_, {}), ignored);
}

// --- its end

std::string WorkerProcess::how() const {
  const std::lock_guard lock(endMutex_);
  if (!end_) return {};
  return *end_ ? (*end_)->description() : end_->error().message();
}

std::optional<ChildEnd> WorkerProcess::awaitEnd(BootTime until) {
  for (;;) {
    {
      const std::lock_guard lock(endMutex_);
      if (end_) return *end_ ? **end_ : ChildEnd{};
    }
    if (BootClock::now() >= until) return std::nullopt;
    std::this_thread::sleep_for(1ms);
  }
}

void WorkerProcess::partWith(BootTime until) {
  while (BootClock::now() < until && write() && !awaitEnd(BootClock::now() + 5ms)) {
  }
}

Error WorkerProcess::ended(const std::string& what) const {
  const std::string end = how();
  return {Errc::unavailable, end.empty() ? what : what + ": " + end};
}

// --- its connection

Result<void> WorkerProcess::listen() {
  std::string folder = placeForSockets() + "/tenure-XXXXXX";
  if (mkdtemp(folder.data()) == nullptr) return failed("mkdtemp");  // 0700
  folder_ = folder;
  path_ = folder + "/worker";
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path_.size() >= sizeof(address.sun_path))
    return Error{Errc::unavailable, "the path of a worker's socket is too long: " + escaped(path_) +
                                        "; set RUNTIME_DIRECTORY or TMPDIR to a shorter one"};
  std::memcpy(address.sun_path, path_.c_str(), path_.size() + 1);
  listener_ = Descriptor{socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)};
  if (!listener_) return failed("socket");
  if (bind(listener_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0) return failed("bind");
  return ::listen(listener_.get(), 1) == 0 ? Result<void>{} : failed("listen");
}

Result<void> WorkerProcess::accept(BootTime deadline, const std::stop_token& stop) {
  for (;;) {
    pollfd waited{listener_.get(), POLLIN, 0};
    if (poll(&waited, 1, untilIn(deadline)) < 0 && errno != EINTR) return failed("poll");
    if (waited.revents != 0) break;
    if (!how().empty()) return ended("the worker has ended before it said hello");
    if (stop.stop_requested()) return Error{Errc::cancelled, "the worker has not said hello yet"};
    if (BootClock::now() >= deadline)
      return Error{Errc::unavailable, "the worker did not connect to TENURE_WORKER_SOCKET in time"};
  }
  connection_ = Descriptor{accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK)};
  if (!connection_) return failed("accept");
  ucred peer{};
  socklen_t size = sizeof(peer);
  if (getsockopt(connection_.get(), SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0) return failed("getsockopt");
  if (peer.uid != geteuid() && peer.uid != 0)
    return Error{Errc::unavailable, "another user has connected to the worker's socket"};
  listener_.close();
  removeFolder();
  return {};
}

Result<void> WorkerProcess::greet(const std::stop_token& stop) {
  const BootTime deadline = BootClock::now() + settings_.greeting;
  if (const Result<void> connected = accept(deadline, stop); !connected) return connected;
  if (const Result<void> sent = send(helloOf(settings_.effects)); !sent) return sent;
  for (;;) {
    const Result<std::optional<Frame>> said = next();
    if (!said) return said.error();
    if (*said) {
      Result<Hello> hello = helloIn(**said);
      if (!hello && hello.error().is(Errc::configurationRefused)) return hello.error();
      if (!hello) return Error{Errc::unavailable, hello.error().detail};
      hello_ = *std::move(hello);
      break;
    }
    if (BootClock::now() >= deadline) return Error{Errc::unavailable, "the worker has not said hello in time"};
    if (stop.stop_requested()) return Error{Errc::cancelled, "the worker has not said hello yet"};
    if (const Result<void> exchanged = exchange(-1, deadline); !exchanged) return exchanged;
  }
  for (const std::string& effect : hello_.uses)
    if (std::ranges::find(settings_.effects, effect) == settings_.effects.end())
      return Error{Errc::configurationRefused,
                   "the worker uses the effect \"" + escaped(effect) + "\", which this store cannot take"};
  return {};
}

Result<void> WorkerProcess::send(const Frame& frame) {
  Result<std::string> bytes = bytesOf(frame);
  if (!bytes) return bytes.error();
  if (sent_ == outbox_.size()) {
    outbox_ = *std::move(bytes);
    sent_ = 0;
  } else {
    outbox_ += *bytes;
  }
  return {};
}

Result<void> WorkerProcess::exchange(int wake, BootTime until) {
  if (const Result<void> written = write(); !written) return written;
  const short wanted = unsent() > 0 ? POLLIN | POLLOUT : POLLIN;
  std::array<pollfd, 2> waited{pollfd{connection_.get(), wanted, 0}, pollfd{wake, POLLIN, 0}};
  if (poll(waited.data(), wake >= 0 ? 2 : 1, untilIn(until)) < 0 && errno != EINTR) return failed("poll");
  if (waited[0].revents == 0) return {};
  if (const Result<void> got = read(); !got) return got;
  return write();
}

Result<void> WorkerProcess::write() {
  while (unsent() > 0) {
    const ssize_t sent = ::send(connection_.get(), outbox_.data() + sent_, unsent(), MSG_NOSIGNAL);
    if (sent > 0) sent_ += static_cast<std::size_t>(sent);
    if (sent > 0 || (sent < 0 && errno == EINTR)) continue;
    if (sent < 0 && errno == EAGAIN) return {};
    return {};  // what it said before it closed is read first
  }
  return {};
}

Result<void> WorkerProcess::read() {
  std::array<char, atOnce> bytes{};
  for (std::size_t total = 0; total < largestFrame;) {
    const ssize_t got = recv(connection_.get(), bytes.data(), bytes.size(), 0);
    if (got > 0) {
      frames_.add({bytes.data(), static_cast<std::size_t>(got)});
      total += static_cast<std::size_t>(got);
      continue;
    }
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && errno == EAGAIN) return {};
    if (frames_.hasWhole()) return {};                      // the worker's last frames are read before the end is told
    static_cast<void>(awaitEnd(BootClock::now() + 200ms));  // to say how
    if (got < 0) return ended("the worker's connection is broken");
    return ended(frames_.isEmpty() ? "the worker has closed its connection"
                                   : "the worker's connection ends within a frame");
  }
  return {};
}

Result<std::optional<Frame>> WorkerProcess::next() {
  auto frame = frames_.next();
  if (!frame) return Error{Errc::unavailable, "the worker does not speak as it should: " + frame.error().detail};
  return frame;
}

}  // namespace tenure::cli::worker
