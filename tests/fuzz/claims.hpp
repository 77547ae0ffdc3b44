/// What every fuzz target claims beside "it does not crash".
#pragma once

#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

#include "base/text.hpp"
#include "tenure/result.hpp"

namespace tenure::fuzz {

[[noreturn]] inline void refute(const char* claim, std::string_view witness) {
  std::fprintf(stderr, "refuted: %s\nwitness: \"%s\"\n", claim, escaped(witness, 4096).c_str());
  std::abort();
}

inline void require(bool holds, const char* claim, std::string_view witness = {}) {
  if (!holds) refute(claim, witness);
}

/// Fit for a terminal and a log: UTF-8, nothing that moves the cursor or turns the text around.
inline bool isShowable(std::string_view text) {
  const std::string again = printable(text);
  return again == text;
}

/// An error says something, and nothing of what a stranger wrote reaches the terminal as it stands.
inline void requireDecent(const Error& error) {
  require(static_cast<bool>(error.code), "an error has a code", error.detail);
  require(!error.detail.empty(), "an error says what is wrong");
  require(isShowable(error.message()), "an error's text can be shown", error.message());
}

template <class T>
bool isGood(const Result<T>& result) {
  if (!result) requireDecent(result.error());
  return result.has_value();
}

/// The input of a fuzz run, taken apart from the front.
class Bytes {
 public:
  Bytes(const std::uint8_t* data, std::size_t size) : rest_(reinterpret_cast<const char*>(data), size) {}

  std::uint8_t byte() {
    if (rest_.empty()) return 0;
    const auto first = static_cast<std::uint8_t>(rest_.front());
    rest_.remove_prefix(1);
    return first;
  }
  std::string_view rest() const { return rest_; }

 private:
  std::string_view rest_;
};

}  // namespace tenure::fuzz
