/// From lines of input to a queue, in batches: what `tenure produce` does.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include "base/backoff.hpp"
#include "cli/input/line_messages.hpp"
#include "cli/input/line_reader.hpp"
#include "tenure/spi/source.hpp"

namespace tenure::cli {

struct IntakeCounts {
  std::int64_t stored = 0;
  std::int64_t repeated = 0;  // left out, because their ids are known
  std::int64_t bad = 0;
  std::int64_t unknown = 0;   // of the last batch, when its answer was lost: all of them are stored, or none
  std::int64_t nextLine = 1;  // to resume from: every good line before it is stored
};

/// One message is refused for its id: another one waits under it, or has come to its queue.
bool isOfMessage(const Error& error) noexcept;

/// A batch is stored when it is full, and when the input has nothing more at the moment: a slow producer's line does
/// not wait for the next one. Memory stays within one batch and one line.
/// Threads: one.
class Intake {
 public:
  using BadLine = std::function<void(std::int64_t number, const std::string& why)>;

  /// Borrows the reader and the sink. A queue that is busy is tried again for `patience`.
  Intake(LineReader& reader, LineMessages messages, IMessageSink& sink, BadLine onBadLine,
         std::chrono::milliseconds patience = std::chrono::seconds{30});

  /// Reads to the end of the input. A bad line is told and skipped; an error says that the queue or the input failed
  /// and that nothing after the last stored batch was stored.
  Result<void> run();
  const IntakeCounts& counts() const noexcept { return counts_; }

 private:
  void take(const Line& line);
  Result<void> store();
  Result<void> append(std::span<const NewMessage> messages);
  /// After a message of the batch was refused for its id: the others are stored.
  Result<void> storeOneByOne();
  /// Every good line up to this one is stored.
  void countUpTo(std::int64_t line);
  Result<void> flush();

  LineReader& reader_;
  const LineMessages messages_;
  IMessageSink& sink_;
  BadLine onBadLine_;
  std::chrono::milliseconds patience_;
  Backoff backoff_;
  std::vector<NewMessage> batch_;
  std::vector<std::int64_t> lines_;  // of the batch's messages
  std::size_t batchBytes_ = 0;
  std::int64_t taken_ = 0;     // stored or left out
  std::int64_t lastLine_ = 0;  // that was read
  IntakeCounts counts_;
};

}  // namespace tenure::cli
