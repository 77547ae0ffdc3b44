/// What the tests of the consumer's parts have in common: messages, moments, and a lane's workplace.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "consumer/lane_state.hpp"

namespace tenure::consuming {

using namespace std::chrono_literals;

inline std::vector<Message> messagesOf(const std::vector<std::string>& ids) {
  std::vector<Message> made;
  for (const std::string& id : ids) {
    Message message;
    message.id = MessageId{id};
    message.position = static_cast<std::int64_t>(made.size()) + 1;
    made.push_back(std::move(message));
  }
  return made;
}
/// As the supply hands them out.
inline std::vector<MessagePtr> sealedAll(std::vector<Message> messages,
                                         const std::vector<supply::Standing>& standings = {}) {
  std::vector<MessagePtr> made;
  for (Message& message : messages) {
    const supply::Standing standing = standings.empty() ? supply::Standing{} : standings[made.size()];
    const supply::Place place = made.size() + 1;
    made.push_back(sealed(std::move(message), standing, place));
  }
  return made;
}
inline std::vector<MessagePtr> sealedOf(const std::vector<std::string>& ids) { return sealedAll(messagesOf(ids)); }
inline MessagePtr messageOf(const std::string& id) { return sealed(messagesOf({id}).front()); }

inline std::vector<std::string> idsOf(std::span<const MessagePtr> messages) {
  std::vector<std::string> ids;
  for (const MessagePtr& message : messages) ids.push_back(message->id.value);
  return ids;
}
inline std::vector<std::string> idsOf(const std::vector<MessageId>& all) {
  std::vector<std::string> ids;
  for (const MessageId& id : all) ids.push_back(id.value);
  return ids;
}

/// What an earlier term left in work.
inline ConsumerState leftInWork(const std::vector<std::string>& ids, bool more = false, std::int64_t by = 3) {
  ConsumerState state;
  for (const std::string& id : ids) state.inWork.ids.push_back(MessageId{id});
  state.inWork.more = more;
  state.inWork.recordedBy = FencingToken{by};
  return state;
}
inline AttemptRecord attemptsAt(const std::string& id, int attempts, std::string error = {}) {
  return {.id = MessageId{id}, .attempts = attempts, .lastError = std::move(error)};
}

/// The one that is expected, or an empty one and a failure.
template <class Wanted, class Of>
Wanted expectA(const Of& variant) {
  EXPECT_TRUE(std::holds_alternative<Wanted>(variant)) << "it is number " << variant.index();
  return std::holds_alternative<Wanted>(variant) ? std::get<Wanted>(variant) : Wanted{};
}

template <class Wanted>
Wanted expectA(const EventBody& body) {
  EXPECT_TRUE(body.is<Wanted>());
  return body.is<Wanted>() ? *body.as<Wanted>() : Wanted{};
}

/// A lane's workplace that is made with the options as they are when it is first asked for.
class PartTest : public testing::Test {
 protected:
  LaneState& at() {
    if (!workplace_) workplace_ = std::make_unique<LaneState>(options, reads, false, FencingToken{7}, nullptr);
    return *workplace_;
  }
  template <class Event>
  std::vector<Event> told() {
    std::vector<Event> events;
    for (const EventBody& body : at().news)
      if (const auto* event = body.as<Event>()) events.push_back(*event);
    return events;
  }

  ConsumerOptions options{.maxBatch = 4, .maxAttempts = 5};
  bool reads = true;
  Now now{.boot = BootTime{1h}};

 private:
  std::unique_ptr<LaneState> workplace_;
};

}  // namespace tenure::consuming
