#include "backends/postgresql/rows/queue_rows.hpp"

#include <algorithm>

#include "base/text.hpp"
#include "messages/headers.hpp"
#include "messages/message_check.hpp"
#include "tenure/values.hpp"

namespace tenure::postgresql {
namespace {

constexpr const char* appendAll =
    "WITH place AS (UPDATE tenure_queue SET last = last + $2 WHERE number = $1 RETURNING last - $2 AS before),"
    " stored AS (INSERT INTO tenure_message(queue, n, id, grp, body, headers, enqueued_at)"
    "  SELECT $1, before + i, id, grp, body, headers, $7 FROM place,"
    "  unnest($3::bytea[], $4::bytea[], $5::bytea[], $6::text[]) WITH ORDINALITY AS m(id, grp, body, headers, i))"
    " SELECT pg_notify($8, '') FROM place";

// The same with numbers. A producer locks the ids of its messages, then their groups, then the queue; ids and groups
// are sorted. With this one order, two producers cannot wait for each other (deadlock), and a group's numbers
// are given, stored and committed in one order. An id that is there already (or comes twice at once) is left out before
// anything is counted; a second producer of an id waits until the first one commits or rolls back.
constexpr const char* appendNumbered =
    "WITH sending AS (SELECT * FROM unnest($3::bytea[], $4::bytea[], $5::bytea[], $6::text[])"
    "  WITH ORDINALITY AS m(id, grp, body, headers, i)),"
    " fresh AS (INSERT INTO tenure_sent(queue, id, at) SELECT DISTINCT ON (id) $1::bigint, id, $7::bigint FROM sending"
    "  ORDER BY id ON CONFLICT DO NOTHING RETURNING id),"
    " once AS (SELECT DISTINCT ON (id) sending.* FROM sending JOIN fresh USING (id) ORDER BY id, i),"
    " counted AS (SELECT grp, count(*) AS messages FROM once WHERE grp <> '' GROUP BY grp),"
    " raised AS (INSERT INTO tenure_number AS given(queue, grp, last)"
    "  SELECT $1::bigint, grp, messages FROM counted ORDER BY grp"
    "  ON CONFLICT(queue, grp) DO UPDATE SET last = given.last + excluded.last RETURNING grp, last),"
    " place AS (UPDATE tenure_queue SET last = last + (SELECT count(*) FROM once)"
    "  WHERE number = $1 AND (SELECT count(*) FROM raised) >= 0 RETURNING last - (SELECT count(*) FROM once) AS "
    "before),"
    " numbered AS (SELECT once.*, row_number() OVER (ORDER BY i) AS place,"
    "  last - messages + row_number() OVER (PARTITION BY grp ORDER BY i) AS number"  // null without a group
    "  FROM once LEFT JOIN counted USING (grp) LEFT JOIN raised USING (grp)),"
    " stored AS (INSERT INTO tenure_message(queue, n, id, grp, body, headers, enqueued_at)"
    "  SELECT $1::bigint, before + numbered.place, id, grp, body, CASE WHEN number IS NULL THEN headers"
    "   ELSE coalesce(left(headers, -1) || ',', '[') || '[\"' || $9 || '\",\"' || number || '\"]]' END, $7::bigint"
    "  FROM place, numbered)"
    " SELECT pg_notify($8, ''), $2::bigint - (SELECT count(*) FROM once) FROM place";

constexpr std::int64_t idsAForgetting = 20'000;

/// Columns of many messages.
struct Columns {
  Array ids{TypeId::bytes};
  Array groups{TypeId::bytes};
  Array bodies{TypeId::bytes};
  Array headers{TypeId::text};
};

Result<Columns> columnsOf(std::span<const NewMessage> messages, const storage::DamagedHeaders& damaged) {
  Columns columns;
  for (const NewMessage& message : messages) {
    const auto asSent = damaged.find(message.id);
    const Result<std::optional<std::string>> text =
        asSent == damaged.end() ? messages::headersTextOf(message) : std::optional(asSent->second);
    if (!text) return text.error();
    columns.ids.add(message.id.value);
    columns.groups.add(message.group.value);
    columns.bodies.add(message.body);
    text->has_value() ? columns.headers.add(**text) : columns.headers.addNull();
  }
  return columns;
}

}  // namespace

Result<Message> messageFrom(const Answer& rows, int row) {
  Message message;
  message.position = rows.integer(row, 0);
  message.id.value = rows.text(row, 1);
  message.group.value = rows.text(row, 2);
  message.body = rows.text(row, 3);
  messages::readSentHeaders(rows.bytes(row, 4), message);
  message.enqueuedAt = rows.time(row, 5);
  return message;
}

Command selectFirst(std::int64_t queue, std::span<const std::int64_t> taken, std::size_t max) {
  Array places(TypeId::bigint);
  for (const std::int64_t place : taken) places.add(place);
  return command(
      "SELECT n, id, grp, body, headers, enqueued_at FROM tenure_message"
      " WHERE queue = $1 AND n <> ALL((SELECT $2)::bigint[]) ORDER BY n LIMIT (SELECT $3)",
      queue, places, static_cast<std::int64_t>(max));
}

Result<Command> appendTo(const QueuePlace& queue, std::span<const NewMessage> messages,
                         const storage::DamagedHeaders& damaged) {
  const Result<Columns> columns = columnsOf(messages, damaged);
  if (!columns) return columns.error();
  return command(appendAll, queue.number, static_cast<std::int64_t>(messages.size()), columns->ids, columns->groups,
                 columns->bodies, columns->headers, systemClock().wallNow(), queue.channel);
}

Result<Command> appendNumberedTo(const QueuePlace& queue, std::span<const NewMessage> messages) {
  const Result<Columns> columns = columnsOf(messages, {});
  if (!columns) return columns.error();
  return command(appendNumbered, queue.number, static_cast<std::int64_t>(messages.size()), columns->ids,
                 columns->groups, columns->bodies, columns->headers, systemClock().wallNow(), queue.channel,
                 numberHeader);
}

Command notifySoon(const std::string& queue, WallTime due) {
  return command(
      "SELECT pg_notify('tenure_' || 'tenure_message'::regclass::oid::bigint || '_' || number, $3) FROM tenure_queue"
      " WHERE name = $1 AND NOT elsewhere AND $2 < floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint + 1000",
      queue, due, timePayload);
}

Command forgetOld(const std::string& table, std::int64_t atMost) {
  return command("DELETE FROM " + table + " WHERE ctid = ANY(ARRAY(SELECT ctid FROM " + table +
                     " WHERE at < $1 LIMIT $2 FOR UPDATE SKIP LOCKED))",
                 systemClock().wallNow() - messages::sentIdsAreKept, atMost);
}

Command forgetSentIds() { return forgetOld("tenure_sent", idsAForgetting); }

Command deleteByPosition(std::int64_t queue, std::vector<std::int64_t> positions) {
  std::ranges::sort(positions);
  const std::int64_t first = positions.front();
  const std::int64_t last = positions.back();
  if (first == last) return command("DELETE FROM tenure_message WHERE queue = $1 AND n = $2", queue, first);
  if (last - first + 1 == static_cast<std::int64_t>(positions.size()))  // no other message lies between them
    return command("DELETE FROM tenure_message WHERE queue = $1 AND n BETWEEN (SELECT $2) AND (SELECT $3)", queue,
                   first, last);
  Array places(TypeId::bigint);
  for (const std::int64_t position : positions) places.add(position);
  return command("DELETE FROM tenure_message WHERE queue = $1 AND n = ANY((SELECT $2)::bigint[])", queue, places);
}

}  // namespace tenure::postgresql
