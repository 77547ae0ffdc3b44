#include "telemetry/http/series.hpp"

#include <algorithm>
#include <array>

#include "base/assert.hpp"

namespace tenure::telemetry {
namespace {

constexpr std::array table{
    Series{"tenure_backend_errors_total", Kind::counter, "", "",
           "Times that store or queue did not answer: a broken connection, or no answer in time"},
    Series{"tenure_backend_round_trips_total", Kind::counter, "", "",
           "Answers of store and queue; with SQLite commits, with RabbitMQ not the messages that it hands out"},
    Series{"tenure_batch_messages", Kind::histogram, "messages", "", "Messages that were committed together"},
    Series{"tenure_blocked", Kind::gauge, "", "", "1: a message is out of attempts, and those behind it wait", true},
    Series{"tenure_candidacies_lost_total", Kind::counter, "", "",
           "Candidacies that ended without the replica's doing"},
    Series{"tenure_commit_seconds", Kind::histogram, "seconds", "", "How long the commit of a batch took"},
    Series{"tenure_connected", Kind::gauge, "", "", "1: this replica has a session with ZooKeeper and is connected"},
    Series{"tenure_election_failures_total", Kind::counter, "", "",
           "Attempts to contend that failed and are tried again"},
    Series{"tenure_events_total", Kind::counter, "", "level", "Events, by how bad they are"},
    Series{"tenure_handler_seconds", Kind::histogram, "seconds", "", "How long each run of the handler took", false,
           "consume"},
    Series{"tenure_handler_slow_seconds", Kind::gauge, "seconds", "",
           "For how long the command of --exec runs that runs longest, from its first minute on; 0: none does", true,
           "consume"},
    Series{"tenure_handover_gap_seconds", Kind::histogram, "seconds", "",
           "From the end of the term before, by its leader's calendar clock, to the first work of this replica's; only "
           "after a term that ended in order"},
    Series{"tenure_inauguration_seconds", Kind::histogram, "seconds", "",
           "From taking the leadership to the first work: connecting, claiming, reading what was left"},
    Series{"tenure_lanes_in_use", Kind::gauge, "", "", "Handlers that run now", true, "consume"},
    Series{"tenure_leader", Kind::gauge, "", "", "1: this replica leads, and its term is valid now"},
    Series{"tenure_lease_remaining_seconds", Kind::gauge, "seconds", "",
           "How long the term is valid without another proof", true},
    Series{"tenure_messages_total", Kind::counter, "", "outcome",
           "Messages, by what became of them: committed (done, skipped or dead, with a commit), duplicate, failed (an "
           "attempt), postponed, dead, skipped, coalesced, forgone"},
    Series{"tenure_outage", Kind::gauge, "", "", "1: the leader's store or queue does not answer", true},
    Series{"tenure_outages_total", Kind::counter, "", "", "Times that a leader's store or queue stopped answering"},
    Series{"tenure_paused", Kind::gauge, "", "", "1: an operator has paused the election; nothing new begins", true},
    Series{"tenure_phase_failures_total", Kind::counter, "", "phase", "Phases of a career that failed"},
    Series{"tenure_producer_batches_total", Kind::counter, "", "",
           "Batches that the queue has answered, be it with a failure", false, "produce"},
    Series{"tenure_producer_failing", Kind::gauge, "", "", "1: the last batch failed, and is tried again", false,
           "produce"},
    Series{"tenure_producer_messages_total", Kind::counter, "", "outcome",
           "Messages, by what became of them: confirmed, refused (by the queue), dropped (for want of room), given_up",
           false, "produce"},
    Series{"tenure_producer_oldest_age_seconds", Kind::gauge, "seconds", "",
           "Age of the oldest message in memory or spool", false, "produce"},
    Series{"tenure_producer_overflow_seconds", Kind::gauge, "seconds", "",
           "When memory and spool are full, if messages go on to come and go as now; absent: never", false, "produce"},
    Series{"tenure_producer_waiting", Kind::gauge, "", "", "Messages that were taken and not confirmed", false,
           "produce"},
    Series{"tenure_queue_dead_letters", Kind::gauge, "", "",
           "Dead letters, some ten thousand at most; absent where they are not kept with the queue", true},
    Series{"tenure_queue_oldest_age_seconds", Kind::gauge, "seconds", "",
           "Age of the oldest waiting message; 0 if none waits, absent if the backend does not know", true},
    Series{
        "tenure_queue_retrying", Kind::gauge, "", "",
        "Messages with an attempt on record (retried, postponed or blocked), some ten thousand at most; absent where "
        "that is not kept with the queue",
        true},
    Series{"tenure_queue_waiting", Kind::gauge, "", "",
           "Messages that wait for their turn, an estimate where they are more than ten thousand; of a broker without "
           "those "
           "that the leader has been handed",
           true},
    Series{"tenure_ready", Kind::gauge, "", "", "1: a term could begin here"},
    Series{"tenure_relay_publish_seconds", Kind::histogram, "seconds", "",
           "From sending messages to the target until it has answered", false, "relay"},
    Series{"tenure_relay_published_total", Kind::counter, "", "", "Messages that the target has confirmed", false,
           "relay"},
    Series{"tenure_relay_refused_total", Kind::counter, "", "", "Messages that the target has refused, each time",
           false, "relay"},
    Series{"tenure_scheduled_lateness_seconds", Kind::gauge, "seconds", "",
           "Greatest lateness of a scheduled message: of those of the last five minutes, and of those that are due",
           true},
    Series{"tenure_scheduled_waiting", Kind::gauge, "", "", "Messages that wait for their time", true},
    Series{"tenure_sessions_expired_total", Kind::counter, "", "", "ZooKeeper sessions that expired"},
    Series{"tenure_sessions_suspended_total", Kind::counter, "", "", "Times that the connection to ZooKeeper was lost"},
    Series{"tenure_spool_bytes", Kind::gauge, "bytes", "", "Size of the messages that wait in the spool", false,
           "produce"},
    Series{"tenure_spool_failing", Kind::gauge, "", "", "1: the spool did not take the last messages", false,
           "produce"},
    Series{"tenure_spool_refused", Kind::gauge, "", "",
           "Messages that the queue refused, and that are kept aside in the spool", false, "produce"},
    Series{"tenure_spool_waiting", Kind::gauge, "", "", "Messages that wait in the spool", false, "produce"},
    Series{"tenure_stale_commits_refused_total", Kind::counter, "", "",
           "Commits that the store refused because a newer term had claimed it"},
    Series{"tenure_stopped", Kind::gauge, "", "", "1: too many dead letters in a row; an operator has to resume", true},
    Series{"tenure_stuck_total", Kind::counter, "", "",
           "Times that a leader could have worked and did not for the time of --stuck-after"},
    Series{"tenure_term_token", Kind::gauge, "", "", "The fencing token of the term", true},
    Series{"tenure_terms_total", Kind::counter, "", "reason", "Terms that ended, by the reason"},
    Series{"process_cpu_seconds_total", Kind::counter, "seconds", "", "Processor time of this process"},
    Series{"process_open_fds", Kind::gauge, "", "", "File descriptors that are open"},
    Series{"process_resident_memory_bytes", Kind::gauge, "bytes", "", "Memory of this process that is resident"},
    Series{"process_start_time_seconds", Kind::gauge, "seconds", "", "When this process began, in seconds since 1970"},
};

}  // namespace

std::string_view toString(Kind kind) noexcept {
  switch (kind) {
    case Kind::gauge: return "gauge";
    case Kind::counter: return "counter";
    case Kind::histogram: return "histogram";
  }
  return "unknown";
}

std::span<const Series> series() noexcept { return table; }

const Series& seriesNamed(std::string_view name) {
  const auto found = std::ranges::find(table, name, &Series::name);
  TENURE_ASSERT(found != table.end());
  return *found;
}

}  // namespace tenure::telemetry
