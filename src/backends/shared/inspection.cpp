#include "backends/shared/inspection.hpp"

namespace tenure {

std::string_view toString(Gravity gravity) noexcept {
  switch (gravity) {
    case Gravity::fact: return "fact";
    case Gravity::warning: return "warning";
    case Gravity::refusal: return "refusal";
  }
  return "unknown";
}

}  // namespace tenure
