/// Finds copies: messages in the window with the same id as an earlier one. A copy waits for the first one's commit,
/// and then finds its key. Ids are compared by their hash; two different ids with one hash only wait for each other.
/// Pure.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <unordered_map>

#include "consumer/supply/window.hpp"
#include "tenure/values.hpp"

namespace tenure::supply {

class Copies {
 public:
  using Number = Window::Number;
  using Hash = std::size_t;
  static Hash hashOf(const MessageId& id) noexcept { return std::hash<MessageId>{}(id); }

  /// Numbers grow.
  void add(Hash id, Number number) {
    if (!first_.try_emplace(id, number).second) later_[id].insert(number);
  }
  /// The first message with this id; nullopt if that is the given one.
  std::optional<Number> before(const MessageId& id, Number number) const {
    if (later_.empty()) return std::nullopt;  // mostly, and without a hash
    const auto first = first_.find(hashOf(id));
    return first == first_.end() || first->second == number ? std::nullopt : std::optional(first->second);
  }
  /// The message with that number is done. Returns the next copy if it is that one's turn now.
  std::optional<Number> remove(Hash id, Number number) {
    const auto later = later_.find(id);
    const auto first = first_.find(id);
    if (first == first_.end()) return std::nullopt;
    if (later == later_.end()) {
      if (first->second == number) first_.erase(first);
      return std::nullopt;
    }
    const bool wasFirst = first->second == number;
    if (wasFirst)
      first->second = later->second.extract(later->second.begin()).value();
    else
      later->second.erase(number);
    if (later->second.empty()) later_.erase(later);
    return wasFirst ? std::optional(first->second) : std::nullopt;
  }
  void clear() noexcept {
    first_.clear();
    later_.clear();
  }

 private:
  std::unordered_map<Hash, Number> first_;
  std::map<Hash, std::set<Number>> later_;
};

}  // namespace tenure::supply
