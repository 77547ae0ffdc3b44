/// What the storms of this room have in common: faults and terms as a seed draws them.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "base/random.hpp"
#include "scene.hpp"

namespace tenure::test {

/// One more error that the operation may end with in this storm.
using AlsoFails = std::function<std::optional<Errc>(memory::Operation)>;

/// The next calls of some operation fail, and now and then the next commit's reply is lost.
inline void drawFault(memory::World& world, Random& random, const AlsoFails& also = {}) {
  using memory::Operation;
  constexpr Operation operations[] = {Operation::known,  Operation::write, Operation::commit,     Operation::resolve,
                                      Operation::attach, Operation::fetch, Operation::acknowledge};
  const Operation operation = operations[random.below(std::size(operations))];
  std::vector<Errc> errors{Errc::unavailable, Errc::storeBusy, Errc::timedOut};
  if (const auto extra = also ? also(operation) : std::nullopt) errors.push_back(*extra);
  const Errc error = errors[random.below(errors.size())];
  world.fail(operation, error, 1 + static_cast<int>(random.below(3)));
  if (random.below(3) == 0) world.loseCommitReply(random.below(2) == 0);
}

/// One term, as long as it is drawn. True when it ended with a kill between two messages.
inline bool serve(ConsumerReplica& leader, Random& random) {
  try {
    leader.becomeLeader();
  } catch (const EndTerm&) {
    return false;
  }
  const bool over = leader.endOf(1 + static_cast<int>(random.below(40))).has_value();
  if (random.below(5) == 0) leader.term().loseLease();
  if (!over && random.below(2) != 0) return true;
  leader.handOver();
  return false;
}

}  // namespace tenure::test
