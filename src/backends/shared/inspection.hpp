/// What an inspection finds, put together line by line; and what several servers have in common.
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "storage/fence.hpp"
#include "tenure/spi/admin.hpp"

namespace tenure::backends {

class Inspection {
 public:
  void fact(std::string name, std::string value, std::string remark = {}) {
    found_.push_back({Severity::fact, std::move(name), std::move(value), std::move(remark)});
  }
  /// A fact where it `holds`; else as grave as said, with what was expected and why.
  void expect(bool holds, Severity otherwise, std::string name, std::string value, std::string expected) {
    if (holds) return fact(std::move(name), std::move(value));
    found_.push_back({otherwise, std::move(name), std::move(value), std::move(expected)});
  }
  void expectSafe(bool holds, std::string name, std::string value, std::string expected) {
    expect(holds, Severity::warning, std::move(name), std::move(value), std::move(expected));
  }
  void require(bool holds, std::string name, std::string value, std::string expected) {
    expect(holds, Severity::refusal, std::move(name), std::move(value), std::move(expected));
  }
  Findings take() { return std::move(found_); }

 private:
  Findings found_;
};

using storage::described;

}  // namespace tenure::backends
