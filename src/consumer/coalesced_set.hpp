/// For whom the runs of one transaction stand, where the dispatcher coalesces: it says so when a run begins, and hears
/// of it when the transaction is over (pipeline/coalescer.hpp). Pure.
#pragma once

#include <cstdint>
#include <iterator>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "tenure/message.hpp"

namespace tenure::consuming {

class CoalescedSet {
 public:
  void begins(const Message& message, std::vector<Message> others) {
    of_ = message.position;
    others_ = std::move(others);
  }
  /// In the open transaction. For how many it stood.
  std::size_t ran(const Message& message) {
    if (of_ != message.position) return 0;
    settled_.insert(settled_.end(), others_.begin(), others_.end());
    return others_.size();
  }
  void dropped(const Message& message) { dropped_.push_back(message.position); }
  /// What the open transaction has settled is not; or it is over.
  void forget() noexcept {
    settled_.clear();
    dropped_.clear();
  }

  std::span<const Message> toAcknowledge() const noexcept { return settled_; }
  std::span<const std::int64_t> dropped() const noexcept { return dropped_; }

 private:
  std::optional<std::int64_t> of_;  // the last that began
  std::vector<Message> others_;
  std::vector<Message> settled_;
  std::vector<std::int64_t> dropped_;
};

}  // namespace tenure::consuming
