/// Lanes of a store that commits beside each other: which of them may have a transaction open.
///
///   beside   any number of lanes; the commit finds out whether they conflict
///   inTurn   one at a time of the lanes whose transactions a conflict has undone; lanes that are beside may join
///   alone    one lane only: no other lane can undo its transaction
#pragma once

#include <memory>
#include <mutex>
#include <utility>

#include "base/threads.hpp"
#include "consumer/serialized_store.hpp"
#include "consumer/values.hpp"

namespace tenure::consuming {

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

}  // namespace tenure::consuming
