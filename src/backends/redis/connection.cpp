#include "backends/redis/connection.hpp"

#include <array>
#include <charconv>
#include <cstdlib>
#include <fstream>
#include <optional>

#include "backends/redis/errors.hpp"
#include "backends/shared/cut_off.hpp"
#include "backends/shared/servers.hpp"
#include "base/assert.hpp"
#include "base/secret_variables.hpp"
#include "base/text.hpp"
#include "tenure/values.hpp"

namespace tenure::redis {
namespace {

using namespace std::chrono_literals;

constexpr Duration longSilence = 1s;
constexpr Duration lifeLimit = 500ms;  // for an answer to TIME

void appendLine(std::string& to, char mark, std::size_t number) {
  std::array<char, 24> line;
  line[0] = mark;
  char* end = std::to_chars(line.data() + 1, line.data() + line.size() - 2, number).ptr;
  *end++ = '\r';
  *end++ = '\n';
  to.append(line.data(), end);
}

/// As Redis' protocol has it: sizes go with the arguments, so that every byte may be in them.
void append(std::string& request, const Arguments& command) {
  constexpr std::size_t sizeAndEnds = 16;
  std::size_t bytes = request.size() + sizeAndEnds;
  for (const std::string_view argument : command) bytes += argument.size() + sizeAndEnds;
  request.reserve(bytes);
  appendLine(request, '*', command.size());
  for (const std::string_view argument : command) {
    appendLine(request, '$', argument.size());
    request.append(argument).append("\r\n");
  }
}

Result<Secret> passwordFrom(const Options& options) {
  if (options.passwordFile.empty()) {
    const char* variable = std::getenv(redisPasswordVariable);
    return Secret(variable == nullptr ? "" : variable);
  }
  std::ifstream file(options.passwordFile);
  std::string line;
  if (!std::getline(file, line))
    return Error{Errc::configurationRefused, "the password file " + options.passwordFile.string() + " cannot be read"};
  if (line.ends_with('\r')) line.pop_back();
  return Secret(std::move(line));
}

Result<void> checkOptions(const Options& options) {
  if (options.tls)
    return Error{Errc::unsupported, "this build's Redis client has no TLS; put a tunnel (stunnel) in front"};
  if (!parseElectionName(options.queue))  // the same alphabet
    return Error{Errc::invalidArgument, "queue \"" + escaped(options.queue) + "\" is not 1 to 64 of A-Z a-z 0-9 . _ -"};
  if (options.database < 0) return Error{Errc::invalidArgument, "database: expected a number from 0"};
  if (options.keepIdsFor.count() < 0) return Error{Errc::invalidArgument, "keepIdsFor: expected no negative time"};
  return {};
}

std::string firstWord(std::string_view text) { return escaped(text.substr(0, text.find(' '))); }

}  // namespace

Connection::Connection(Socket socket, std::chrono::milliseconds replyLimit)
    : socket_(std::move(socket)), reader_(redisReaderCreate()), replyLimit_(replyLimit) {}

Result<std::unique_ptr<Connection>> Connection::open(const Options& options, const std::stop_token& stop,
                                                     AnswerTimer* timer) {
  return open(options, true, stop, timer);
}
Result<std::unique_ptr<Connection>> Connection::look(const Options& options) {
  return open(options, false, {}, nullptr);
}

Result<std::unique_ptr<Connection>> Connection::open(const Options& options, bool judged, const std::stop_token& stop,
                                                     AnswerTimer* timer) {
  if (const Result<void> fit = checkOptions(options); !fit) return fit.error();
  return backends::openFirst(options, stop,
                             [&](const Options& server) { return openOne(server, judged, stop, timer); });
}

Result<std::unique_ptr<Connection>> Connection::openOne(const Options& options, bool judged,
                                                        const std::stop_token& stop, AnswerTimer* timer) {
  Result<Socket> socket = Socket::connect(options, stop, timer);
  if (!socket) return Error{socket.error().code, nameOf(options) + ": " + socket.error().detail};
  std::unique_ptr<Connection> connection(new Connection(std::move(*socket), options.replyLimit));
  connection->limitAnswers(timer);
  const backends::CutOff cutOff(connection->socket_.descriptor(), stop);
  Result<void> entered = connection->enter(options);
  if (entered && judged) entered = judgeServer(connection->server_, options.allowUnsafe);
  if (!entered) return Error{entered.error().code, nameOf(options) + ": " + entered.error().detail};
  return connection;
}

Result<void> Connection::enter(const Options& options) {
  if (Result<void> known = authenticate(options); !known) return known;
  if (options.database != 0)
    if (const auto selected = read({"SELECT", std::to_string(options.database)}); !selected) return selected.error();
  return learnServer();
}

Result<void> Connection::authenticate(const Options& options) {
  const Result<Secret> password = passwordFrom(options);
  if (!password) return password.error();
  if (password->empty()) return {};
  Arguments command{"AUTH"};
  if (!options.user.empty()) command.emplace_back(options.user);
  command.emplace_back(password->reveal());
  const Result<Reply> answer = exchange(command, false);
  if (!answer) return answer.error();
  passwordWasClear_ = travelsInClear(options);
  if (!answer->view().isError()) return {};
  // A server that does not know AUTH repeats its arguments: only the first word may be shown.
  const Error error = errorOf(answer->view().bytes());
  const bool transient = error.is(Errc::unavailable) || error.is(Errc::storeBusy);
  return Error{transient ? error.code : make_error_code(Errc::authenticationFailed),
               "the server refused our password with " + firstWord(answer->view().bytes())};
}

Result<void> Connection::learnServer() {
  const Result<Reply> info = read({"INFO"});
  if (!info) return info.error();
  learnFrom(info->view().bytes(), server_);
  const Result<Reply> settings = read({"CONFIG", "GET", "append*"});
  if (!settings && !settings.error().is(Errc::permissionDenied) && !settings.error().is(Errc::storeFailed))
    return settings.error();
  if (settings) server_.appendFsync = settings->view().after("appendfsync").text();
  return {};
}

Result<Reply> Connection::read(const Arguments& command) {
  Result<Reply> reply = exchange(command, false);
  if (reply && reply->view().isError()) return errorOf(reply->view().bytes());
  return reply;
}

Result<std::vector<Reply>> Connection::read(std::span<const Arguments> commands) {
  TENURE_ASSERT(!asked_);
  if (broken_) return Error{Errc::unavailable, "the connection was lost"};
  std::string request;
  for (const Arguments& command : commands) append(request, command);
  backends::AnswerWait wait(timer_, replyLimit_);
  Result<void> heard = socket_.send(request, wait);
  std::vector<Reply> replies;
  while (heard && replies.size() < commands.size()) {
    Result<Reply> reply = receive(wait, -1);
    heard = reply ? Result<void>{} : reply.error();
    if (reply) replies.push_back(std::move(*reply));
  }
  broken_ = !heard;
  heard ? wait.answered() : wait.failed();
  if (!heard) return heard.error();
  for (const Reply& reply : replies)
    if (reply.view().isError()) return errorOf(reply.view().bytes());
  return replies;
}

Result<void> Connection::ask(const Arguments& command, Duration longer) {
  TENURE_ASSERT(!asked_);
  if (broken_) return Error{Errc::unavailable, "the connection was lost"};
  std::string request;
  append(request, command);
  backends::AnswerWait wait(timer_, replyLimit_);
  Result<void> sent = socket_.send(request, wait);
  sent ? wait.putOff() : wait.failed();
  broken_ = !sent;
  asked_ = sent.has_value();
  waitsUntil_ = BootClock::now() + longer;
  return sent;
}

Result<Reply> Connection::hear() {
  waitsUntil_ = BootClock::now();
  Result<std::optional<Reply>> heard = hear(BootTime::max(), -1);
  if (!heard) return heard.error();
  return *std::move(*heard);
}

Result<std::optional<Reply>> Connection::hear(BootTime until, int stopEvent) {
  TENURE_ASSERT(asked_);
  const Duration waits = std::max(waitsUntil_ - BootClock::now(), Duration::zero());
  backends::AnswerWait wait(timer_, replyLimit_, waits);
  wait.shorten(until);
  Result<Reply> reply = receive(wait, stopEvent);
  const bool isEarly =
      !reply && (reply.error().is(Errc::cancelled) || (BootClock::now() >= until && reply.error().is(Errc::timedOut)));
  if (isEarly) wait.putOff();
  if (isEarly) return std::optional<Reply>{};
  asked_ = false;
  broken_ = !reply;
  reply ? wait.answered() : wait.failed();
  if (!reply) return reply.error();
  if (reply->view().isError()) return errorOf(reply->view().bytes());
  return std::optional<Reply>(std::move(*reply));
}

Result<Reply> Connection::run(const Script& script, const Arguments& keys, const Arguments& arguments,
                              Companion* companion) {
  auto known = known_.find(&script);
  if (known == known_.end()) {
    const Result<Reply> loaded = read({"SCRIPT", "LOAD", script.text});
    if (!loaded) return loaded.error();
    known = known_.emplace(&script, loaded->view().text()).first;
  }
  const std::string count = std::to_string(keys.size());
  Arguments command{"EVALSHA", known->second, count};
  command.insert(command.end(), keys.begin(), keys.end());
  command.insert(command.end(), arguments.begin(), arguments.end());
  Result<Reply> reply = exchange(command, script.writes, companion);
  if (reply && reply->view().isError() && isUnknownScript(reply->view().bytes())) {
    command[0] = "EVAL";
    command[1] = script.text;
    reply = exchange(command, script.writes);
  }
  if (!reply || !reply->view().isError()) return reply;
  const std::string_view refusal = reply->view().bytes();
  if (script.writes && mayHaveWritten(refusal)) return Error{Errc::outcomeUnknown, escaped(refusal)};
  return errorOf(refusal);
}

Result<Reply> Connection::exchange(const Arguments& command, bool writes, Companion* companion) {
  TENURE_ASSERT(!asked_);
  if (broken_) return Error{Errc::unavailable, "the connection was lost"};
  std::string request;
  append(request, command);
  if (companion != nullptr) append(request, companion->command);
  backends::AnswerWait wait(timer_, replyLimit_);
  const Result<void> sent = socket_.send(request, wait);
  Result<Reply> reply = sent ? receive(wait, -1) : sent.error();
  reply ? wait.answered() : wait.failed();
  if (reply && companion != nullptr) {
    Result<Reply> second = receive(wait, -1);
    if (!second) wait.failed();
    broken_ = !second;
    if (second) companion->reply.emplace(std::move(*second));
  }
  if (reply) return reply;
  broken_ = true;  // a late reply would be taken for that of the next request
  return writes ? Error{Errc::outcomeUnknown, reply.error().message()} : reply.error();
}

Result<Reply> Connection::receive(backends::AnswerWait& wait, int stopEvent) {
  for (;;) {
    void* reply = nullptr;
    if (redisReaderGetReply(reader_.get(), &reply) != REDIS_OK)
      return Error{Errc::unavailable, "the server does not speak Redis' protocol"};
    if (reply != nullptr) {
      heardAt_ = BootClock::now();
      return Reply(static_cast<redisReply*>(reply));
    }
    buffer_.clear();
    if (const Result<void> received = socket_.receive(buffer_, wait, stopEvent); !received) return received.error();
    redisReaderFeed(reader_.get(), buffer_.data(), buffer_.size());
  }
}

void Connection::expectLife() {
  if (asked_ || broken_ || BootClock::now() < heardAt_ + longSilence) return;
  if (!ask({"TIME"})) return;  // which our own work needs the right to as well
  static_cast<void>(hear(BootClock::now() + lifeLimit, -1));
  broken_ = broken_ || asked_;  // an error is a sign of life
}

Result<Connection*> Link::use(const std::stop_token& stop) {
  if (Connection* kept = current()) kept->expectLife();
  if (current() == nullptr) {
    connection_.reset();
    Result<std::unique_ptr<Connection>> opened = Connection::open(options_, stop, timer_);
    if (!opened) return opened.error();
    connection_ = std::move(*opened);
  }
  return connection_.get();
}

}  // namespace tenure::redis
