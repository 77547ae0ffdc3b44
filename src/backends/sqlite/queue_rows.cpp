#include "backends/sqlite/queue_rows.hpp"

#include <algorithm>
#include <unordered_map>
#include <vector>

#include "backends/sqlite/connection.hpp"
#include "messages/headers.hpp"
#include "messages/message_check.hpp"
#include "messages/message_numbers.hpp"

namespace tenure::sqlite {
namespace {

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

/// The first of `count` numbers after the group's last.
Result<std::int64_t> nextNumber(Connection& connection, std::int64_t queue, const GroupId& group,
                                std::int64_t count = 1) {
  Query raised = connection.query(
      "INSERT INTO tenure_number(queue, grp, last) VALUES(?1, ?2, ?3)"
      " ON CONFLICT(queue, grp) DO UPDATE SET last = last + ?3 RETURNING last",
      queue, group.value, count);
  const Result<bool> row = raised.next();
  if (!row) return row.error();
  const std::int64_t number = raised.integer(0) - count + 1;
  const Result<bool> end = raised.next();
  if (!end) return end.error();
  return number;
}

/// The messages whose ids were not sent before. Each that has a group gets its number, in a header.
Result<std::vector<NewMessage>> numberFresh(Connection& connection, std::int64_t queue,
                                            std::span<const NewMessage> messages, WallTime now) {
  if (const Result<void> forgotten = forgetOld(connection, "tenure_sent", messages.size(), now); !forgotten)
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

/// The first of `count` places after the queue's last.
Result<std::int64_t> reserve(Connection& connection, std::int64_t queue, std::int64_t count) {
  const Result<int> moved =
      connection.change("UPDATE tenure_queue SET last = last + ?2 WHERE number = ?1", queue, count);
  if (!moved) return moved.error();
  if (*moved == 0) return Error{Errc::placeReplaced, "queue number " + std::to_string(queue) + " is gone"};
  Query last = connection.query("SELECT last FROM tenure_queue WHERE number = ?1", queue);
  const Result<bool> row = last.next();
  if (!row) return row.error();
  return last.integer(0) - count + 1;
}

Result<void> insert(Connection& connection, std::int64_t queue, std::span<const NewMessage> messages, WallTime at,
                    const storage::DamagedHeaders& damaged = {}) {
  if (messages.empty()) return {};
  const Result<std::int64_t> first = reserve(connection, queue, static_cast<std::int64_t>(messages.size()));
  if (!first) return first.error();
  std::int64_t position = *first;
  for (const NewMessage& message : messages) {
    const auto asSent = damaged.find(message.id);
    const Result<std::optional<std::string>> headers =
        asSent == damaged.end() ? messages::headersTextOf(message) : std::optional(asSent->second);
    if (!headers) return headers.error();
    const Result<void> inserted = connection.run(
        "INSERT INTO tenure_message(n, id, grp, body, headers, enqueued_at) VALUES(?1, ?2, ?3, ?4, ?5, ?6)", position++,
        message.id.value, message.group.value, Blob{message.body}, *headers, at);
    if (!inserted) return inserted;
  }
  return {};
}

}  // namespace

Result<void> forgetOld(Connection& connection, const std::string& table, std::size_t adding, WallTime now) {
  return connection.run(
      "DELETE FROM " + table + " WHERE (queue, id) IN (SELECT queue, id FROM " + table + " WHERE at < ?1 LIMIT ?2)",
      now - messages::sentIdsAreKept, static_cast<std::int64_t>(2 * adding));
}

Result<std::size_t> appendTo(Connection& connection, std::int64_t queue, std::span<const NewMessage> messages,
                             bool withNumbers) {
  const WallTime now = systemClock().wallNow();
  std::vector<NewMessage> numbered;
  if (withNumbers) {
    Result<std::vector<NewMessage>> given = numberFresh(connection, queue, messages, now);
    if (!given) return given.error();
    numbered = std::move(*given);
  }
  const std::span<const NewMessage> stored = withNumbers ? std::span<const NewMessage>(numbered) : messages;
  if (const Result<void> inserted = insert(connection, queue, stored, now); !inserted) return inserted.error();
  return messages.size() - stored.size();
}

Result<void> giveNumbers(Connection& connection, std::int64_t queue, std::span<Message> messages) {
  std::unordered_map<GroupId, std::vector<Message*>> lacking;
  for (Message& message : messages)
    if (messages::mayGetNumber(message)) lacking[message.group].push_back(&message);
  for (const auto& [group, of] : lacking) {
    const Result<std::int64_t> first = nextNumber(connection, queue, group, static_cast<std::int64_t>(of.size()));
    if (!first) return first.error();
    std::int64_t number = *first;
    for (Message* message : of) {
      message->headers.emplace_back(numberHeader, std::to_string(number++));
      const std::optional<std::string> text = messages::headersToTextAnyhow(message->headers);
      const Result<void> stored =
          connection.run("UPDATE tenure_message SET headers = ?2 WHERE n = ?1", message->position, text);
      if (!stored) return stored;
    }
  }
  return {};
}

Result<void> promoteTo(Connection& connection, std::int64_t queue, std::span<const storage::WaitingMessage> messages,
                       WallTime now) {
  std::vector<NewMessage> stored;
  storage::DamagedHeaders damaged;
  for (const storage::WaitingMessage& each : messages) {
    if (!each.damagedHeaders.empty()) damaged.emplace(each.message.id, each.damagedHeaders);
    if (!each.getsNumber()) {
      stored.push_back(each.message);
      continue;
    }
    Result<std::vector<NewMessage>> numbered = numberFresh(connection, queue, {&each.message, 1}, now);
    if (!numbered) return numbered.error();
    std::ranges::move(*numbered, std::back_inserter(stored));
  }
  return insert(connection, queue, stored, now, damaged);
}

Result<void> deleteByPosition(Connection& connection, std::span<const std::int64_t> positions) {
  for (std::size_t first = 0; first < positions.size();) {
    std::size_t last = first;
    // Places without a gap: no other message can lie between them.
    while (last + 1 < positions.size() && positions[last + 1] == positions[last] + 1) ++last;
    const Result<void> deleted =
        connection.run("DELETE FROM tenure_message WHERE n BETWEEN ?1 AND ?2", positions[first], positions[last]);
    if (!deleted) return deleted;
    first = last + 1;
  }
  return {};
}

}  // namespace tenure::sqlite
