#include "backends/shared/inspection.hpp"

#include "base/text.hpp"

namespace tenure {

std::string_view toString(Gravity gravity) noexcept {
  switch (gravity) {
    case Gravity::fact: return "fact";
    case Gravity::warning: return "warning";
    case Gravity::refusal: return "refusal";
  }
  return "unknown";
}

namespace backends {

std::string described(const FenceRow& row) {
  return "token " + std::to_string(row.token.value) + " of generation " + std::to_string(row.generation) + " at " +
         row.path + ", claimed " + formatWallTime(row.claimedAt);
}

}  // namespace backends
}  // namespace tenure
