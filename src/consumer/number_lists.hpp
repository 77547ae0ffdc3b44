/// The store's lists of groups that wait for a number, which the transactions of all lanes write: whoever changes one
/// has it for himself until it is known what became of the commit.
#pragma once

#include <array>
#include <memory>
#include <mutex>
#include <set>
#include <vector>

#include "base/threads.hpp"
#include "pipeline/open_groups.hpp"
#include "tenure/result.hpp"

namespace tenure::consuming {

/// Threads: any; a hold belongs to one.
class NumberLists {
 public:
  /// What one transaction has.
  class Hold {
   public:
    void release() noexcept { lists_.clear(); }

   private:
    friend class NumberLists;
    std::vector<std::pair<std::size_t, std::unique_lock<ILock>>> lists_;  // none twice
  };

  explicit NumberLists(IThreads& threads) {
    for (List& list : lists_) list.lock = threads.makeLock();
  }

  /// Waits for whoever has one of them. Always in their order, so that nobody waits for one who waits for him.
  ///
  /// Errors: leaseLost  nobody knows what will be in one of them; this term has to end
  Result<void> enter(const std::set<char>& digits, Hold& hold) {
    for (const char digit : digits) {
      const std::size_t at = pipeline::openDigits.find(digit);
      hold.lists_.emplace_back(at, *lists_.at(at).lock);
      if (lists_.at(at).isLost) return Error{Errc::leaseLost, "another lane ended in the middle of a commit"};
    }
    return {};
  }
  /// Its owner ends, and the transaction may still be committed.
  void lose(Hold& hold) noexcept {
    for (const auto& [at, lock] : hold.lists_) lists_.at(at).isLost = true;
    hold.release();
  }

  const std::shared_ptr<pipeline::OpenGroups>& groups() const noexcept { return groups_; }

 private:
  struct List {
    std::unique_ptr<ILock> lock;
    bool isLost = false;
  };
  std::array<List, pipeline::openDigits.size()> lists_;
  const std::shared_ptr<pipeline::OpenGroups> groups_ = std::make_shared<pipeline::OpenGroups>();
};

}  // namespace tenure::consuming
