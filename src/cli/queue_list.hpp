/// The queues of a place at a glance.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/backends.hpp"
#include "tenure/scheduled.hpp"
#include "tenure/spi/admin.hpp"

namespace tenure::cli {

struct ListedQueue {
  std::string name;
  QueueStats queue{};
  ScheduledStats scheduled{};

  /// Messages wait for it, and no election has consumed it yet.
  bool isUnread() const noexcept { return queue.election.empty() && scheduled.waiting + scheduled.atOnce > 0; }
};

/// Looks at one after the other: the place is that of the last one afterwards. Errors: unsupported; those of
/// IQueueAdmin::stats().
Result<std::vector<ListedQueue>> listQueues(Backend& place);

}  // namespace tenure::cli
