/// Which rows of the protocol's table of phases and faults a run has seen: a replica's stage, and what struck it there;
/// and what may happen to a message on its way, by the events that tell of it.
///
/// The table's last row, "marker idle, znode not deleted", has no stage: both go in one write.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace tenure::simulation {

/// Where a replica is on its way through a term and a message.
enum class Stage {
  connecting,
  createLost,  // enrolment sent, the reply lost
  standby,
  barrier,
  beforeClaim,  // marker busy
  recovering,   // claimed
  idle,
  executing,
  commitLost,  // commit sent, the reply lost
  unacknowledged,
  poison,  // executing what fails or kills
  draining,
  away,      // between terms; not a row of the table
  offering,  // asked to leave: the leadership is offered, and not accepted yet
  accepted,  // the next in line has accepted, and waits for the baton
  count
};
enum class Column { killed, expired, storeDown, sourceDown, terminated, count };
const char* toString(Stage stage) noexcept;
const char* toString(Column column) noexcept;
/// The table says that something happens there.
bool isRow(Stage stage, Column column) noexcept;

class Coverage {
 public:
  void mark(Stage stage, Column column) noexcept { ++at(stage, column); }
  /// Most events are none of a message's way.
  void saw(std::string_view event) noexcept;
  void add(const Coverage& other) noexcept;
  std::string table() const;
  /// Of the table's rows, and of a message's way.
  int missing() const noexcept;

 private:
  static constexpr std::size_t stages = static_cast<std::size_t>(Stage::count);
  static constexpr std::size_t columns = static_cast<std::size_t>(Column::count);
  std::uint64_t& at(Stage stage, Column column) noexcept {
    return counts_[static_cast<std::size_t>(stage) * columns + static_cast<std::size_t>(column)];
  }
  std::array<std::uint64_t, stages * columns> counts_{};
  // Events; and what is seen by the simulation alone: which ways were gone to their end.
  static constexpr std::array<std::string_view, 55> way{
      "duplicate_dropped", "attempt_failed",        "message_postponed",  "message_suspected",    "message_skipped",
      "queue_blocked",     "message_dead_lettered", "queue_unblocked",    "message_held_back",    "message_kept",
      "gap_found",         "gap_skipped",           "outage_began",       "outage_ended",         "batch_committed",
      "ran_at_least_once", "ran_at_most_once",      "message_forgone",    "requests_coalesced",   "handled_together",
      "batch_split",       "attempts_logged",       "log_pruned",         "liveness_unknown",     "command_orphaned",
      "will_closed",       "will_resigned",         "will_unproven",      "returned_by_broker",   "keys_pruned",
      "clock_distrusted",  "consumer_stopped",      "consumer_resumed",   "commit_refused",       "message_promoted",
      "promotion_refused", "promotion_unheard",     "cancelled",          "cancelled_in_handler", "moved",
      "moved_in_handler",  "change_too_late",       "committed_late",     "came_at_once",         "rolled_back",
      "bound_moved",       "reader_called",         "slept_over",         "handover_offered",     "handover_accepted",
      "handover_refused",  "baton_passed",          "answered_by_values", "worker_lost",          "answered_beside"};
  std::array<std::uint64_t, way.size()> seen_{};
};

}  // namespace tenure::simulation
