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

/// What is particular to the thread that a lane runs on, beside the supply.
class IWorkerContext : public IProgress {
 public:
  /// The lane reads the source itself; else another thread does, for several lanes.
  virtual bool reads() const noexcept = 0;
  virtual std::stop_token stopToken() const noexcept = 0;
  /// The lane whose in-work record this worker writes. It is 0 for the one that reads itself.
  virtual std::size_t lane() const noexcept { return 0; }
  /// The state that earlier terms left, as this worker is to see it.
  virtual Result<ConsumerState> recall(const ConsumerName& consumer, WallTime now) = 0;
  /// Messages of the supply, waited for until a deadline.
  virtual Result<Supplied> take(Take take) = 0;
  /// Tells the supply; and the source, where that is not the reader's.
  virtual Result<Receipt> report(Report report) = 0;
  /// Whether this worker forgets old keys. The one line begins with that itself.
  virtual bool prunes() const noexcept { return false; }
  /// Before a transaction begins: waits until the other lanes let it.
  virtual LaneTurns::Hold enter(Company company) {
    static_cast<void>(company);
    return {};
  }

  // Of a lane that reads itself.

  /// The queue's identity, if the queue is kept apart from the store; else empty.
  virtual Result<QueueIdentity> identity() { return QueueIdentity{}; }
  virtual Result<void> attach() { return {}; }
  /// Whether the last take() failed at the store.
  virtual bool takeStoresFault() noexcept { return false; }
  /// While the worker waits: brings to the queue what is due.
  virtual Result<void> tend() { return {}; }
  virtual void detach() noexcept {}
  virtual void limitAnswers(AnswerTimer* timer) noexcept { static_cast<void>(timer); }
};

}  // namespace tenure::consuming
