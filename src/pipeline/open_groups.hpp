/// Which groups have something waiting for a number, as the store's lists say: sixteen of them, by the first digit of a
/// group's digest (sequence_text.hpp). Whoever changes one has to have it for himself until the change is committed.
#pragma once

#include <array>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "pipeline/sequence_text.hpp"

namespace tenure::pipeline {

struct StateWrite {
  std::string key;
  std::optional<std::string> value;  // nullopt: erase it
};

/// A group that has something waiting from now on, or no more.
struct OpenChange {
  std::string digest;
  bool isOpen = false;
};

class OpenGroups {
 public:
  /// A list as it will be with these changes, which may be of others as well.
  StateWrite write(const ConsumerName& consumer, char digit, std::span<const OpenChange> changes) const {
    std::set<std::string> those = of(digit);
    for (const OpenChange& change : changes)
      if (change.digest.front() == digit)
        change.isOpen ? static_cast<void>(those.insert(change.digest)) : static_cast<void>(those.erase(change.digest));
    StateWrite write{openKey(consumer, digit), std::nullopt};
    if (!those.empty()) write.value = digestsToText({those.begin(), those.end()});
    return write;
  }
  const std::set<std::string>& of(char digit) const { return lists_.at(openDigits.find(digit)); }
  void set(const std::string& digest, bool isOpen) {
    std::set<std::string>& list = lists_.at(openDigits.find(digest.front()));
    if (isOpen)
      list.insert(digest);
    else
      list.erase(digest);
  }

 private:
  std::array<std::set<std::string>, openDigits.size()> lists_;
};

}  // namespace tenure::pipeline
