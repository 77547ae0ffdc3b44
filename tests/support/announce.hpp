/// Tells a store which messages come next, as a consumer does.
#pragma once

#include <span>
#include <utility>
#include <vector>

#include "tenure/spi/store.hpp"

namespace tenure::test {

inline void announce(IFencedStore& store, std::span<const Message> messages) {
  std::vector<MessageId> ids;
  for (const Message& message : messages) ids.push_back(message.id);
  store.expect(std::move(ids));
}

}  // namespace tenure::test
