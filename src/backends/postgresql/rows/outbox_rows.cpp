#include "backends/postgresql/rows/outbox_rows.hpp"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "base/text.hpp"
#include "messages/headers.hpp"
#include "tenure/spi/source.hpp"

namespace tenure::postgresql {
namespace {

using Role = OutboxTable::Role;

// A larger body than a queue takes makes a dead letter, which keeps it: without a status column its row is deleted.
constexpr std::int64_t largestOutboxBody = 64LL << 20U;

Array textArray(const std::vector<std::string>& texts) {
  Array array(TypeId::text);
  for (const std::string& each : texts) array.add(each);
  return array;
}

/// In place of whatever the row's own headers say under that name.
void setHeader(Headers& headers, std::string_view name, std::string value) {
  std::erase_if(headers, [&](const auto& header) { return header.first == name; });
  headers.emplace_back(name, std::move(value));
}

/// JSON of an object, whose values may be anything, or of an array of [name, value]. What is neither makes a dead
/// letter.
void readHeaders(std::string_view text, Message& message) {
  const auto parsed = nlohmann::json::parse(text, nullptr, false);
  if (parsed.is_null()) return;
  if (!parsed.is_object()) return messages::readSentHeaders(text, message);
  for (const auto& [name, value] : parsed.items())
    message.headers.emplace_back(name, value.is_string() ? value.get<std::string>() : value.dump());
}

/// What is read of a row `r`, in the order of messageFrom().
std::string lookedAt(const OutboxShape& shape) {
  const auto text = [&](Role role) {
    const OutboxShape::Column* column = shape.find(role);
    return column == nullptr ? std::string("NULL::text") : "r." + column->sql + "::text";
  };
  const OutboxShape::Column& body = shape.at(Role::body);
  const std::string bytes = "r." + body.sql + (body.isBytes ? "" : "::text");
  const std::string limit = std::to_string(largestOutboxBody);
  const OutboxShape::Column* created = shape.find(Role::createdAt);
  const std::string since = created == nullptr ? "now()"
                                               : "CASE WHEN isfinite(r." + created->sql + ") THEN r." + created->sql +
                                                     "::timestamptz ELSE now() END";
  return text(Role::id) + " AS id, " + text(Role::group) + " AS grp, CASE WHEN octet_length(" + bytes +
         ") <= " + limit + " THEN " + bytes + " END AS body, coalesce(octet_length(" + bytes +
         "), 0)::bigint AS size, " + text(Role::headers) + " AS headers, " + text(Role::exchange) + " AS exchange, " +
         text(Role::routingKey) + " AS routing_key, " + text(Role::number) + " AS number, floor(extract(epoch FROM " +
         since + ") * 1000)::bigint AS created";
}

std::string orderOf(const OutboxShape& shape, const std::string& from) {
  const std::string order = from + shape.at(Role::order).sql;
  const std::string id = from + shape.at(Role::id).sql;
  return order == id ? id : order + ", " + id;
}

}  // namespace

std::string OutboxRows::isWaiting() const {
  return shape_.hasStatus() ? shape_.at(Role::status).sql + " = " + shape_.waiting : "true";
}

std::string OutboxRows::isDue() const {
  const OutboxShape::Column* sendAt = shape_.find(Role::sendAt);
  return sendAt == nullptr ? "" : " AND (" + sendAt->sql + " IS NULL OR " + sendAt->sql + " <= now())";
}

/// Of an UPDATE whose rows are `given`: what people see of a failure.
std::string OutboxRows::setFailed() const {
  std::string set;
  const auto add = [&](Role role, const std::string& value) {
    const OutboxShape::Column* column = shape_.find(role);
    // A cast cuts what is longer than the column.
    if (column != nullptr) set += (set.empty() ? "" : ", ") + column->sql + " = " + value + "::" + column->fullType;
  };
  add(Role::attempts, "given.attempts");
  add(Role::failure, "given.why");
  const OutboxShape::Column* nextAt = shape_.find(Role::nextAt);
  const std::string time = "to_timestamp(nullif(given.next_at, 0) / 1000.0)";
  if (nextAt != nullptr && nextAt->isNotNull)
    add(Role::nextAt, "coalesce(" + time + ", " + shape_.table + "." + nextAt->sql + ")");
  else
    add(Role::nextAt, time);
  return set;
}

/// As numbering.cpp does it for a queue's messages, with the same counters. A row that has no number yet has not been
/// in anybody's hands.
std::string OutboxRows::numberSql() const {
  const OutboxShape::Column& id = shape_.at(Role::id);
  const std::string& group = shape_.at(Role::group).sql;
  const OutboxShape::Column& number = shape_.at(Role::number);
  return "WITH lacking AS MATERIALIZED (SELECT r." + id.sql + " AS id, convert_to(r." + group +
         "::text, 'UTF8') AS grp, wanted.tenure_place AS place FROM " + shape_.table +
         " AS r JOIN unnest((SELECT $2)::text[]) WITH ORDINALITY AS wanted(tenure_id, tenure_place) ON r." + id.sql +
         " = wanted.tenure_id::" + id.type + " WHERE r." + id.sql + " = ANY((SELECT $2)::text[]::" + id.type +
         "[]) AND r." + number.sql + " IS NULL AND " + isWaiting() + " ORDER BY wanted.tenure_place FOR UPDATE OF r)," +
         " counted AS (SELECT grp, count(*) AS messages FROM lacking GROUP BY grp),"
         " raised AS (INSERT INTO tenure_number AS given(queue, grp, last)"
         "  SELECT $1::bigint, grp, messages FROM counted ORDER BY grp"
         "  ON CONFLICT(queue, grp) DO UPDATE SET last = given.last + excluded.last RETURNING grp, last),"
         " numbered AS MATERIALIZED (SELECT id, last - messages + row_number() OVER (PARTITION BY grp ORDER BY place)"
         "  AS number FROM lacking JOIN counted USING (grp) JOIN raised USING (grp))"
         " UPDATE " +
         shape_.table + " AS r SET " + number.sql + " = numbered.number FROM numbered WHERE r." + id.sql +
         " = numbered.id RETURNING r." + id.sql + "::text, numbered.number";
}

OutboxRows::OutboxRows(OutboxShape shape)
    : shape_(std::move(shape)), look_(""), untilNext_(""), sent_(""), dead_(""), tried_(""), forget_(""), number_("") {
  const OutboxShape::Column& id = shape_.at(Role::id);
  const OutboxShape::Column* sendAt = shape_.find(Role::sendAt);
  look_ =
      "SELECT id, grp, body, headers, exchange, routing_key, number, created, size FROM ("
      " SELECT *, sum(size) OVER (ORDER BY place) - size AS before FROM ("
      "  SELECT " +
      lookedAt(shape_) + ", row_number() OVER (ORDER BY " + orderOf(shape_, "r.") +
      ") AS place"
      "   FROM (SELECT * FROM " +
      shape_.table + " WHERE " + isWaiting() + isDue() + "    ORDER BY " + orderOf(shape_, "") +
      " LIMIT (SELECT $2)) AS r"
      "   WHERE NOT EXISTS (SELECT FROM unnest((SELECT $1)::text[]) AS taken(id) WHERE taken.id::" +
      id.type + " = r." + id.sql +
      ") ORDER BY place LIMIT (SELECT $3)) AS free"
      ") AS measured WHERE before < $4 ORDER BY place";
  untilNext_ = sendAt == nullptr
                   ? std::string("SELECT NULL::bigint")
                   : "SELECT ceil(extract(epoch FROM min(" + sendAt->sql +
                         ") - now()) * 1000)::bigint FROM "
                         "(SELECT * FROM " +
                         shape_.table + " WHERE " + isWaiting() + " AND " + sendAt->sql + " > now() AND isfinite(" +
                         sendAt->sql + ") ORDER BY " + sendAt->sql + " LIMIT 1) AS next";
  const std::string isOneOf = " WHERE " + id.sql + " = ANY((SELECT $1)::text[]::" + id.type + "[])";
  const std::string given =
      " FROM unnest((SELECT $1)::text[], (SELECT $2)::text[], (SELECT $3)::bigint[], (SELECT $4)::bigint[])"
      " AS given(id, why, attempts, next_at) WHERE " +
      shape_.table + "." + id.sql + " = given.id::" + id.type;
  if (shape_.takesNumbers()) number_ = numberSql();
  const std::string failed = setFailed();
  if (!failed.empty()) tried_ = "UPDATE " + shape_.table + " SET " + failed + given;
  if (!shape_.hasStatus()) {
    sent_ = "DELETE FROM " + shape_.table + isOneOf;
    return;
  }
  const std::string setStatus = "UPDATE " + shape_.table + " SET " + shape_.at(Role::status).sql + " = ";
  const OutboxShape::Column* sentAt = shape_.find(Role::sentAt);
  if (sentAt != nullptr)
    forget_ = "DELETE FROM " + shape_.table + " WHERE " + id.sql + " = ANY(ARRAY(SELECT " + id.sql + " FROM " +
              shape_.table + " WHERE " + shape_.at(Role::status).sql + " = " + shape_.sent + " AND " + sentAt->sql +
              " < now() - $1 * interval '1 millisecond' ORDER BY " + sentAt->sql +
              " LIMIT (SELECT $2) FOR UPDATE SKIP LOCKED))";
  const OutboxShape::Column* nextAt = shape_.find(Role::nextAt);
  sent_ = setStatus + shape_.sent + (sentAt == nullptr ? "" : ", " + sentAt->sql + " = now()") +
          (nextAt == nullptr || nextAt->isNotNull ? "" : ", " + nextAt->sql + " = NULL") + isOneOf;
  dead_ = setStatus + shape_.dead + (failed.empty() ? "" : ", " + failed) + given;
}

bool OutboxRows::isAs(const OutboxRows& other) const {
  const auto texts = [](const OutboxRows& rows) {
    return std::array{std::string_view(rows.look_),  std::string_view(rows.untilNext_), std::string_view(rows.sent_),
                      std::string_view(rows.dead_),  std::string_view(rows.tried_),     std::string_view(rows.forget_),
                      std::string_view(rows.number_)};
  };
  return texts(*this) == texts(other);
}

Command OutboxRows::deadAndWaiting(std::int64_t queue) const {
  const std::string& id = shape_.at(Role::id).sql;
  return command("SELECT r." + id + "::text FROM (SELECT * FROM " + shape_.table + " WHERE " + isWaiting() +
                     ") AS r JOIN tenure_dead_letter AS d ON d.queue = $1 AND d.id = convert_to(r." + id +
                     "::text, 'UTF8')",
                 queue);
}

Command OutboxRows::look(const std::vector<std::string>& taken, std::size_t max, std::int64_t bytes) const {
  return command(look_, textArray(taken), static_cast<std::int64_t>(taken.size() + max), static_cast<std::int64_t>(max),
                 bytes);
}

Message OutboxRows::messageFrom(const Answer& rows, int row) {
  Message message;
  message.id.value = rows.text(row, 0);
  message.group.value = rows.text(row, 1);
  message.body = rows.text(row, 2);
  if (!rows.isNull(row, 3)) readHeaders(rows.bytes(row, 3), message);
  if (!rows.isNull(row, 4)) setHeader(message.headers, exchangeHeader, rows.text(row, 4));
  if (!rows.isNull(row, 5)) setHeader(message.headers, routingKeyHeader, rows.text(row, 5));
  if (!rows.isNull(row, 6)) setHeader(message.headers, numberHeader, rows.text(row, 6));
  message.enqueuedAt = rows.time(row, 7);
  if (const std::int64_t size = rows.isNull(row, 8) ? 0 : rows.integer(row, 8); size > largestOutboxBody)
    message.lacks = "its body of " + std::to_string(size) + " bytes is over 64 MiB and was left out";
  return message;
}

Command OutboxRows::untilNext() const { return command(untilNext_); }

Command OutboxRows::countWaiting() const {
  const OutboxShape::Column& body = shape_.at(Role::body);
  return command("SELECT count(*), coalesce(sum(octet_length(" + body.sql + (body.isBytes ? "" : "::text") +
                 ")), 0)::bigint FROM " + shape_.table + " WHERE " + isWaiting() + isDue());
}

Command OutboxRows::countWaiting(std::int64_t atMost) const {
  return command(
      "SELECT count(*) FROM (SELECT FROM " + shape_.table + " WHERE " + isWaiting() + isDue() + " LIMIT $1) AS counted",
      atMost);
}

Command OutboxRows::estimateRows() const {
  return command("SELECT greatest(reltuples, 0)::bigint FROM pg_class WHERE oid = $1::regclass", shape_.table);
}

bool OutboxRows::tellsAge() const noexcept { return shape_.find(Role::createdAt) != nullptr; }

Command OutboxRows::sent(const std::vector<std::string>& ids) const { return command(sent_, textArray(ids)); }

Command OutboxRows::stillWaiting(const std::vector<std::string>& ids) const {
  const OutboxShape::Column& id = shape_.at(Role::id);
  return command("SELECT " + id.sql + "::text FROM " + shape_.table + " WHERE " + id.sql +
                     " = ANY((SELECT $1)::text[]::" + id.type + "[]) AND " + isWaiting() + " LIMIT 1",
                 textArray(ids));
}

Error OutboxRows::markRefused(const std::string& id) const {
  return {Errc::configurationRefused,
          "table " + printable(shape_.table) + ": row " + printable(id) + " was delivered, and the " +
              (shape_.hasStatus() ? "UPDATE" : "DELETE") +
              " that follows changes nothing: a trigger or a policy of row security is in its way"};
}

Command OutboxRows::dead(const std::vector<OutboxFailure>& rows) const {
  if (shape_.hasStatus()) return update(dead_, rows);
  std::vector<std::string> ids;
  for (const OutboxFailure& each : rows) ids.push_back(each.id);
  return sent(ids);
}

bool OutboxRows::showsAttempts() const noexcept { return !setFailed().empty(); }

Command OutboxRows::number(std::int64_t queue, const std::vector<std::string>& ids) const {
  return command(number_, queue, textArray(ids));
}

Command OutboxRows::tried(const std::vector<OutboxFailure>& rows) const { return update(tried_, rows); }

Command OutboxRows::forget(std::chrono::milliseconds age, std::int64_t atMost) const {
  return command(forget_, static_cast<std::int64_t>(age.count()), atMost);
}

Command OutboxRows::update(SqlText sql, const std::vector<OutboxFailure>& rows) const {
  Array ids(TypeId::text);
  Array reasons(TypeId::text);
  Array attempts(TypeId::bigint);
  Array times(TypeId::bigint);
  for (const OutboxFailure& each : rows) {
    ids.add(each.id);
    reasons.add(isText(each.why) ? each.why : escaped(each.why, each.why.size()));
    attempts.add(each.attempts);
    times.add(each.nextAt);
  }
  return command(std::move(sql), ids, reasons, attempts, times);
}

}  // namespace tenure::postgresql
