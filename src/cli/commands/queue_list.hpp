/// The queues of a database, as `tenure queue list` and `tenure list` show them.
#pragma once

#include <string>
#include <vector>

#include "cli/options/backends.hpp"
#include "cli/output/queue_report.hpp"

namespace tenure::cli {

struct ListedQueue {
  std::string name;
  QueueStats queue{};
  ScheduledStats scheduled{};
};

/// With names that messages were sent to and no election consumes. Looks at one queue after the other.
/// Errors: unsupported (the backend cannot list its queues), and those of IQueueAdmin::stats
Result<std::vector<ListedQueue>> listQueues(Backend& place);
/// A line, with its line break.
std::string lineOf(const ListedQueue& each, WallTime now);
/// An object and a line break.
std::string jsonOf(const ListedQueue& each);

}  // namespace tenure::cli
