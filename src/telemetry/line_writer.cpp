#include "telemetry/line_writer.hpp"

#include <poll.h>
#include <unistd.h>

#include "base/text.hpp"
#include "tenure/values.hpp"

namespace tenure {
namespace {

/// A pipe is writable when it takes a line of PIPE_BUF bytes whole; a closed one would raise SIGPIPE.
bool isWritable(int descriptor) noexcept {
  pollfd entry{descriptor, POLLOUT, 0};
  return ::poll(&entry, 1, 0) == 1 && entry.revents == POLLOUT;
}

}  // namespace

std::string LineWriter::lossAsText(std::uint64_t lost) {
  return formatWallTime(systemClock().wallNow()) + " warn log_lines_lost count=" + std::to_string(lost);
}

bool LineWriter::writeNow(std::string_view bytes) noexcept {
  if (!isWritable(descriptor_)) return false;
  const ssize_t written = ::write(descriptor_, bytes.data(), bytes.size());
  const bool whole = written == static_cast<ssize_t>(bytes.size());
  if (written > 0) torn_ = !whole;
  return whole;
}

void LineWriter::write(std::string_view line) {
  std::string bytes;
  if (torn_) bytes += '\n';
  if (lost_ > 0) bytes += loss_(lost_) + '\n';
  bytes += line;
  bytes += '\n';
  if (writeNow(bytes))
    lost_ = 0;
  else
    ++lost_;
}

}  // namespace tenure
