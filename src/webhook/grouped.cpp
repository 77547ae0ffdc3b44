#include "webhook/grouped.hpp"

#include "messages/headers.hpp"

namespace tenure::webhook {

/// A message whose URL may not be called waits for none: it becomes a dead letter.
Result<std::vector<Message>> GroupedByEndpoint::fetch(std::size_t max, BootTime deadline, std::stop_token stop) {
  Result<std::vector<Message>> messages = inner().fetch(max, deadline, std::move(stop));
  if (!messages) return messages;
  for (Message& message : *messages) {
    if (!message.group.value.empty() || headerOf(message, numberHeader) != nullptr) continue;
    if (const Result<TargetPtr> target = setup_.targetOf(message)) message.group = (*target)->group;
  }
  return messages;
}

}  // namespace tenure::webhook
