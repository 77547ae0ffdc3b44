/// A password or key, kept apart from ordinary text by its type.
#pragma once

#include <string>
#include <utility>

namespace tenure {

/// A value that never shows in logs or errors.
class Secret {
 public:
  Secret() = default;
  explicit Secret(std::string value) : value_(std::move(value)) {}
  const std::string& reveal() const noexcept { return value_; }
  bool empty() const noexcept { return value_.empty(); }

 private:
  std::string value_;
};

}  // namespace tenure
