/// What the tests of a dispatcher have in common: the ids of what was handed out, and who holds it.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "consumer/supply/dispatcher.hpp"
#include "times.hpp"

namespace tenure::supply {

class DispatcherScene : public testing::Test {
 protected:
  static std::vector<std::string> idsOf(const std::vector<Message>& messages) {
    std::vector<std::string> ids;
    for (const Message& message : messages) ids.push_back(message.id.value);
    return ids;
  }
  Dispatcher::Assignment hold(std::size_t lane, Dispatcher::Assignment share) {
    held[lane].insert(held[lane].end(), share.messages.begin(), share.messages.end());
    return share;
  }

  std::int64_t position = 0;
  std::map<std::size_t, std::vector<Message>> held;
};

}  // namespace tenure::supply
