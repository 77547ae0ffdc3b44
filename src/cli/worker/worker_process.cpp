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
#include <nlohmann/json.hpp>

#include "base/text.hpp"
#include "process/child.hpp"
#include "tenure/version.hpp"

namespace tenure::cli::worker {
namespace {

using namespace std::chrono_literals;
using nlohmann::json;

constexpr auto look = 50ms;           // whether the command has ended
constexpr auto timeToEnd = 5s;        // from "stop" on
constexpr auto longestSilence = 24h;  // of a worker that handles one message
constexpr std::size_t atOnce = 64U << 10U;

/// The service's own folder where it has one: other users may not look into that.
std::string placeForSockets() {
  const char* runtime = std::getenv("RUNTIME_DIRECTORY");
  if (runtime != nullptr && *runtime != '\0') return runtime;
  std::error_code none;
  const std::filesystem::path temporary = std::filesystem::temp_directory_path(none);
  return none ? "/tmp" : temporary.string();
}

/// [from, length] of what it puts into the body.
json pieceFor(std::string_view bytes, std::string& body) {
  json place{body.size(), bytes.size()};
  body += bytes;
  return place;
}

/// Bytes as the wire has them in a head: a string where they are text, else a piece of the body.
json textFor(std::string_view bytes, std::string& body) {
  return isText(bytes) ? json(bytes) : json{{"bytes", pieceFor(bytes, body)}};
}

Frame frameOf(const json& head, std::string body = {}) {
  return {head.dump(-1, ' ', false, json::error_handler_t::replace), std::move(body)};
}

json headOf(const Handed& handed, const std::string& number, std::string& body) {
  const Message& message = handed.message;
  json headers = json::array();
  json sequence;
  for (const auto& [name, value] : message.headers) {
    if (name == numberHeader) sequence = value;
    headers.push_back({textFor(name, body), textFor(value, body)});
  }
  json head{{"type", "message"},
            {"number", number},
            {"id", textFor(message.id.value, body)},
            {"group", textFor(message.group.value, body)},
            {"attempt", std::to_string(handed.attempt)},
            {"token", std::to_string(handed.token)},
            {"headers", std::move(headers)},
            {"sequence", std::move(sequence)},
            {"body", pieceFor(message.body, body)}};
  if (message.enqueuedAt != WallTime{}) head["time"] = formatWallTime(message.enqueuedAt);
  return head;
}

bool isOf(const json& head, const char* type) {
  const auto found = head.find("type");
  return found != head.end() && *found == type;
}

bool isNumbered(const json& head, const std::string& number) {
  const auto found = head.find("number");
  return found != head.end() && *found == number;
}

}  // namespace

WorkerProcess::WorkerProcess(const Supervisor& supervisor, WorkerSettings settings, CommandOutput::Tell said)
    : supervisor_(supervisor), settings_(std::move(settings)), output_("", std::move(said)) {}

Result<std::unique_ptr<WorkerProcess>> WorkerProcess::start(const Supervisor& supervisor, WorkerSettings settings,
                                                            CommandOutput::Tell said) {
  std::unique_ptr<WorkerProcess> worker(new WorkerProcess(supervisor, std::move(settings), std::move(said)));
  if (const Result<void> listening = worker->listen(); !listening) return listening.error();
  worker->keeper_ = std::jthread([self = worker.get()](const std::stop_token& stop) {
    ChildCommand command{
        .arguments = shell(self->settings_.command), .environment = self->settings_.environment, .controlGroup = true};
    command.environment.emplace_back("TENURE_WORKER_SOCKET", self->path_);
    command.onOutput = [self](auto stream, auto bytes) { self->output_.take(stream, bytes); };
    const Result<ChildEnd> end = runChild(self->supervisor_, command, {.stop = stop, .grace = 1'000ms});
    self->output_.end();
    self->how_ = end ? end->description() : end.error().message();
    self->isOver_ = true;
  });
  if (const Result<void> greeted = worker->greet(); !greeted) return greeted.error();
  return worker;
}

WorkerProcess::~WorkerProcess() {
  keeper_.request_stop();
  if (keeper_.joinable()) keeper_.join();
  std::error_code ignored;
  if (!folder_.empty()) std::filesystem::remove_all(folder_, ignored);
}

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

Error WorkerProcess::ended(const std::string& what) const {
  return {Errc::unavailable, what + (isOver_ ? "; it ended: " + how_ : "")};
}

Result<void> WorkerProcess::accept(BootTime deadline) {
  for (;;) {
    pollfd waited{listener_.get(), POLLIN, 0};
    if (poll(&waited, 1, static_cast<int>(look.count())) < 0 && errno != EINTR) return failed("poll");
    if (waited.revents != 0) break;
    if (isOver_) return ended("the worker did not connect");
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
  std::error_code ignored;
  std::filesystem::remove_all(folder_, ignored);
  return {};
}

Result<void> WorkerProcess::greet() {
  const BootTime deadline = BootClock::now() + settings_.greeting;
  if (const Result<void> connected = accept(deadline); !connected) return connected;
  if (const Result<void> sent = send(frameOf({{"type", "hello"}, {"wire", wireVersion}, {"version", TENURE_VERSION}}));
      !sent)
    return sent;
  const Result<std::optional<Frame>> hello = receive(deadline);
  if (!hello) return hello.error();
  if (!*hello) return Error{Errc::unavailable, "the worker has not said hello in time"};
  const json head = json::parse((*hello)->head);
  if (!isOf(head, "hello")) return Error{Errc::unavailable, "the worker's first frame is no hello"};
  if (head.value("wire", json{}) != json(wireVersion))
    return Error{Errc::configurationRefused,
                 "the worker speaks another version of the wire: expected " + std::to_string(wireVersion)};
  const json language = head.value("language", json("of no language that it names"));
  language_ = language.is_string() ? escaped(language.get<std::string>()) : "";
  return {};
}

Result<void> WorkerProcess::send(const Frame& frame) {
  const Result<std::string> bytes = bytesOf(frame);
  if (!bytes) return bytes.error();
  std::string_view rest = *bytes;
  const BootTime deadline = BootClock::now() + settings_.greeting;
  while (!rest.empty()) {
    const ssize_t sent = ::send(connection_.get(), rest.data(), rest.size(), MSG_NOSIGNAL);
    if (sent > 0) rest.remove_prefix(static_cast<std::size_t>(sent));
    if (sent > 0 || (sent < 0 && errno == EINTR)) continue;
    if (sent < 0 && errno != EAGAIN) return ended("the worker's connection is broken");
    pollfd waited{connection_.get(), POLLOUT, 0};
    poll(&waited, 1, static_cast<int>(look.count()));
    if (isOver_ || BootClock::now() >= deadline) return ended("the worker does not read");
  }
  return {};
}

Result<std::optional<Frame>> WorkerProcess::receive(BootTime deadline) {
  std::array<char, atOnce> bytes{};
  for (;;) {
    auto frame = frames_.next();
    if (!frame) return Error{Errc::unavailable, "the worker does not speak as it should: " + frame.error().detail};
    if (*frame) return frame;
    const bool wasOver = isOver_;
    const ssize_t got = recv(connection_.get(), bytes.data(), bytes.size(), 0);
    if (got > 0) {
      frames_.add({bytes.data(), static_cast<std::size_t>(got)});
      continue;
    }
    if (got == 0)
      return ended(frames_.isEmpty() ? "the worker has closed its connection"
                                     : "the worker's connection ends within a frame");
    if (errno != EAGAIN && errno != EINTR) return ended("the worker's connection is broken");
    if (wasOver) return ended("the worker is gone");
    if (BootClock::now() >= deadline) return std::optional<Frame>{};
    pollfd waited{connection_.get(), POLLIN, 0};
    poll(&waited, 1, static_cast<int>(look.count()));
  }
}

Result<void> WorkerProcess::answerNeed(const std::string& need, const StateOf& stateOf) {
  const json head = json::parse(need);
  const auto keys = head.find("keys");
  if (keys == head.end() || !keys->is_array())
    return Error{Errc::unavailable, "the worker does not speak as it should: \"need\" names no keys"};
  std::string body;
  json values = json::object();
  for (const json& key : *keys) {
    if (!key.is_string()) return Error{Errc::unavailable, "the worker does not speak as it should: a key is no string"};
    const auto value = stateOf(key.get<std::string>());
    values[key.get<std::string>()] = value ? pieceFor(*value, body) : json();
  }
  return send(frameOf({{"type", "state"}, {"number", head["number"]}, {"values", std::move(values)}}, std::move(body)));
}

Result<Answer> WorkerProcess::hand(const Handed& handed, const StateOf& stateOf) {
  const std::string number = std::to_string(++next_);
  std::string body;
  const json message = headOf(handed, number, body);
  if (const Result<void> sent = send(frameOf(message, std::move(body))); !sent) return sent.error();
  for (;;) {
    const Result<std::optional<Frame>> came = receive(BootClock::now() + longestSilence);
    if (!came) return came.error();
    if (!*came) return Error{Errc::unavailable, "the worker has not answered for a day"};
    const json said = json::parse((*came)->head);
    const bool isOfThis = isNumbered(said, number);
    if (isOf(said, "progress") && isOfThis) {
      if (const Result<void> noted = send(frameOf({{"type", "noted"}, {"number", number}})); !noted)
        return noted.error();
    } else if (isOf(said, "need") && isOfThis) {
      if (const Result<void> told = answerNeed((*came)->head, stateOf); !told) return told.error();
    } else if (isOf(said, "answer") && isOfThis) {
      Result<Answer> answer = answerIn(**came, handed.message.id);
      json verdict{{"type", answer ? "accepted" : "refused"}, {"number", number}};
      if (!answer) verdict["why"] = answer.error().detail;
      if (const Result<void> told = send(frameOf(verdict)); !told) return told.error();
      return answer;
    } else {
      const std::string type = said.value("type", json()).dump();
      return Error{Errc::unavailable, "the worker does not speak as it should: a frame of the kind " + escaped(type) +
                                          (isOfThis ? "" : ", of a message that it does not have") +
                                          ", while message " + number + " is in its hand"};
    }
  }
}

void WorkerProcess::stop() {
  static_cast<void>(send(frameOf({{"type", "stop"}})));
  const BootTime deadline = BootClock::now() + timeToEnd;
  while (!isOver_ && BootClock::now() < deadline) {
    const auto said = receive(BootClock::now() + look);
    if (!said || (*said && isOf(json::parse((*said)->head), "bye"))) break;
  }
  connection_.close();
  while (!isOver_ && BootClock::now() < deadline) std::this_thread::sleep_for(1ms);
}

}  // namespace tenure::cli::worker
