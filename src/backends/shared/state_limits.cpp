#include "backends/shared/state_limits.hpp"

#include "base/text.hpp"

namespace tenure::backends {
namespace {

constexpr std::size_t maxKeyBytes = 255;
constexpr std::size_t maxValueBytes = 1U << 20U;

}  // namespace

Result<void> checkStateKey(std::string_view key) {
  if (!key.empty() && key.size() <= maxKeyBytes) return {};
  return Error{Errc::invalidArgument, "state key \"" + escaped(key) + "\": expected 1 to 255 bytes"};
}

Result<void> checkState(std::string_view key, std::string_view value) {
  if (Result<void> checked = checkStateKey(key); !checked) return checked;
  if (value.size() <= maxValueBytes) return {};
  return Error{Errc::payloadTooLarge, "state \"" + escaped(key) + "\": at most 1 MiB"};
}

}  // namespace tenure::backends
