/// Checks a set of options once and collects every complaint, so that a person mends them all in one go.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tenure/result.hpp"

namespace tenure {

/// One option that was refused: its name, what was given, and what was expected.
struct Complaint {
  std::string key;
  std::string value;
  std::string why;
};

class Complaints {
 public:
  /// Secrets are passed as "***".
  void require(bool holds, std::string_view key, std::string_view value, std::string_view why);
  void require(bool holds, std::string_view key, std::chrono::microseconds value, std::string_view why);
  void require(bool holds, std::string_view key, std::int64_t value, std::string_view why);
  /// Complains when the value did not parse; the error's detail says why.
  template <class T>
  void require(const Result<T>& parsed, std::string_view key, std::string_view value) {
    if (!parsed) require(false, key, value, parsed.error().detail);
  }

  bool empty() const noexcept { return all_.empty(); }
  const std::vector<Complaint>& all() const noexcept { return all_; }
  /// One line a complaint: `key = value: why`, with values escaped.
  std::string message() const;
  /// For constructors: std::system_error(configurationRefused) whose what() lists every complaint.
  void throwIfAny() const;

 private:
  std::vector<Complaint> all_;
};

}  // namespace tenure
