/// Where a lane's runner works: the way to its messages, and what it shares with other lanes.
#pragma once

#include <memory>
#include <mutex>
#include <span>
#include <stop_token>
#include <utility>
#include <vector>

#include "base/answer_timer.hpp"
#include "base/threads.hpp"
#include "consumer/actions.hpp"
#include "consumer/lane.hpp"
#include "consumer/serialized_store.hpp"
#include "consumer/values.hpp"

namespace tenure::consuming {

// Lanes of a store that commits beside each other: which of them may have a transaction open.
//
//   beside   any number of lanes; the commit finds out whether they conflict
//   inTurn   one at a time of the lanes whose transactions a conflict has undone; lanes that are beside may join
//   alone    one lane only: no other lane can undo its transaction

/// Threads: any.
class LaneTurns {
 public:
  explicit LaneTurns(IThreads& threads) : changed_(threads.makeSignal()) {}

  /// A transaction may be open as long as this lives.
  class Hold {
   public:
    Hold() = default;
    Hold(LaneTurns& turns, Company company, bool hasWaited)
        : turns_(&turns), company_(company), hasWaited_(hasWaited) {}
    Hold(Hold&& other) noexcept
        : turns_(std::exchange(other.turns_, nullptr)), company_(other.company_), hasWaited_(other.hasWaited_) {}
    Hold& operator=(Hold&& other) noexcept {
      if (this != &other) {
        release();
        turns_ = std::exchange(other.turns_, nullptr);
        company_ = other.company_;
        hasWaited_ = other.hasWaited_;
      }
      return *this;
    }
    ~Hold() { release(); }
    /// Time has passed for other lanes: what the lane knew when it asked may have changed.
    bool hasWaited() const noexcept { return hasWaited_; }
    void release() noexcept {
      if (LaneTurns* turns = std::exchange(turns_, nullptr)) turns->leave(company_);
    }

   private:
    LaneTurns* turns_ = nullptr;
    Company company_ = Company::beside;
    bool hasWaited_ = false;
  };

  /// Waits until the other lanes allow it. A lane never waits here while it has a transaction open.
  [[nodiscard]] Hold enter(Company company, IAccessWatch& watch);

 private:
  bool mayEnter(Company company) const noexcept;
  void leave(Company company) noexcept;

  std::mutex mutex_;
  const std::unique_ptr<ISignal> changed_;
  std::size_t open_ = 0;  // how many lanes have a transaction open
  bool inTurn_ = false;   // a lane runs in turn
  bool alone_ = false;    // a lane runs alone, or waits to
};

class IWorkerContext : public IProgress {
 public:
  virtual Role role() const noexcept = 0;
  virtual std::stop_token stopToken() const noexcept = 0;
  /// Called with true before a wait in which the worker has nothing open, with false after it.
  virtual void rests(bool atRest) noexcept { static_cast<void>(atRest); }
  /// The lane whose in-work record this worker writes. It is 0 for a consumer without lanes, and
  /// for the recovery that comes before the lanes.
  virtual std::size_t lane() const noexcept { return 0; }
  /// The state that earlier terms left, as this worker is to see it.
  virtual Result<ConsumerState> recall(const ConsumerName& consumer, WallTime now) = 0;

  /// The queue's identity, if the queue is kept apart from the store; else empty.
  virtual Result<QueueIdentity> identity() { return QueueIdentity{}; }
  virtual Result<void> attach(const Attach& attach) = 0;
  virtual Result<Assignment> take(Take take) = 0;
  /// Whether the last take() failed at the store.
  virtual bool takeStoresFault() noexcept { return false; }
  /// Frees groups of which this worker has nothing left.
  virtual void release() = 0;
  virtual void park(Parked parked, BootTime until) = 0;
  /// While the worker waits: brings to the queue what is due.
  virtual Result<void> tend() { return {}; }
  /// Nullopt: a token of the rate limits was taken for a start of this group. Else when to ask again, which may have
  /// passed by now.
  virtual std::optional<BootTime> takeTurn(const GroupId& group) = 0;
  virtual bool isLimited() const = 0;
  /// The message's run is about to begin. Returns the other messages that it stands for.
  virtual std::vector<Message> begin(const Message& message) = 0;
  /// Acknowledges committed messages.
  virtual Result<Receipt> acknowledge(const Acknowledge& done) = 0;
  virtual void detach() noexcept = 0;

  /// Whether this worker forgets old keys.
  virtual bool prunes() const noexcept = 0;
  virtual std::shared_ptr<Notes> notes() const = 0;
  /// Before a transaction begins: waits until the other lanes let it.
  virtual LaneTurns::Hold enter(Company company) {
    static_cast<void>(company);
    return {};
  }
  /// The timer for the source's answers: the runner's own, or that of the thread that reads.
  virtual void limitAnswers(AnswerTimer* own) noexcept = 0;
  virtual const AnswerTimer& sourceTimer(const AnswerTimer& own) const noexcept = 0;
};

}  // namespace tenure::consuming
