/// A leader that reads a table of a user's, for the tests of this room.
#pragma once

#include <string>
#include <vector>

#include "leading.hpp"

namespace tenure::postgresql {

/// A table of the world's role with these columns, as its options name it.
inline Options optionsOf(test::PostgresWorld& world, const std::string& name, OutboxTable::Columns columns) {
  Options options = world.options();
  options.table = OutboxTable{.schema = world.role(), .name = name, .columns = std::move(columns)};
  return options;
}

class OutboxSuite : public testing::Test {
 protected:
  using Role = OutboxTable::Role;

  /// A table of this world's role.
  void create(const std::string& sql) { world_.ask("SET ROLE " + world_.role() + "; " + sql); }
  Options options(OutboxTable::Columns columns = {}, const std::string& name = "outbox") {
    return optionsOf(world_, name, std::move(columns));
  }
  static void lead(Leader& leader) {
    ASSERT_THAT(leader.claim(), test::succeeds());
    ASSERT_THAT(leader.database.source().attach(leader.term), test::succeeds());
  }
  static std::vector<Message> messagesFor(Leader& leader, std::size_t max = 1000) {
    return leader.database.source().fetch(max, BootClock::now(), {}).value();
  }
  static std::vector<Message> awaitedBy(Leader& leader) {
    return leader.database.source().fetch(1000, BootClock::now() + std::chrono::seconds{30}, {}).value();
  }
  static std::vector<std::string> idsOf(const std::vector<Message>& messages) {
    std::vector<std::string> ids;
    for (const Message& message : messages) ids.push_back(message.id.value);
    return ids;
  }
  static std::vector<std::string> look(Leader& leader, std::size_t max = 1000) {
    return idsOf(messagesFor(leader, max));
  }
  static Result<void> acknowledge(Leader& leader, const std::vector<Message>& messages) {
    const auto transaction = leader.begin();
    if (Result<void> acknowledged = transaction->acknowledge(messages); !acknowledged) return acknowledged;
    return transaction->commit();
  }

  test::PostgresWorld world_;
};

}  // namespace tenure::postgresql
