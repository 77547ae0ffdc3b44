/// What of a queue's work waits and what is stuck, and why: what `tenure queue stats` and `tenure status --queue` show.
///
///     queue ── stats ──────────────▶ waiting, the oldest
///     store ── in-work records ────▶ in work
///           ├─ attempt records ────▶ retrying, postponed, blocked
///           ├─ streaks ────────────▶ stopped
///           ├─ places of groups ───▶ kept for a number
///           └─ dead letters ───────▶ dead
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/options/wiring_options.hpp"
#include "election/records.hpp"
#include "tenure/spi/admin.hpp"

namespace tenure::cli {

/// A group whose messages wait in the store for one that has not come.
struct KeptGroup {
  ConsumerName consumer;
  GroupId group;
  std::int64_t missing = 0;  // the number
  std::size_t waiting = 0;
  WallTime since{};
};

/// What the store says.
struct StoreReport {
  std::vector<MessageId> inWork;
  bool moreInWork = false;
  std::int64_t retrying = 0;
  std::vector<FailingMessage> postponed;  // that since longest first
  std::vector<FailingMessage> blocked;
  std::vector<ConsumerStreak> stopped;
  std::vector<KeptGroup> kept;
  std::int64_t deadLetters = 0;
  bool moreDeadLetters = false;
};

struct QueueReport {
  QueueStats queue;
  std::optional<ScheduledStats> scheduled{};  // nullopt: the queue keeps no message for a later time
  std::optional<StoreReport> store;
  std::string whyNoStore{};             // nothing is known of it
  bool isOfBroker = false;              // which counts only what it has not handed out
  std::optional<std::string> leader{};  // its id; empty: there is none; nullopt: not known
  std::string whyNoLeader{};            // it was asked for
  std::optional<Pause> pause{};         // the election is paused now
  bool isAtRest = false;                // and its leader has nothing in hand
};

/// `--queue URL [--store URL]` for a reader: a queue that keeps no effects may come without its store. The error
/// names the option.
Result<Wiring> parseToLook(const QueueOption& queue, const StoreOption& store);

/// Of messages that wait for their time; nullopt where the queue keeps none.
Result<std::optional<ScheduledStats>> scheduledOf(const Backend& queue, bool atAGlance = false);
/// Of messages with a time: "3, the next at 2026-05-04T09:12:33.000Z (in 12m 3s)"
std::string timedText(const ScheduledStats& scheduled, WallTime now);
/// Of messages without one, that other programs have sent: "2, the oldest for 5s"
std::string sentText(const ScheduledStats& scheduled, WallTime now);
/// Both in one text.
std::string scheduledText(const ScheduledStats& scheduled, WallTime now);
/// An object.
std::string scheduledJson(const ScheduledStats& scheduled);

/// The error names the option.
Result<QueueReport> reportOn(const Wiring& wiring);

/// Messages that wait for nothing but their turn.
std::int64_t waitingNow(const QueueReport& report);

/// A line each, and below it those that are stuck.
std::string reportText(const QueueReport& report, WallTime now);
/// One object, without a line break.
std::string reportJson(const QueueReport& report, WallTime now);

/// "3d 4h", "12m 3s": rounded down, for people.
std::string ageText(std::chrono::milliseconds age);

}  // namespace tenure::cli
