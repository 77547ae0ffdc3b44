#include "backends/rabbitmq/acknowledgements.hpp"

namespace tenure::rabbitmq {

std::vector<Acknowledgement> Acknowledgements::settle(std::span<const std::uint64_t> tags) {
  std::set<std::uint64_t> fresh;
  for (const std::uint64_t tag : tags)
    if (tag > floor_ && !beyond_.contains(tag)) fresh.insert(tag);
  beyond_.insert(fresh.begin(), fresh.end());
  while (!beyond_.empty() && *beyond_.begin() == floor_ + 1) {
    floor_ = *beyond_.begin();
    beyond_.erase(beyond_.begin());
  }

  std::vector<Acknowledgement> send;
  // The multiple one must name a tag that the broker still waits for: the last of ours below the floor.
  const auto above = fresh.upper_bound(floor_);
  if (above != fresh.begin()) send.push_back({*std::prev(above), true});
  for (auto each = above; each != fresh.end(); ++each) send.push_back({*each, false});
  return send;
}

}  // namespace tenure::rabbitmq
