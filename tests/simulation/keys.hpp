/// Judges which idempotency keys are forgotten, by the time of the world: no clock of any process says that.
///
///   P1 none that is younger than it is to be kept, whatever clocks say
///   P2 where clocks are right, each that is older than that by more than the passes are apart
#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "attempts.hpp"

namespace tenure::simulation {

class Keys {
 public:
  explicit Keys(const ConsumerOptions& options) : options_(options) {}

  void made(const MessageId& id, BootTime now) { made_.insert_or_assign(id, now); }
  bool contains(const MessageId& id) const { return made_.contains(id); }
  std::vector<MessageId> all() const;
  Complaint forgotten(std::span<const MessageId> ids, BootTime now);
  Complaint checkOld(BootTime now) const;

 private:
  const ConsumerOptions& options_;
  std::map<MessageId, BootTime> made_;
};

}  // namespace tenure::simulation
