/// Tracks which messages the store records as in work, and so which may begin. Pure.
///
///   unread ──scan: suspects are found, or there are none──▶ open ──a commit: nothing is in work──▶ closed
///      ▲                                                       │ ▲                                   │
///      └── the source has to deliver suspects once more ───────┘ └── a commit names the next batch ──┘
///
/// Which message kills its process? Every commit records which messages the next transaction may touch; before the
/// first commit, the claim alone says that up to a batch may be in work. A successor of a process that died treats
/// exactly those as suspects: alone in a transaction, the attempt durable before the handler starts. A message begins
/// only if the record allows it, so a killer is always among the suspects, and only a message that was alone in work
/// when its process died is charged with it (charges.hpp). An external handler works on one message at a time, named
/// before it begins: such a message can be charged without being a suspect.
///
/// Many suspects are narrowed down first: a few at a time share a transaction, and none is charged. Only those few are
/// on record then, of all that an earlier term may have died of. If the process dies again, one of them is the cause,
/// and its successor has few suspects. A suspect that was charged with a death before stays alone.
#pragma once

#include <algorithm>
#include <optional>
#include <vector>

#include "consumer/lane_queue.hpp"
#include "consumer/lane_state.hpp"
#include "consumer/values.hpp"

namespace tenure::consuming {

class InWorkRecord {
 public:
  enum class State { unread, open, closed };
  /// The record of the messages in hand that the next commit writes.
  struct Entry {
    InWork inWork{};
    std::size_t names = 0;         // how many messages in hand the record names
    std::size_t suspectsLeft = 0;  // when it is durable
    bool isNarrow = false;         // it names few of the suspects, and no others are on record any more
    std::size_t voids = 0;         // how many lanes' records say from now on that nothing is in work
  };
  struct Ending {
    bool closes = false;     // nothing begins after it
    bool cameHome = false;   // the one suspect has failed in good order
    std::size_t batch = 0;   // the next one's
    bool elsewhere = false;  // some of the next messages are not in hand
  };

  explicit InWorkRecord(const LaneState& lane)
      : lane_(lane),
        own_(recoveryWindowOf(lane.options)),
        limit_(batchLimitOf(lane.options)),
        few_(std::min(fewSuspects, limit_)) {}

  void restore(const ConsumerState& left);
  /// All suspects that are to come first are in hand: sets how many messages may begin.
  void scanned(LaneQueue& queue);
  /// So many messages came, and the first of them are suspects.
  void onArrived(LaneQueue& queue, std::size_t messages, std::size_t suspects) const noexcept;
  /// Before the lanes: no suspect is left, neither in hand nor at the supply.
  void recovered() noexcept { isRecovered_ = true; }
  /// The suspects are to be found at the source once more.
  void unread() noexcept { state_ = State::unread; }
  void expectAgain() noexcept { expects_ = true; }
  Entry next(const LaneQueue& queue, const Ending& ending) const;
  void committed(const Entry& entry, LaneQueue& queue);

  State state() const noexcept { return state_; }
  bool isUnread() const noexcept { return state_ == State::unread; }
  bool isOpen() const noexcept { return state_ == State::open; }
  /// The record is this term's own.
  bool isOwn() const noexcept { return recorded_.has_value(); }
  /// The record names a few of the suspects; others are left.
  bool isNarrow() const noexcept { return recorded_ && recorded_->narrow; }
  /// The messages that this term's record names, or leaves open, are suspects of an earlier term.
  bool isOfSuspects() const noexcept { return recorded_ && recorded_->areTheirs; }
  /// The front may begin without being named.
  bool coversFront() const noexcept { return !recorded_ || recorded_->more || lane_.takesFirst(); }
  /// A message may have been in work that was not looked for yet.
  bool expects() const noexcept { return expects_; }
  const RecoveryWindow& own() const noexcept { return own_; }
  bool isDeclared() const noexcept { return declared_ == own_; }
  void declared() noexcept { declared_ = own_; }
  /// The window of the messages that an earlier term may have died of.
  RecoveryWindow theirs() const noexcept { return declared_.value_or(own_); }
  std::size_t limit() const noexcept { return limit_; }
  /// How many suspects share a transaction.
  std::size_t together(const LaneQueue& queue) const noexcept { return queue.narrows() ? few_ : 1; }
  bool mayBegin(const LaneQueue& queue) const noexcept { return queue.settled() < queue.startable(); }

 private:
  /// The record as an earlier term left it.
  struct Left {
    FencingToken by;
    std::size_t named = 0;
    bool more = true;  // messages that are not named may have been in work as well
    bool isNarrowedDown = false;
  };
  /// The record as this term has written it.
  struct Written {
    bool narrow = false;
    bool more = false;
    bool areTheirs = false;
  };
  std::size_t mostSuspects() const noexcept;
  bool isOpenElsewhere(const LaneQueue& queue, const Entry& entry, const Ending& ending) const noexcept;
  bool hasMoreSuspects() const noexcept {
    return lane_.precedesLanes() && !isRecovered_ && (left_.named > 0 || left_.more);
  }
  Entry nextFew(const LaneQueue& queue, Entry entry) const;
  static void name(const LaneQueue& queue, Entry& entry);
  std::size_t suspectsAfter(const LaneQueue& queue, bool cameHome) const noexcept;

  const LaneState& lane_;
  const RecoveryWindow own_;
  const std::size_t limit_;  // messages in a transaction
  const std::size_t few_;
  State state_ = State::unread;
  std::optional<Written> recorded_;
  bool expects_ = false;
  Left left_;
  bool hasVoided_ = false;    // the lanes' records
  bool isRecovered_ = false;  // before the lanes
  std::optional<RecoveryWindow> declared_;
};

}  // namespace tenure::consuming
