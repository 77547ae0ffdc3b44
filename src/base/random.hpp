/// Seeded random numbers, and identifiers that come from the kernel.
#pragma once

#include <cstdint>
#include <string>

namespace tenure {

/// SplitMix64: small, fast, seedable, good enough for jitter and schedules. Not for secrets.
class Random {
 public:
  explicit Random(std::uint64_t seed) noexcept : state_(seed) {}
  std::uint64_t next() noexcept;
  /// Uniform in [0, bound); 0 for bound 0.
  std::uint64_t below(std::uint64_t bound) noexcept;
  /// Uniform in [0, 1).
  double fraction() noexcept;
  /// An independent stream, so that a draw added in one part does not reshuffle another.
  Random fork() noexcept;

 private:
  std::uint64_t state_;
};

/// A seed from the kernel.
std::uint64_t freshSeed();
/// 32 lower-case hexadecimal digits from the kernel's random source.
std::string freshUuid();

}  // namespace tenure
