/// Tracks messages that have come from the source and are not done: their order, which others they stand for, and
/// which may have killed a process. Pure.
///
///     receive ─► sift (coalescer.hpp) ─► number ─► to the scheduler
///                                           │
///     the window: ● done ● ● done ● ● ●  ───┘        leaves: done, or a successor takes its number
///                 └ front ────┘
///
/// The window is what was received and is not acknowledged, in source order. Its first messages are the front. When a
/// process dies, its successor finds what was in work among them, or on the record of a lane: a message may be begun
/// when it is in the front, or recorded. Until all such suspects of a predecessor are done, only they may begin.
#pragma once

#include <cstddef>
#include <deque>
#include <optional>
#include <span>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "consumer/supply/coalescer.hpp"
#include "consumer/supply/group_scheduler.hpp"
#include "consumer/supply/resequencer.hpp"
#include "consumer/supply/window.hpp"
#include "tenure/message.hpp"

namespace tenure::supply {

class Intake {
 public:
  using Number = Window::Number;
  struct Limits {
    std::size_t messages;  // in the window
    std::size_t bytes;     // of bodies that wait; the last one received may pass it
    std::size_t unrecordedWindow;
  };
  struct Received {
    Entry entry;
    std::string place{};  // its line's name
    bool isSuspect = false;
  };

  Intake(const Limits& limits, std::optional<Coalescer> coalescer)
      : limits_(limits), window_(limits.unrecordedWindow), coalescer_(std::move(coalescer)) {}

  // From the source.

  /// How many more messages fit, beside so many bytes that wait.
  std::size_t room(std::size_t waitingBytes) const noexcept;
  /// Returns the messages to hand out.
  std::vector<Received> receive(Arrivals arrivals);
  /// Everything is forgotten: the source delivers it again.
  void clear();
  /// The next message is only at the source any more: nothing is handed out until clear().
  bool mustBeReadAgain() const noexcept { return mustBeReadAgain_; }
  /// The source was told of the next `count` messages that left without its knowledge.
  void confirm(std::size_t count);

  // After an unclean end.

  /// Before the first message: those with these ids, among the first `window`, and the first `front` of all may have
  /// killed a process. The predecessor's numbers, which may be others than these limits.
  void suspect(std::unordered_set<MessageId> ids, std::size_t unrecordedWindow, std::size_t window);
  bool suspectsAny() const noexcept { return suspectFront_ > 0 || !suspectIds_.empty(); }
  /// From here on no message is suspect.
  void trust();

  // To the lanes, and from them.

  /// The message begins. Returns the others that it stands for from now on.
  std::vector<Message> begin(const Message& message);
  struct Left {
    std::optional<MessagePtr> successor{};  // takes the message's number, if that had no run and stood for others
    std::vector<Message> others{};          // that the message's run stood for
  };
  /// Until the source knows, the message stays in the window: the next leader finds it there.
  Left leave(Number number, const Message& message, bool hadRun, bool sourceKnows);
  bool coalesces() const noexcept { return coalescer_.has_value(); }
  /// Nothing of its line may be handed out behind the message: a successor would have to go first.
  bool mayLeaveSuccessor(const Message& message) const;
  bool isInFront(const Entry& entry) const noexcept {
    return !entry.isSuccessor && !entry.isKept() && window_.isInFront(entry.number);
  }
  std::size_t window() const noexcept { return window_.size(); }
  std::size_t capacity() const noexcept { return limits_.messages; }

 private:
  bool isSuspect(const Entry& entry) const;

  const Limits limits_;
  Window window_;
  Place places_ = 0;
  std::optional<Coalescer> coalescer_;
  bool mustBeReadAgain_ = false;
  std::deque<std::optional<Number>> unconfirmed_;  // nullopt: it has no number, or a successor has it
  std::unordered_set<MessageId> suspectIds_;
  std::size_t suspectFront_ = 0;
  std::size_t suspectWindow_ = 0;
};

}  // namespace tenure::supply
