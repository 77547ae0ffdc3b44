#include "base/random.hpp"

#include <sys/random.h>

#include <array>

#include "base/assert.hpp"

namespace tenure {
namespace {

template <class T>
T fromKernel() {
  T value{};
  const auto got = getrandom(&value, sizeof value, 0);
  TENURE_ASSERT(got == static_cast<ssize_t>(sizeof value));
  return value;
}

}  // namespace

std::uint64_t Random::next() noexcept {
  std::uint64_t z = (state_ += 0x9E3779B97F4A7C15U);
  z = (z ^ (z >> 30U)) * 0xBF58476D1CE4E5B9U;
  z = (z ^ (z >> 27U)) * 0x94D049BB133111EBU;
  return z ^ (z >> 31U);
}

std::uint64_t Random::below(std::uint64_t bound) noexcept {
  if (bound == 0) return 0;
  return static_cast<std::uint64_t>(fraction() * static_cast<double>(bound));
}

double Random::fraction() noexcept { return static_cast<double>(next() >> 11U) * 0x1.0p-53; }

Random Random::fork() noexcept { return Random{next()}; }

std::uint64_t freshSeed() { return fromKernel<std::uint64_t>(); }

std::string freshUuid() {
  constexpr std::string_view digits = "0123456789abcdef";
  std::string uuid;
  for (const unsigned char byte : fromKernel<std::array<unsigned char, 16>>()) {
    uuid += digits[byte >> 4U];
    uuid += digits[byte & 0xFU];
  }
  return uuid;
}

}  // namespace tenure
