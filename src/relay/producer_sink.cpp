#include "relay/producer_sink.hpp"

#include <unordered_set>

namespace tenure {

Result<NewMessage> ProducerSink::ownOf(const NewMessage& message) const {
  Result<MessageId> id = messageIdOf(producer_, message.id.value);
  if (!id) return id.error();
  NewMessage own = message;
  own.id = *std::move(id);
  return own;
}

Result<void> ProducerSink::append(std::span<const NewMessage> messages) {
  std::vector<NewMessage> all;
  for (const NewMessage& each : messages) {
    Result<NewMessage> own = ownOf(each);
    if (!own) return own.error();
    all.push_back(*std::move(own));
  }
  return sink_->append(all);
}

std::vector<Result<void>> ProducerSink::appendEach(std::span<const NewMessage> messages) {
  std::vector<NewMessage> sound;
  std::vector<std::size_t> places;
  std::vector<Result<void>> results(messages.size());
  std::unordered_set<GroupId> refused;
  for (std::size_t i = 0; i < messages.size(); ++i) {
    const GroupId& group = messages[i].group;
    if (!group.value.empty() && refused.contains(group)) {
      results[i] = Error{Errc::cancelled, "one before it in its group was refused"};
      continue;
    }
    Result<NewMessage> own = ownOf(messages[i]);
    if (!own) {
      results[i] = own.error();
      refused.insert(group);
      continue;
    }
    places.push_back(i);
    sound.push_back(*std::move(own));
  }
  if (sound.empty()) return results;
  std::vector<Result<void>> answers = sink_->appendEach(sound);
  for (std::size_t i = 0; i < places.size(); ++i) results[places[i]] = std::move(answers[i]);
  return results;
}

}  // namespace tenure
