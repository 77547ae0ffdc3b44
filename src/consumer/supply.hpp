/// Messages between the thread that reads the source and the lanes: their order (supply/order.hpp) under a lock, what
/// is known of messages that failed, and how lanes and reader wait for each other. The one line reads by itself, and
/// waits for no other thread.
#pragma once

#include <atomic>
#include <functional>
#include <mutex>
#include <optional>
#include <stop_token>
#include <unordered_map>
#include <vector>

#include "base/threads.hpp"
#include "consumer/actions.hpp"
#include "consumer/supply/order.hpp"

namespace tenure::consuming {

/// The answer to a report, and the messages that are done by it.
struct Reported {
  Receipt receipt{};
  std::vector<MessagePtr> done{};
  std::vector<Message> others{};  // stubs of those that they stood for; where the reader tells the source, it has them
};
/// Hears of messages that are done before another lane can get one of their groups. True: the reader is wanted.
using OnDone = std::function<bool(std::span<const MessagePtr>)>;

/// Threads: each lane's calls from that lane's thread, the reader's from the reader's.
class Supply {
 public:
  /// Lane numbers are 0..lanes-1. Borrows the clock.
  Supply(std::unique_ptr<supply::IOrder> order, std::size_t lanes, const IClock& clock, IThreads& threads,
         OnDone onDone = {});

  // Lanes.

  /// At once, for the lane that reads itself.
  Supplied takeNow(std::size_t lane, std::size_t max);
  bool isReady() const;
  /// Waits for a group until then, or until a stop. `spreads`: one message of it, if others could be taken.
  Supplied take(std::size_t lane, std::size_t max, BootTime until, const std::stop_token& stop, bool spreads = false);
  /// Takes more before the lane has begun all that it has; none if another lane might go without.
  Supplied takeAhead(std::size_t lane, std::size_t max);
  /// Takes one message each of groups that no lane has.
  Supplied takeBeside(std::size_t lane, std::size_t max);
  /// A handler is about to start. Returns the other messages that its run stands for.
  std::vector<Message> begin(std::size_t lane, const Begin& begin);
  /// A report of another attachment is dropped. `readerTells`: the reader is to acknowledge the messages that are done.
  Reported report(std::size_t lane, Report report, bool readerTells);
  /// As WorkerContext's.
  std::optional<BootTime> takeTurn(const TakeTurn& turn);
  void reportProgress(std::size_t lane) noexcept { lanes_[lane].progress.store(clock_.now().time_since_epoch()); }
  /// The lane waits outside of take(). `atRest`: it has no open transaction, unknown outcome or taken message.
  void rests(std::size_t lane, bool atRest) noexcept { lanes_[lane].rests = atRest; }
  /// Until it says otherwise, no progress is expected of it.
  void excuse(std::size_t lane, bool excused) noexcept;
  /// This lane will not come again.
  void leave(std::size_t lane);
  /// The store takes one transaction at a time: a lane begins only beside those that take their time.
  void serialize() noexcept { isSerialized_ = true; }

  // Reader.

  void remember(std::vector<AttemptRecord> attempts);
  void remember(std::vector<MessageHistory> histories);
  void suspect(std::unordered_set<MessageId> ids, std::size_t unrecordedWindow, std::size_t window);
  Supplied takeSuspects(std::size_t lane, std::size_t max);
  /// Waiting, or in this lane's hands.
  bool hasSuspects(std::size_t lane) const;
  void trust();
  void limit(RateRules rules);
  /// Any start, by a rate.
  bool isLimited() const noexcept { return isLimited_; }
  void receive(supply::Arrivals arrivals, const std::optional<MessageId>& ran = {});
  bool mustReadOn() const;
  /// In one line: how many messages to ask the source for, where the lane wants so many.
  std::size_t toRead(std::size_t wanted) const;
  bool mayReadOn() const;
  /// Nothing more is handed out; and again.
  void close(bool closed);
  void clear();

  /// Somebody waits until the source was looked at: all of it is to be received between these two.
  bool wantsLook() const;
  void beginLook();
  void endLook();
  /// The source has to deliver again what was not acknowledged.
  bool mustBeReadAgain() const;

  /// The source's messages are all done.
  bool isEmpty() const;

  std::size_t room() const;
  bool wantsMore() const;
  /// Messages that the lanes are done with and the source has to be told of.
  std::vector<Message> takeAcknowledgements();
  /// The source was told of the next `acknowledgements` of these messages.
  void confirm(std::size_t acknowledgements);
  /// No lane holds anything and none can take anything.
  bool isAtRest() const;
  /// No lane has begun work open, and the source was told of all that is over.
  bool isQuiet() const;
  std::size_t lanesLeft() const;
  std::optional<BootTime> nextDue() const;
  /// Every lane that has something in hand has made progress since then.
  bool madeProgressSince(BootTime then) const;
  /// Waits until something is to be done for a lane, until then, or until a stop.
  void await(BootTime until, const std::stop_token& stop);
  /// Requested when the source has to be told or asked something, or a lane leaves. Valid until the next call.
  std::stop_source& interrupt();

 private:
  struct Lane {
    BootTime took{};  // the last time it got anything
    bool waits = false;
    std::atomic<bool> excused = false;
    std::atomic<bool> rests = false;
    bool left = false;
    std::uint64_t assignments = 0;  // that it got
    std::atomic<Duration> progress{};
  };

  Supplied suppliedOf(std::size_t lane, supply::Handout handout);
  std::vector<MessageHistory> extractPasts(std::span<const MessagePtr> messages);
  void keep(std::vector<MessageHistory> histories);
  enum class Call { whenItWaits, atOnce };
  void callReader(Call call);
  void callForLook();
  std::optional<BootTime> nextTurn(std::size_t lane) const;
  BootTime joinsAt(std::size_t lane) const;
  void wakeLane() noexcept;
  /// Nothing is handed out, whatever is due: the reader waits for the lanes to rest.
  bool isHalted() const noexcept { return closed_ || order_->mustBeReadAgain(); }

  /// A lane that took its messages less than this ago is done before another lane would be of use.
  static constexpr std::chrono::milliseconds quick{1};
  /// Long enough to be seen at rest, also by a reader that never waits for messages.
  static constexpr std::chrono::milliseconds haltedWait{20};

  const IClock& clock_;
  mutable std::mutex mutex_;
  const std::unique_ptr<ISignal> ready_;   // for lanes
  const std::unique_ptr<ISignal> called_;  // for the reader
  std::stop_source interrupt_;
  const std::unique_ptr<supply::IOrder> order_;
  const OnDone onDone_;
  std::vector<Lane> lanes_;
  std::uint64_t attachment_ = 1;
  std::unordered_map<MessageId, MessageHistory> histories_;
  std::vector<Message> toAcknowledge_;
  std::atomic<bool> isLimited_ = false;
  bool isSerialized_ = false;
  int watching_ = 0;     // lanes that wait for their turn beside those at work
  bool wanted_ = false;  // there may be something for the reader
  bool closed_ = false;
};

}  // namespace tenure::consuming
