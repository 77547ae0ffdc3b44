/// What the next commit adds to the consume log, and when the log is shortened. Pure.
///
/// A line is written in the transaction that has the attempt's effect, or the record of its failure. A transaction that
/// comes to nothing takes its lines with it, but for those of an external handler, whose run was real.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "consumer/sweep_pace.hpp"
#include "tenure/consumer.hpp"
#include "tenure/spi/store.hpp"

namespace tenure::consuming {

class AttemptLog {
 public:
  explicit AttemptLog(const ConsumerOptions& options)
      : keepFor_(options.keepLogFor),
        mostKept_(options.keepLogLines),
        outlivesTransaction_(options.handlerIsExternal) {}

  bool isKept() const noexcept { return keepFor_.count() > 0; }
  void began(WallTime at) noexcept { beganAt_ = at; }
  void ended(const MessageId& id, int attempt, AttemptEnd end, const std::string& why, WallTime at) {
    if (isKept()) lines_.push_back({id, attempt, end, why, beganAt_, at});
  }
  /// The last attempt on record did not come home.
  void died(const AttemptRecord& record) {
    if (!isKept()) return;
    lines_.push_back({record.id, record.attempts, AttemptEnd::died, record.lastError, record.lastAt, record.lastAt});
  }
  std::span<const LoggedAttempt> lines() const noexcept { return lines_; }
  void committed() noexcept { lines_.clear(); }
  void undone() noexcept {
    if (!outlivesTransaction_) lines_.clear();
  }

  void start(BootTime now) noexcept {
    if (isKept()) pace_.start(now);
  }
  bool isDue(bool idle, BootTime now) const noexcept { return pace_.isDue(idle, now); }
  LogPruning step(WallTime wall) const {
    return {.consumer = {}, .before = wall - keepFor_, .atMost = SweepPace::step, .mostKept = mostKept_};
  }
  void pruned(std::size_t removed, BootTime now) noexcept { pace_.stepped(removed < SweepPace::step, now); }

 private:
  const std::chrono::hours keepFor_;
  const std::size_t mostKept_;
  const bool outlivesTransaction_;
  std::vector<LoggedAttempt> lines_;
  WallTime beganAt_{};
  SweepPace pace_;
};

}  // namespace tenure::consuming
