/// Which acknowledgements to send for which deliveries. Pure. The tags of a channel run from 1 without a gap; a tag
/// must be acknowledged once only, or the broker closes the channel.
#pragma once

#include <cstdint>
#include <set>
#include <span>
#include <vector>

namespace tenure::rabbitmq {

struct Acknowledgement {
  std::uint64_t tag = 0;
  bool multiple = false;  // and all before it
  friend bool operator==(const Acknowledgement&, const Acknowledgement&) = default;
};

class Acknowledgements {
 public:
  /// What to send so that just these are settled; those that were settled before are left out.
  std::vector<Acknowledgement> settle(std::span<const std::uint64_t> tags);

 private:
  std::uint64_t floor_ = 0;         // all up to here are settled
  std::set<std::uint64_t> beyond_;  // settled, with one before them that is not
};

}  // namespace tenure::rabbitmq
