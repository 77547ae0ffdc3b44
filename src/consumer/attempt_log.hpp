/// What the next commit adds to the consume log, and when the log is shortened. Pure.
///
/// A line is written in the transaction that has the attempt's effect, or the record of its failure. A transaction that
/// comes to nothing takes its lines with it, but for those of an external handler, whose run was real.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "tenure/consumer.hpp"

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

  // In small steps, as idempotency keys are forgotten (pruner.hpp).

  void start(BootTime now) {
    if (isKept() && !next_) next_ = now + firstPass;
  }
  bool isDue(bool idle, BootTime now) const noexcept {
    return next_ && now >= *next_ && (idle || now >= notBusyBefore_);
  }
  LogPruning step(WallTime wall) const {
    return {.consumer = {}, .before = wall - keepFor_, .atMost = linesAStep, .mostKept = mostKept_};
  }
  void pruned(std::size_t removed, BootTime now) {
    notBusyBefore_ = now + busyDistance;
    if (removed < linesAStep) next_ = now + betweenPasses;
  }

 private:
  static constexpr std::chrono::minutes firstPass{1};
  static constexpr std::chrono::minutes betweenPasses{10};
  static constexpr std::chrono::milliseconds busyDistance{250};
  static constexpr std::size_t linesAStep = 2'000;

  const std::chrono::hours keepFor_;
  const std::size_t mostKept_;
  const bool outlivesTransaction_;
  std::vector<LoggedAttempt> lines_;
  WallTime beganAt_{};
  std::optional<BootTime> next_;
  BootTime notBusyBefore_{};
};

}  // namespace tenure::consuming
