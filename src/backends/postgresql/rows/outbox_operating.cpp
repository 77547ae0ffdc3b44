#include "backends/postgresql/rows/outbox_operating.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "backends/postgresql/rows/outbox_roles.hpp"
#include "base/text.hpp"
#include "messages/headers.hpp"
#include "storage/driver.hpp"
#include "tenure/spi/source.hpp"

namespace tenure::postgresql {
namespace {

using Role = OutboxTable::Role;

constexpr std::size_t outboxPeekedAtOnce = 16;  // they may be large
constexpr std::int64_t outboxPeekedBytes = 8LL << 20U;

/// Takes it out of the headers.
std::optional<std::string> takeHeader(Headers& headers, std::string_view name) {
  const auto found = std::ranges::find(headers, name, &Headers::value_type::first);
  if (found == headers.end()) return std::nullopt;
  std::string value = std::move(found->second);
  headers.erase(found);
  return value;
}

/// An object where each name is there once. What is not UTF-8 is replaced.
std::string outboxHeadersText(const Headers& headers) {
  auto object = nlohmann::json::object();
  for (const auto& [name, value] : headers) object[name] = value;
  const nlohmann::json json = object.size() == headers.size() ? object : nlohmann::json(headers);
  return json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

void addOrNull(Array& array, const std::optional<std::string>& text) { text ? array.add(*text) : array.addNull(); }

std::string putBackSql(const OutboxShape& shape) {
  const std::string& id = shape.at(Role::id).sql;
  const std::string letterId = "letter.id::" + shape.at(Role::id).type;
  std::string columns = id;
  std::string values = letterId;
  const auto add = [&](Role role, const std::string& value) {
    const OutboxShape::Column* column = shape.find(role);
    if (column == nullptr || (role != Role::id && column->sql == id)) return;
    columns += ", " + column->sql;
    values += ", (" + value + ")::" + column->fullType;
  };
  add(Role::group, "nullif(letter.grp, '')");
  add(Role::body, shape.at(Role::body).isBytes ? "letter.body" : "convert_from(letter.body, 'UTF8')");
  add(Role::headers, "letter.headers");
  add(Role::exchange, "letter.exchange");
  add(Role::routingKey, "letter.routing_key");
  const OutboxShape::Column* number = shape.find(Role::number);
  if (number != nullptr && number->isNotNull) add(Role::number, "letter.number");
  add(Role::attempts, "0");
  std::string sql =
      "WITH letter AS (SELECT * FROM unnest($1::text[], $2::text[], $3::bytea[], $4::text[], $5::text[], $6::text[], "
      "$7::text[]) AS given(id, grp, body, headers, exchange, routing_key, number))";
  std::string isAbsent;
  if (shape.hasStatus()) {
    const std::string& status = shape.at(Role::status).sql;
    columns += ", " + status;
    values += ", " + shape.waiting;
    const OutboxShape::Column* attempts = shape.find(Role::attempts);
    sql += ", back AS (UPDATE " + shape.table + " AS r SET " + status + " = " + shape.waiting +
           (attempts == nullptr ? "" : ", " + attempts->sql + " = 0") +
           (number == nullptr || number->isNotNull || !number->mayUpdate ? "" : ", " + number->sql + " = NULL") +
           " FROM letter WHERE r." + id + " = " + letterId + " AND r." + status + " IN (" + shape.dead + ", " +
           shape.waiting + ") RETURNING r." + id + " AS id)";
    isAbsent = " WHERE NOT EXISTS (SELECT FROM back WHERE back.id = " + letterId + ")";
  }
  // A row that could not be marked is still in the table.
  const bool mayBeThere = !shape.hasStatus() && shape.hasUniqueIds;
  const std::string putAgain = mayBeThere ? " ON CONFLICT (" + id + ") DO NOTHING" : "";
  return sql + " INSERT INTO " + shape.table + "(" + columns + ") OVERRIDING SYSTEM VALUE SELECT " + values +
         " FROM letter" + isAbsent + putAgain;
}

}  // namespace

Command putBack(const OutboxShape& shape, std::span<const SentMessage> messages) {
  Array ids(TypeId::text), groups(TypeId::text), bodies(TypeId::bytes), headers(TypeId::text);
  Array exchanges(TypeId::text), routingKeys(TypeId::text), numbers(TypeId::text);
  for (const auto& [message, queue, isWhole] : messages) {
    Headers rest = message.headers;
    const std::optional<std::string> past = takeHeader(rest, messages::pastNumberHeader);
    const std::optional<std::string> number = takeHeader(rest, numberHeader);
    ids.add(message.id.value);
    groups.add(message.group.value);
    // A body that the letter does not have cannot be inserted. The letter may lack its headers alone.
    const bool lacksBody = !isWhole && message.body.empty();
    lacksBody ? bodies.addNull() : bodies.add(message.body);
    addOrNull(exchanges, takeHeader(rest, exchangeHeader));
    addOrNull(routingKeys, takeHeader(rest, routingKeyHeader));
    addOrNull(numbers, number ? number : past);
    rest.empty() ? headers.addNull() : headers.add(outboxHeadersText(rest));
  }
  return command(putBackSql(shape), ids, groups, bodies, headers, exchanges, routingKeys, numbers);
}

Result<OutboxCounts> OutboxCounts::of(Connection& connection, const OutboxTable& table) {
  Result<OutboxShape> shape = shapeOf(connection, table);
  if (!shape) return shape.error();
  return OutboxCounts(connection, *std::move(shape));
}

Result<Answer> OutboxCounts::ask(Command command) const {
  Exchange asked = connection_.exchange(std::vector{std::move(command)});
  return asked ? Result<Answer>(std::move(asked.answers[0])) : asked.error();
}

Result<void> OutboxCounts::addAll(QueueStats& stats) const {
  const Result<Answer> counted = ask(rows_.countWaiting());
  if (!counted) return counted.error();
  stats.waiting += counted->integer(0, 0);
  stats.waitingBytes = stats.waitingBytes.value_or(0) + counted->integer(0, 1);
  return {};
}

Result<void> OutboxCounts::addSome(QueueStats& stats) const {
  const Result<Answer> counted = ask(rows_.countWaiting(storage::mostAtAGlance + 1));
  if (!counted) return counted.error();
  const std::int64_t rows = counted->integer(0, 0);
  if (rows > storage::mostAtAGlance) return addEstimate(stats, rows);
  stats.waiting += rows;
  return {};
}

Result<void> OutboxCounts::addEstimate(QueueStats& stats, std::int64_t atLeast) const {
  const Result<Answer> estimated = ask(rows_.estimateRows());
  if (!estimated) return estimated.error();
  stats.waiting += std::max(estimated->integer(0, 0), atLeast);
  stats.waitingIsAtMost = true;
  return {};
}

Result<bool> OutboxCounts::addOldest(QueueStats& stats) const {
  const Result<Answer> first = ask(rows_.look({}, 1, 1));
  if (!first) return first.error();
  if (rows_.tellsAge() && first->rows() > 0) stats.oldest = OutboxRows::messageFrom(*first, 0).enqueuedAt;
  return first->rows() > 0;
}

Result<void> peekOutbox(Connection& connection, const OutboxTable& table, std::size_t limit,
                        const std::function<void(const Message&)>& each) {
  Result<OutboxShape> shape = shapeOf(connection, table);
  if (!shape) return shape.error();
  const OutboxRows rows(*std::move(shape));
  std::vector<std::string> seen;
  while (seen.size() < limit) {
    const std::size_t some = std::min(limit - seen.size(), outboxPeekedAtOnce);
    const Exchange looked = connection.exchange(std::vector{rows.look(seen, some, outboxPeekedBytes)});
    if (!looked) return looked.error();
    const Answer& found = looked.answers[0];
    if (found.rows() == 0) return {};
    for (int row = 0; row < found.rows(); ++row) {
      Message message = OutboxRows::messageFrom(found, row);
      seen.push_back(message.id.value);
      message.position = static_cast<std::int64_t>(seen.size());
      each(message);
    }
  }
  return {};
}

Result<void> lookAtOutbox(Connection& connection, const OutboxTable& table, backends::Inspection& found) {
  const Result<OutboxShape> shape = shapeOf(connection, table);
  if (!shape && !shape.error().is(Errc::configurationRefused)) return shape.error();
  found.require(shape.has_value(), "table", queueNameOf(table), shape ? "" : shape.error().detail);
  if (!shape) return {};
  const Result<Answer> triggers = connection.ask(
      "SELECT count(*) FROM pg_trigger AS t JOIN pg_proc AS p ON p.oid = t.tgfoid WHERE t.tgrelid = $1::regclass"
      " AND p.proname = 'tenure_wake_outbox' AND t.tgenabled IN ('O', 'A')",
      shape->table);
  if (!triggers) return triggers.error();
  const bool isWoken = triggers->integer(0, 0) > 0;
  found.fact("wake trigger", isWoken ? "there" : "absent",
             isWoken ? "" : "without it the reader looks once a second: `tenure schema print --outbox` shows it");
  found.expectSafe(shape->hasUniqueIds, "index of the ids", shape->hasUniqueIds ? "there" : "absent",
                   "a unique index of the column for id alone: rows of the same id are one message");
  return {};
}

}  // namespace tenure::postgresql
