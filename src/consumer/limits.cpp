#include "consumer/limits.hpp"

#include "base/validation.hpp"
#include "messages/headers.hpp"

namespace tenure::consuming {
namespace {

constexpr std::size_t maxNameBytes = 255;

}  // namespace

bool isWithinLimits(const MessageId& id) noexcept {
  return !id.value.empty() && id.value.size() <= maxNameBytes && id.value.find('\0') == std::string::npos;
}

std::string_view brokenLimit(const Message& message) noexcept {
  if (!message.lacks.empty()) return message.lacks;
  if (message.id.value.empty()) return "it has no id";
  if (!isWithinLimits(message.id)) return "its id is not 1 to 255 bytes without NUL";
  if (!isGroup(message.group)) return "its group is not at most 255 bytes without NUL";
  if (message.body.size() > maxBodyBytes) return "its body is over 1 MiB";
  if (sizeOf(message.headers) > maxHeaderBytes) return "its headers are over 64 KiB";
  return {};
}

}  // namespace tenure::consuming
