/// Messages that their handlers have asked to see again later. It is no failed attempt, but kept in the same record
/// (AttemptRecord::postponements), so that operators see it in every store, and a successor goes on counting. At most
/// once keeps no such record: what is taken is nobody's but its leader's.
///
/// One that is postponed without end waits for something that does not come: it raises an alarm.
#pragma once

#include <mutex>
#include <optional>
#include <string>
#include <unordered_set>

#include "tenure/events.hpp"
#include "tenure/spi/store.hpp"

namespace tenure::consuming {

/// Of all lanes of a term. Threads: any.
class StuckAlarm {
 public:
  static constexpr int mostTimes = 30;
  static constexpr std::chrono::minutes longest{10};
  static constexpr std::chrono::minutes betweenAlarms{1};

  /// What is to be told, once for each message, and one a minute: another one may be told when it is postponed again.
  std::optional<MessageStuck> postponed(const MessageId& id, const Postponements& so, const std::string& reason,
                                        WallTime wall, BootTime now);
  /// It is done, or dead.
  void over(const MessageId& id);

 private:
  std::mutex mutex_;
  std::unordered_set<MessageId> told_;
  BootTime next_ = BootTime::min();
};

}  // namespace tenure::consuming
