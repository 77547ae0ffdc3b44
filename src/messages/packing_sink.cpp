#include "messages/packing_sink.hpp"

#include <algorithm>

#include "base/refusal.hpp"
#include "messages/headers.hpp"
#include "messages/packs.hpp"

namespace tenure::messages {
namespace {

/// Of what goes into one body, with room for what MessagePack adds.
constexpr std::size_t mostBytes = maxBodyBytes / 2;

std::size_t sizeInPack(const NewMessage& message) noexcept {
  return message.id.value.size() + message.group.value.size() + sizeOf(message);
}

/// What is sent for messages, in their order.
struct Packed {
  std::vector<NewMessage> sent;
  std::vector<std::size_t> counts;  // how many messages are in each
};

Packed packed(std::span<const NewMessage> messages, std::size_t together) {
  Packed packed;
  while (!messages.empty()) {
    std::size_t count = 1;
    for (std::size_t bytes = sizeInPack(messages[0]); count < std::min(together, messages.size()); ++count) {
      bytes += sizeInPack(messages[count]);
      if (bytes > mostBytes) break;
    }
    packed.sent.push_back(count == 1 ? messages[0] : packOf(messages.first(count)));
    packed.counts.push_back(count);
    messages = messages.subspan(count);
  }
  return packed;
}

}  // namespace

bool PackingSink::areAlone(std::span<const NewMessage> messages) const {
  return messages.size() < 2 || std::ranges::any_of(messages, isAlone_);
}

Result<void> PackingSink::append(std::span<const NewMessage> messages) {
  if (areAlone(messages)) return sink_->append(messages);
  for (const NewMessage& message : messages)
    if (Result<void> fit = check_(message); !fit) return fit;
  return sink_->append(packed(messages, messages_).sent);
}

std::vector<Result<void>> PackingSink::appendEach(std::span<const NewMessage> messages) {
  if (areAlone(messages)) return sink_->appendEach(messages);
  std::vector<Result<void>> results(messages.size());
  RefusedGroups refused;
  std::vector<NewMessage> fit;
  std::vector<std::size_t> places;  // of those, in `messages`
  for (std::size_t i = 0; i < messages.size(); ++i) {
    results[i] = refused.contains(messages[i].group) ? RefusedGroups::cancelled() : check_(messages[i]);
    if (results[i]) {
      fit.push_back(messages[i]);
      places.push_back(i);
    } else {
      refused.add(messages[i].group);
    }
  }
  const Packed packs = packed(fit, messages_);
  const std::vector<Result<void>> told =
      packs.sent.empty() ? std::vector<Result<void>>{} : sink_->appendEach(packs.sent);
  auto place = places.begin();
  for (std::size_t pack = 0; pack < told.size(); ++pack)
    for (std::size_t i = 0; i < packs.counts[pack]; ++i) results[*place++] = told[pack];
  return results;
}

}  // namespace tenure::messages
