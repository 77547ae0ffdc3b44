#include "cli/input/line_reader.hpp"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

namespace tenure::cli {
namespace {
constexpr std::size_t chunk = 64U << 10U;
}

Result<bool> LineBuffer::fillFrom(int descriptor) {
  buffer_.erase(0, begin_);
  scanned_ -= begin_;
  begin_ = 0;
  const std::size_t had = buffer_.size();
  buffer_.resize(had + chunk);
  ssize_t got = 0;
  do got = ::read(descriptor, buffer_.data() + had, chunk);
  while (got < 0 && errno == EINTR);
  buffer_.resize(had + static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
  if (got < 0) return Error{std::error_code{errno, std::system_category()}, "the input could not be read"};
  return got > 0;
}

void LineBuffer::skipHole() {
  if (!skipsHoles_ || skipping_) return;
  const std::size_t hole = std::min(buffer_.find_first_not_of('\0', begin_), buffer_.size()) - begin_;
  hole_ += hole;
  begin_ += hole;
  scanned_ = std::max(scanned_, begin_);
}

std::optional<Line> LineBuffer::take() {
  skipHole();
  const std::size_t end = buffer_.find('\n', scanned_);
  if (end == std::string::npos) {
    scanned_ = buffer_.size();
    skipping_ = skipping_ || scanned_ - begin_ > longest_;
    if (skipping_) skipped_ += scanned_ - std::exchange(begin_, scanned_);
    return std::nullopt;
  }
  Line line{.text = std::string_view(buffer_).substr(begin_, end - begin_), .number = ++number_};
  line.bytes = line.text.size() + std::exchange(skipped_, 0);
  line.tooLong = std::exchange(skipping_, false) || line.bytes > longest_;
  if (line.tooLong) line.text = {};
  line.bytes += std::exchange(hole_, 0);
  begin_ = scanned_ = end + 1;
  return line;
}

bool LineBuffer::endLine() {
  if (begin_ == buffer_.size() && !skipping_) return false;
  buffer_ += '\n';
  return true;
}

Result<std::optional<Line>> LineReader::next() {
  while (true) {
    if (auto line = buffer_.take()) return line;
    if (ended_) return std::optional<Line>{};
    if (wait_ && !wait_()) {
      ended_ = true;
      return std::optional<Line>{};
    }
    const Result<bool> more = buffer_.fillFrom(descriptor_);
    if (!more) return more.error();
    if (*more) continue;
    ended_ = true;
    buffer_.endLine();
  }
}

bool LineReader::isReady() const noexcept {
  if (ended_ || buffer_.hasLine()) return true;
  pollfd entry{descriptor_, POLLIN, 0};
  return ::poll(&entry, 1, 0) != 0;
}

}  // namespace tenure::cli
