#include "coordination/coordination.hpp"

#include <algorithm>

#include "base/text.hpp"

namespace tenure {
namespace {

constexpr std::string_view part = "part ";

}  // namespace

Error refusalOf(std::size_t number, std::size_t parts, Error why) {
  why.detail.insert(0, std::string(part) + std::to_string(number + 1) + " of " + std::to_string(parts) + ": ");
  return why;
}

std::optional<std::size_t> refusedPart(const Error& refusal) {
  std::string_view text = refusal.detail;
  if (!text.starts_with(part)) return std::nullopt;
  text.remove_prefix(part.size());
  const auto number = parseInteger(text.substr(0, std::min(text.size(), text.find(' '))));
  return number && *number > 0 ? std::optional(static_cast<std::size_t>(*number - 1)) : std::nullopt;
}

}  // namespace tenure
