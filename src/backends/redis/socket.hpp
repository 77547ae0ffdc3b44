/// A connected stream socket that never blocks past a deadline, and whose waits an eventfd can end.
///
/// hiredis 0.14 would do the same worse: it writes with write(2), so that a server that left raises SIGPIPE, and its
/// limit counts anew with every byte, so that a dripping server is waited for without end.
#pragma once

#include <stop_token>
#include <string>
#include <string_view>

#include "backends/shared/answer_wait.hpp"
#include "tenure/redis.hpp"
#include "tenure/result.hpp"
#include "tenure/values.hpp"

namespace tenure::redis {

class Socket {
 public:
  /// Errors:  unavailable  nothing listens there, the name is unknown
  ///          timedOut     options.connectLimit has passed, for each address of the name
  ///          A stop ends it soon, with any of them.
  static Result<Socket> connect(const Options& options, const std::stop_token& stop = {}, AnswerTimer* timer = nullptr);

  Socket(Socket&& other) noexcept;
  Socket& operator=(Socket&& other) noexcept;
  ~Socket();

  /// All of it. Errors: unavailable, timedOut; some may have been sent.
  Result<void> send(std::string_view bytes, backends::AnswerWait& wait);
  /// At least one byte, appended to `buffer`.
  ///
  /// Errors:  unavailable, timedOut
  ///          cancelled  `stopEvent` (-1 for none) became readable; nothing was received
  Result<void> receive(std::string& buffer, backends::AnswerWait& wait, int stopEvent);
  /// The other end has closed, or has sent bytes that were not asked for.
  bool isSpent() const noexcept;
  int descriptor() const noexcept { return descriptor_; }

 private:
  explicit Socket(int descriptor) noexcept : descriptor_(descriptor) {}

  int descriptor_;
};

}  // namespace tenure::redis
