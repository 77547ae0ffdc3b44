/// Judges messages that others send in transactions of their own: how they come from the waiting room to the queue.
///
///   W1 what is committed comes to the queue once, and nothing else does
///   W2 of one sender they come in its order: that of its transactions, and within each that of its statements
///   W3 a reader that works leaves none behind that could be seen for longer than a second and a half, and one that is
///      idle takes each within a second and the time that its requests need
///   W4 a reader that sleeps does not sleep on while one waits, unless that was committed while the reader fell asleep,
///      left the call to another transaction, or its call was lost, or a clock has jumped or stood still
///   W5 none appears where no look comes any more
#pragma once

#include <map>
#include <vector>

#include "attempts.hpp"
#include "tenure/message.hpp"

namespace tenure::simulation {

class Sendings {
 public:
  struct Commit {
    int sender = 0;
    BootTime begun{};  // then it may look whether the reader sleeps
    BootTime landed{};
    bool isReaderAsleep = false;  // when it has landed, as its row says
    bool leavesCall = false;      // to another transaction that commits
    bool losesCall = false;
  };

  void committed(const MessageId& id, const Commit& commit);
  /// Senders can see it from now on.
  void fellAsleep(BootTime now) noexcept { asleepSince_ = now; }
  /// `attentive`: since then the reader has had nothing else to do. `limit`: for its looks and requests.
  Complaint came(const MessageId& id, BootTime attentive, BootTime now, Duration limit);
  /// A turn of the reader has ended that took all it saw.
  Complaint turned(BootTime lookedFrom) const;
  /// The reader has slept, and could have been called within `way`.
  Complaint slept(BootTime from, BootTime until, Duration way) const;
  /// One waited as long, for which that is no promise.
  bool hasSleptOver(BootTime from, BootTime until, Duration way) const;

 private:
  struct Waiting {
    int sender = 0;
    BootTime since{};
    bool mayBeSleptOver = false;
  };
  /// In the order of their commits; of one transaction in that of its statements.
  std::vector<std::pair<MessageId, Waiting>> waiting_;
  BootTime asleepSince_{};
};

}  // namespace tenure::simulation
