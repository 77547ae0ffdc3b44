/// Judges messages with a time: how they leave the waiting room, and what those are told who come too late.
///
///   D1 none comes to its queue before its time by the store's clock, as it was read last; and for minutes after a jump
///      of that clock, not before its time by the clock as it went on without the jump
///   D2 each leaves the room once: it comes to its queue or it is cancelled, and whoever asks later is told which
///   D3 none is lost: there waits what was neither promoted nor cancelled, and in the end nothing of it is due
///   D4 they come in the order of their times, then as they were added
///   D5 only the term that reads the queue is let promote, even where nothing is due, and none after a newer claim
///
/// The room in memory locks as a whole, so no held row of a group lets others pass.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>

#include "attempts.hpp"
#include "tenure/term.hpp"
#include "tenure/transaction.hpp"

namespace tenure::simulation {

class Times {
 public:
  /// What a transaction does to a message that waits.
  struct Change {
    enum class Kind { added, cancelled, moved } kind = Kind::added;
    MessageId id;
    WallTime due{};  // as the store has it: a time in the past is the time of the call
  };
  using Room = std::map<MessageId, WallTime>;

  /// When it has landed.
  Complaint changed(const Change& change);
  /// Sent again, it is told to be there already.
  Complaint leftOut(const MessageId& id) const;
  /// Somebody wanted to change a message, and there was nothing to change.
  Complaint told(const MessageId& id, ScheduleChange answer) const;
  void attached(FencingToken reader) noexcept { reader_ = reader; }
  /// The term has read the store's clock.
  void looked(FencingToken by, BootTime now, WallTime stores);
  /// In one transaction, in this order. `claimed`: the newest term that has.
  Complaint promoted(FencingToken by, FencingToken claimed, BootTime now, std::span<const MessageId> ids);
  /// Some message waits whose time has come.
  bool isDue(WallTime now) const;
  /// After each promotion, and at the end.
  Complaint checkRoom(const Room& stored) const;

 private:
  enum class Fate { waits, came, cancelled };
  struct Known {
    Fate fate = Fate::waits;
    WallTime due{};
    int added = 0;
  };
  /// How far the store's clock is ahead of the world's time, as one term has seen it.
  struct Clock {
    Duration ahead{};
    Duration most{};   // so far
    Duration bound{};  // before the last jump, and by how much small steps have moved it since
    std::optional<BootTime> jumped{};
  };

  Complaint came(const MessageId& id, const Clock& clock, BootTime now);
  Complaint checkOrder(const MessageId& id, const Known& next) const;

  std::map<MessageId, Known> known_;
  std::map<FencingToken, Clock> clocks_;
  FencingToken reader_;
  int added_ = 0;
};

}  // namespace tenure::simulation
