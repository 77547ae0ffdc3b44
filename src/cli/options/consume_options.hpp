/// What `tenure consume` may be told: each group is a table with a row an option (option.hpp).
#pragma once

#include <algorithm>
#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "cli/options/command.hpp"
#include "cli/options/flow_options.hpp"
#include "cli/options/options.hpp"
#include "cli/options/replica_options.hpp"
#include "cli/options/webhook_options.hpp"
#include "cli/options/wiring_options.hpp"
#include "tenure/candidate.hpp"
#include "tenure/consumer.hpp"

namespace tenure::cli {

// Options of the commands that consume a queue, `consume` and `relay`: lanes, limits, and what becomes of failures.

// The rows refer to the arguments.
/// `hasOthers`: there are lanes even if `--lanes` is not given.
Options lanesRows(
    ConsumerOptions& tuning, const std::function<bool()>& hasOthers = [] { return false; });
/// `executeLimit`: the row of it.
Options limitRows(Option executeLimit, ConsumerOptions& tuning, CareerLimits& careerLimits);
/// `value` reads it.
Option executeLimitRow(Value value);
/// How long an idle leader waits for messages at a time: well within its limit, or it would look like one that hangs.
inline std::chrono::milliseconds idleWaitWithin(std::chrono::milliseconds executeLimit) {
  return std::min(ConsumerOptions{}.idleWait, executeLimit / 4);
}
Options failureRows(ConsumerOptions& tuning, Value deadLetterLimit);

enum class CommandOutputTo { log, inherit };

/// As the user gave them.
struct ConsumeOptions {
  ReplicaOption replica;
  WiringOption wiring;
  std::string sql;
  std::string exec;
  std::string worker;
  std::optional<std::size_t> workerProcesses;  // nullopt: one, or one a lane
  WebhookOption webhook;
  std::string consumer;
  std::string statusFile;
  FlowOption flow;
  ConsumerOptions tuning;
  CareerLimits limits;
  std::optional<std::size_t> deadLetterLimit;             // nullopt: the usual one; none with --webhook-from
  std::optional<std::chrono::milliseconds> executeLimit;  // nullopt: none for commands
  CommandOutputTo output = CommandOutputTo::log;

  /// The groups' rows refer to this object.
  std::vector<Group> groups();
};

}  // namespace tenure::cli
