#include "backends/sqlite/numbering.hpp"

#include "backends/sqlite/connection.hpp"
#include "storage/message_check.hpp"

namespace tenure::sqlite {
namespace {

/// A few of those that are too old to be asked about, with each that sends: as many as come, and some more.
Result<void> forgetOldIds(Connection& connection, std::size_t sending, WallTime now) {
  return connection.run(
      "DELETE FROM tenure_sent WHERE (queue, id) IN (SELECT queue, id FROM tenure_sent WHERE at < ?1 LIMIT ?2)",
      now - storage::sentIdsAreKept, static_cast<std::int64_t>(2 * sending));
}

Result<bool> isNew(Connection& connection, std::int64_t queue, const MessageId& id, WallTime now) {
  Query added =
      connection.query("INSERT INTO tenure_sent(queue, id, at) VALUES(?1, ?2, ?3) ON CONFLICT DO NOTHING RETURNING 1",
                       queue, id.value, now);
  const Result<bool> row = added.next();
  if (!row || !*row) return row;
  const Result<bool> end = added.next();  // only then is the statement complete
  if (!end) return end;
  return true;
}

Result<std::int64_t> nextNumber(Connection& connection, std::int64_t queue, const GroupId& group) {
  Query raised = connection.query(
      "INSERT INTO tenure_number(queue, grp, last) VALUES(?1, ?2, 1)"
      " ON CONFLICT(queue, grp) DO UPDATE SET last = last + 1 RETURNING last",
      queue, group.value);
  const Result<bool> row = raised.next();
  if (!row) return row.error();
  const std::int64_t number = raised.integer(0);
  const Result<bool> end = raised.next();
  if (!end) return end.error();
  return number;
}

}  // namespace

Result<std::vector<NewMessage>> giveNumbers(Connection& connection, std::int64_t queue,
                                            std::span<const NewMessage> messages, WallTime now) {
  if (const Result<void> forgotten = forgetOldIds(connection, messages.size(), now); !forgotten)
    return forgotten.error();
  std::vector<NewMessage> numbered;
  for (const NewMessage& message : messages) {
    const Result<bool> fresh = isNew(connection, queue, message.id, now);
    if (!fresh) return fresh.error();
    if (!*fresh) continue;
    numbered.push_back(message);
    if (message.group.value.empty()) continue;
    const Result<std::int64_t> number = nextNumber(connection, queue, message.group);
    if (!number) return number.error();
    numbered.back().headers.emplace_back(numberHeader, std::to_string(*number));
  }
  return numbered;
}

}  // namespace tenure::sqlite
