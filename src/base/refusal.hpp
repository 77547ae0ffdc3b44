/// Tells errors of IMessageSink::appendEach that refuse one message from errors of the queue.
#pragma once

#include <algorithm>
#include <string>
#include <unordered_set>

#include "tenure/result.hpp"
#include "tenure/values.hpp"

namespace tenure {

/// The message's fault: others may be stored all the same.
inline bool isMessageRefused(const Error& error) noexcept {
  constexpr Errc refusals[] = {Errc::payloadTooLarge, Errc::invalidArgument, Errc::alreadyScheduled,
                               Errc::alreadyDone,     Errc::unsupported,     Errc::notFound};
  return std::ranges::any_of(refusals, [&](Errc code) { return error.is(code); });
}

/// Groups of which a message was refused: those behind it are not tried.
class RefusedGroups {
 public:
  void add(const GroupId& group) {
    if (!group.value.empty()) groups_.insert(group.value);
  }
  bool contains(const GroupId& group) const { return groups_.contains(group.value); }
  static Error cancelled() { return {Errc::cancelled, "an earlier message of its group was refused"}; }

 private:
  std::unordered_set<std::string> groups_;
};

}  // namespace tenure
