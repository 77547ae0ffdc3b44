#include "backends/shared/inspection.hpp"

namespace tenure {

std::string_view toString(Severity severity) noexcept {
  switch (severity) {
    case Severity::fact: return "fact";
    case Severity::warning: return "warning";
    case Severity::refusal: return "refusal";
  }
  return "unknown";
}

}  // namespace tenure
