/// Since when a store or a source owes an answer, and until when it is waited for.
///
///   asked ──► answered                   nothing is owed any more
///     ├─ overdue: told once, and waited on
///     └─ `limit` after the first question that was not answered: given up
///
/// A question that is asked again, on another connection, is the same silence: only an answer ends it. A consumer may
/// hold it even then, until what had failed has gone well.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

#include "tenure/values.hpp"

namespace tenure {

/// How often the stores and queues of this process's consumers were asked.
struct AnswerTally {
  std::atomic<std::uint64_t> answered{0};    // a refusal is an answer
  std::atomic<std::uint64_t> unanswered{0};  // the connection broke, or time ran out
};

/// Threads: any.
inline AnswerTally& answerTally() noexcept {
  static AnswerTally tally;
  return tally;
}

/// Hears of answers that do not come. Called on the thread that waits for one.
class IAnswerWatch {
 public:
  virtual ~IAnswerWatch() = default;
  /// Once for each silence.
  virtual void onOverdue(BootTime since) = 0;
  /// The overdue answer has come.
  virtual void onAnswered() = 0;
};

/// A consumer hands one to each of its stores and sources. Pure, but for its watch.
/// Threads: one at a time; hurry(), cut() and since() from any.
class AnswerTimer {
 public:
  /// An answer that takes longer is overdue, unless this store is known to be slower.
  static constexpr Duration usual = std::chrono::seconds{1};

  /// A limit below a second counts as one. Borrows the watch.
  AnswerTimer(Duration limit, IAnswerWatch& watch);

  // For the store or source, around each exchange with its server:

  /// A question goes out, which the server may take so long to answer.
  void asked(BootTime now, Duration mayTake = {}) noexcept;
  /// The answer has come completely; a refusal counts.
  void answered(BootTime now);
  /// The store stops waiting for now: no answer is owed.
  void putOff() noexcept;
  /// Until when to wait at a stretch; then it asks mayWait.
  BootTime nextLook(BootTime now) const noexcept;
  /// False: the exchange is to be given up.
  bool mayWait(BootTime now);
  BootTime deadline() const noexcept;
  bool isOverdue() const noexcept { return told_; }
  /// For limits that the server keeps by itself, so that it answers in time.
  Duration limit() const noexcept { return limit_; }

  // For the consumer:

  /// When the first unanswered question was asked; nullopt: no answer is owed.
  std::optional<BootTime> since() const noexcept;
  /// The store has failed since then, and answers alone do not mend it; nullopt: it works again.
  void hold(std::optional<BootTime> since) noexcept { held_ = since; }
  /// Ends the exchange under way, and no later one.
  void cut() noexcept { isCut_.store(true); }
  /// Ends an exchange under way by then.
  void hurry(BootTime by) noexcept { endBy_.store(by.time_since_epoch().count()); }
  /// A new term begins.
  void reset() noexcept;

  /// Shared by all timers that use the same connection in turn.
  struct Silence {
    std::atomic<Duration::rep> since{0};   // 0: nothing is owed
    std::atomic<Duration::rep> waited{0};  // when one of them last waited
  };
  void share(std::shared_ptr<Silence> silence) noexcept { silence_ = std::move(silence); }

 private:
  BootTime overdueAt() const noexcept;

  const Duration limit_;
  IAnswerWatch& watch_;
  std::shared_ptr<Silence> silence_ = std::make_shared<Silence>();
  std::optional<BootTime> held_;
  std::atomic<Duration::rep> endBy_{BootTime::max().time_since_epoch().count()};
  std::atomic<bool> isCut_{false};
  BootTime askedAt_{};
  Duration mayTake_{};
  Duration longest_{};  // that an answer took in this term
  bool told_ = false;
};

}  // namespace tenure
