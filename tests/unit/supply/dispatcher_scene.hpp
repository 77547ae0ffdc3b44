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
  static std::vector<std::string> idsOf(const Handout& handout) {
    std::vector<std::string> ids;
    for (const MessagePtr& message : handout.messages) ids.push_back(message->id.value);
    return ids;
  }
  Handout hold(std::size_t lane, Handout handout) {
    held[lane].insert(held[lane].end(), handout.messages.begin(), handout.messages.end());
    return handout;
  }
  /// The first ones that the lane holds are done.
  void done(Dispatcher& dispatcher, std::size_t lane, std::size_t count, bool hadRun = true, bool sourceKnows = true) {
    std::vector<MessagePtr>& mine = held[lane];
    for (std::size_t i = 0; i < count; ++i) dispatcher.finish(lane, {mine.at(i).place(), hadRun}, sourceKnows);
    mine.erase(mine.begin(), mine.begin() + static_cast<std::ptrdiff_t>(count));
  }
  /// The lane gives back what it holds of the group of its first message, or of one without a group that one.
  void park(Dispatcher& dispatcher, std::size_t lane, BootTime until, bool isAlone = false) {
    std::vector<Item> items;
    const MessagePtr first = held[lane].front();
    std::erase_if(held[lane], [&](const MessagePtr& each) {
      const bool goes = first->group.value.empty() ? each == first : each->group == first->group;
      if (goes) items.push_back({each.place(), isAlone && each == first});
      return goes;
    });
    dispatcher.park(lane, items, until);
  }

  std::int64_t position = 0;
  std::map<std::size_t, std::vector<MessagePtr>> held;
};

}  // namespace tenure::supply
