/// `tenure produce` with a buffer, a spool, or a file that it follows: lines go to a Producer.
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "cli/exit.hpp"
#include "cli/input/line_messages.hpp"
#include "cli/options/backends.hpp"
#include "cli/options/options.hpp"
#include "tenure/producer.hpp"

namespace tenure::cli {

struct StreamOptions {
  std::string spool;
  std::uint64_t maxSpool = 1024;  // MiB
  std::string follow;
  std::optional<Durability> durability{};
  std::optional<Overload> onOverload{};
  std::optional<std::chrono::milliseconds> linger{};
  std::optional<std::size_t> maxBuffer{};
  std::chrono::milliseconds drain{10'000};
  std::string metricsFile;

  Options rows();
  Option spoolRow();
  Option drainRow();
  /// Whether any of them is given.
  bool isAsked() const noexcept {
    return !spool.empty() || !follow.empty() || durability || onOverload || linger || maxBuffer || !metricsFile.empty();
  }
};

/// To the end of standard input, or until SIGTERM or SIGINT.
Exit produceStream(const StreamOptions& options, const LineMessages& messages, const Backend& queue);

/// Sends what is in a spool, for at most options.drain; unavailable where some of it is left.
Exit drainSpool(const StreamOptions& options, const Backend& queue);

}  // namespace tenure::cli
