/// One connection to a server that was let in, checked and found fit, and the scripts it knows.
///
///   open:  connect → AUTH → SELECT → what kind of server is it? (server_check.hpp) → usable
///   call:  send, wait for the one reply; any failure of the stream spends the connection for ever
///
/// A lost reply means nothing where the request only reads, and an unknown outcome where it writes: the caller says
/// which it is. An error reply becomes an Error (errors.hpp): nothing was changed, or the
/// outcome is unknown if a script may have failed after its first write.
/// Threads: one at a time.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "backends/redis/reply.hpp"
#include "backends/redis/server_check.hpp"
#include "backends/redis/socket.hpp"
#include "tenure/redis.hpp"

namespace tenure::redis {

using Arguments = std::vector<std::string_view>;

/// A Lua script, one constant object each (scripts.hpp).
struct Script {
  std::string_view text;
  bool writes = false;
};

/// A read that travels right behind a script, whatever becomes of that.
struct Companion {
  Arguments command;
  std::optional<Reply> reply{};  // an error as well; none when it was lost
};

class Connection {
 public:
  /// Errors:  unavailable, timedOut, authenticationFailed, configurationRefused, unsupported
  ///          A stop ends it soon, with any of them.
  static Result<std::unique_ptr<Connection>> open(const Options& options, const std::stop_token& stop = {},
                                                  AnswerTimer* timer = nullptr);
  /// The same without the verdict: for a look at a server that may be unfit.
  static Result<std::unique_ptr<Connection>> look(const Options& options);

  /// A command that only reads. Errors: unavailable, timedOut, those of errors.hpp.
  Result<Reply> read(const Arguments& command);
  /// Several of them at once; an error of any is the error of all. Replies in their order.
  Result<std::vector<Reply>> read(std::span<const Arguments> commands);
  /// A script. Errors: as above; where it writes, outcomeUnknown instead of the first two once it was sent.
  Result<Reply> run(const Script& script, const Arguments& keys, const Arguments& arguments,
                    Companion* companion = nullptr);
  /// The two halves of a read, for who has something else to do meanwhile. Nothing else may be asked in between.
  /// `longer`: a wait on the server's side, such as XREAD BLOCK, on top of what a reply may take.
  Result<void> ask(const Arguments& command, Duration longer = {});
  Result<Reply> hear();
  /// Nothing when the reply was not there by then, or before `stopEvent` became readable: it can be heard later.
  Result<std::optional<Reply>> hear(BootTime until, int stopEvent);
  bool isAsked() const noexcept { return asked_; }

  /// From now on each exchange goes by this timer, which is borrowed; nullptr: by the options' limits alone.
  void limitAnswers(AnswerTimer* timer) noexcept { timer_ = timer; }

  /// Asks a connection that has been silent for some seconds for a sign of life, and breaks it where none comes soon:
  /// something on the way may have forgotten it, and then nothing comes back, ever.
  void expectLife();
  /// False when it is broken, or was closed by the other end meanwhile.
  bool isUsable() const noexcept { return !broken_ && (asked_ || !socket_.isSpent()); }
  const ServerFacts& server() const noexcept { return server_; }
  /// A password was sent over a network that others may listen to.
  bool passwordWasClear() const noexcept { return passwordWasClear_; }

 private:
  Connection(Socket socket, std::chrono::milliseconds replyLimit);

  static Result<std::unique_ptr<Connection>> open(const Options& options, bool judged, const std::stop_token& stop,
                                                  AnswerTimer* timer);
  static Result<std::unique_ptr<Connection>> openOne(const Options& options, bool judged, const std::stop_token& stop,
                                                     AnswerTimer* timer);
  Result<void> enter(const Options& options);
  Result<void> authenticate(const Options& options);
  Result<void> learnServer();
  /// The raw exchange: an error reply is a reply.
  Result<Reply> exchange(const Arguments& command, bool writes, Companion* companion = nullptr);
  Result<Reply> receive(backends::AnswerWait& wait, int stopEvent);

  struct FreeReader {
    void operator()(redisReader* reader) const noexcept { redisReaderFree(reader); }
  };

  Socket socket_;
  std::unique_ptr<redisReader, FreeReader> reader_;
  std::chrono::milliseconds replyLimit_;
  AnswerTimer* timer_ = nullptr;
  ServerFacts server_;
  std::map<const Script*, std::string> known_;  // by the digest that the server gave
  std::string buffer_;
  bool asked_ = false;     // and not heard yet
  BootTime waitsUntil_{};  // the server, before it answers
  BootTime heardAt_{};
  bool broken_ = false;
  bool passwordWasClear_ = false;
};

/// A connection that is made when it is first wanted, and again after it was lost.
class Link {
 public:
  explicit Link(Options options) : options_(std::move(options)) {}

  Result<Connection*> use(const std::stop_token& stop = {});
  /// The one that is there; nullptr when there is none to go on with.
  Connection* current() noexcept { return connection_ && connection_->isUsable() ? connection_.get() : nullptr; }
  void drop() noexcept { connection_.reset(); }
  void limitAnswers(AnswerTimer* timer) noexcept {
    timer_ = timer;
    if (connection_) connection_->limitAnswers(timer);
  }
  const Options& options() const noexcept { return options_; }

 private:
  Options options_;
  AnswerTimer* timer_ = nullptr;
  std::unique_ptr<Connection> connection_;
};

}  // namespace tenure::redis
