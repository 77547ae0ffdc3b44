#include "backends/postgresql/rows/outbox_roles.hpp"

#include <algorithm>
#include <array>

#include "backends/postgresql/session/identifiers.hpp"

namespace tenure::postgresql {
namespace {

using Role = OutboxTable::Role;

constexpr std::array outboxRoles{
    RoleName{Role::id, "id", "id"},
    RoleName{Role::order, "order", "position"},
    RoleName{Role::group, "group", "group_key"},
    RoleName{Role::body, "body", "body"},
    RoleName{Role::headers, "headers", "headers"},
    RoleName{Role::exchange, "exchange", "exchange"},
    RoleName{Role::routingKey, "routing_key", "routing_key"},
    RoleName{Role::number, "number", "number"},
    RoleName{Role::sendAt, "send_at", "send_at"},
    RoleName{Role::createdAt, "created_at", "created_at"},
    RoleName{Role::status, "status", "status"},
    RoleName{Role::attempts, "attempts", "attempts"},
    RoleName{Role::failure, "failure", "failure"},
    RoleName{Role::nextAt, "next_at", "next_at"},
    RoleName{Role::sentAt, "sent_at", "sent_at"},
};

}  // namespace

std::span<const RoleName> roleNames() noexcept { return outboxRoles; }

std::string_view toString(Role role) noexcept {
  const auto found = std::ranges::find(outboxRoles, role, &RoleName::role);
  return found == outboxRoles.end() ? "" : found->word;
}

std::string queueNameOf(const OutboxTable& table) { return shownName(table.schema) + "." + shownName(table.name); }

Options withQueueOfTable(Options options) {
  if (options.table) options.queue = queueNameOf(*options.table);
  return options;
}

}  // namespace tenure::postgresql
