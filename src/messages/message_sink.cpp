#include "base/refusal.hpp"
#include "tenure/message.hpp"

namespace tenure {

/// All at once, and one by one only where that was refused.
std::vector<Result<void>> IMessageSink::appendEach(std::span<const NewMessage> messages) {
  const Result<void> all = append(messages);
  if (all || messages.size() == 1 || !isMessageRefused(all.error())) return {messages.size(), all};
  std::vector<Result<void>> results;
  RefusedGroups refused;
  for (const NewMessage& message : messages) {
    if (refused.contains(message.group)) {
      results.emplace_back(RefusedGroups::cancelled());
      continue;
    }
    results.push_back(append({&message, 1}));
    if (results.back()) continue;
    if (!isMessageRefused(results.back().error())) break;  // the sink is away: nothing behind it is tried
    refused.add(message.group);
  }
  const Result<void> last = results.back();
  results.resize(messages.size(), last);
  return results;
}

}  // namespace tenure
