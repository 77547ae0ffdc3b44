/// How long a failed message waits for its next attempt.
///
///   delays of one's own   the n-th after the n-th failure; after the last one, the last one again
///   otherwise             grow with equal jitter: from half to all of min(retryMax, retryBase · 2^(n-1)), n from 1
#pragma once

#include "base/random.hpp"
#include "tenure/consumer.hpp"

namespace tenure::consuming {

/// Pure but for its random numbers. Borrows the options.
class RetryDelays {
 public:
  RetryDelays(const ConsumerOptions& options, Random random) noexcept : options_(options), random_(random) {}

  /// After so many failures, 1 at the first.
  std::chrono::milliseconds after(int failures) noexcept;

 private:
  const ConsumerOptions& options_;
  Random random_;
};

/// No message waits longer.
std::chrono::milliseconds longestRetryDelay(const ConsumerOptions& options) noexcept;

}  // namespace tenure::consuming
