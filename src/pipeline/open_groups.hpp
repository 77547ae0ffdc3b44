/// Which groups have something waiting for a number, as the store's lists say: sixteen of them, by the first digit of a
/// group's digest (sequence_text.hpp). Whoever changes one has to have it for himself until the change is committed.
#pragma once

#include <array>
#include <set>
#include <string>

#include "pipeline/sequence_text.hpp"

namespace tenure::pipeline {

class OpenGroups {
 public:
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
