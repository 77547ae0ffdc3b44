#include "backends/shared/record_text.hpp"

#include <algorithm>

#include "base/text.hpp"

namespace tenure::backends {

std::string timeText(WallTime at) { return std::to_string(at.time_since_epoch().count()); }

WallTime timeFrom(std::string_view text) noexcept {
  return WallTime{std::chrono::milliseconds{parseInteger(text).value_or(0)}};
}

std::vector<MessageId> splitIds(std::string_view joined) {
  std::vector<MessageId> ids;
  for (std::size_t end = joined.find('\0'); end != std::string_view::npos; end = joined.find('\0')) {
    ids.push_back(MessageId{std::string(joined.substr(0, end))});
    joined.remove_prefix(end + 1);
  }
  return ids;
}

}  // namespace tenure::backends
