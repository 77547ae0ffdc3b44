#include "keys.hpp"

namespace tenure::simulation {
namespace {

using namespace std::chrono_literals;

constexpr auto tolerance = 2min;  // between a step of a clock and its discovery, and more
constexpr auto betweenPasses = 13min;

std::string inMinutes(Duration age) {
  return std::to_string(std::chrono::duration_cast<std::chrono::minutes>(age).count()) + " min";
}

}  // namespace

std::vector<MessageId> Keys::all() const {
  std::vector<MessageId> ids;
  for (const auto& [id, at] : made_) ids.push_back(id);
  return ids;
}

Complaint Keys::forgotten(std::span<const MessageId> ids, BootTime now) {
  Complaint complaint;
  for (const MessageId& id : ids) {
    const auto key = made_.extract(id);
    if (!key || now - key.mapped() >= options_.keepIdsFor - tolerance) continue;
    complaint = "P1: the key of " + id.value + " is forgotten after " + inMinutes(now - key.mapped());
  }
  return complaint;
}

Complaint Keys::checkOld(BootTime now) const {
  for (const auto& [id, at] : made_)
    if (now - at > options_.keepIdsFor + betweenPasses)
      return "P2: the key of " + id.value + " is still there after " + inMinutes(now - at);
  return std::nullopt;
}

}  // namespace tenure::simulation
