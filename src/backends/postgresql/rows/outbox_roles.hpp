/// The words for a user's table in a URL: its columns' roles, and its name as a queue. Pure.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "tenure/postgresql.hpp"

namespace tenure::postgresql {

/// How a role is written in a URL, and its column where none is named.
struct RoleName {
  OutboxTable::Role role;
  std::string_view word;
  std::string_view column;
};
std::span<const RoleName> roleNames() noexcept;
std::string_view toString(OutboxTable::Role role) noexcept;

/// The queue's name: "shop.outbox".
std::string queueNameOf(const OutboxTable& table);
/// The same options, with the queue named after its table where it is one.
Options withQueueOfTable(Options options);

}  // namespace tenure::postgresql
