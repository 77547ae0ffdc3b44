#include "webhook/grouped.hpp"

#include "base/digest.hpp"
#include "base/text.hpp"
#include "base/validation.hpp"
#include "messages/headers.hpp"

namespace tenure::webhook {

GroupId groupOf(const Endpoint& endpoint) {
  GroupId group{endpoint.address()};
  if (!isGroup(group)) group.value = hexadecimal(digestOf(group.value));
  return group;
}

/// A message whose URL may not be called waits for none: it becomes a dead letter.
Result<std::vector<Message>> GroupedByEndpoint::fetch(std::size_t max, BootTime deadline, std::stop_token stop) {
  Result<std::vector<Message>> messages = inner_.fetch(max, deadline, std::move(stop));
  if (!messages) return messages;
  for (Message& message : *messages) {
    if (!message.group.value.empty() || headerOf(message, numberHeader) != nullptr) continue;
    if (const Result<Endpoint> endpoint = setup_.endpointOf(message)) message.group = groupOf(*endpoint);
  }
  return messages;
}

}  // namespace tenure::webhook
