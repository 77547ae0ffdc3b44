#include "bench/backends/bare_postgres.hpp"

#include <libpq-fe.h>
#include <poll.h>

#include <cstdio>
#include <cstring>

#include "base/assert.hpp"
#include "tenure/spi/store.hpp"

namespace tenure::bench {
namespace {

enum Type : unsigned { untyped = 0, bytes = 17, bigint = 20, text = 25 };

/// As the wire has it.
struct Big {
  explicit Big(std::int64_t number) {
    const std::uint64_t swapped = __builtin_bswap64(static_cast<std::uint64_t>(number));
    std::memcpy(data.data(), &swapped, sizeof swapped);
  }
  operator std::string_view() const { return {data.data(), data.size()}; }
  std::array<char, 8> data;
};

std::string_view cell(const pg_result* rows, int row, int column) {
  return {PQgetvalue(rows, row, column), static_cast<std::size_t>(PQgetlength(rows, row, column))};
}

std::int64_t number(const pg_result* rows, int row, int column) {
  std::uint64_t swapped = 0;
  std::memcpy(&swapped, PQgetvalue(rows, row, column), sizeof swapped);
  return static_cast<std::int64_t>(__builtin_bswap64(swapped));
}

}  // namespace

BarePostgres::BarePostgres(const postgresql::Options& options, const Term& term, const std::string& effect,
                           Effects effects, Guard guard)
    : connection_(PQconnectdb(("host=" + options.host + " port=" + std::to_string(options.port) +
                               " dbname=" + options.database + " user=" + options.user)
                                  .c_str()),
                  &PQfinish),
      term_(term),
      effects_(effects),
      fenced_(guard == Guard::fenced) {
  TENURE_ASSERT(PQstatus(connection_.get()) == CONNECTION_OK);
  PQsetnonblocking(connection_.get(), 1);
  PQenterPipelineMode(connection_.get());
  prepareAll(effect);
  sync();
  send("queue", std::array<Value, 2>{Value{options.queue}, Value{term.identity().election.value}});
  const Result found = sync();
  queue_ = number(found.get(), 0, 0);
  sequence_ = number(found.get(), 0, 1);
}

void BarePostgres::prepareAll(const std::string& effect) {
  prepare("queue", "SELECT number, seq FROM tenure_queue, tenure_fence WHERE name = $1 AND tenure_fence.election = $2",
          {text, text});
  prepare("select",
          "SELECT n, id, grp, body, headers, enqueued_at FROM tenure_message WHERE queue = $1 AND n > $2"
          " ORDER BY n LIMIT $3",
          {bigint, bigint, bigint});
  prepare("begin", "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE", {});
  prepare("fence",
          "WITH passed AS (UPDATE tenure_fence SET seq = seq + 1 WHERE election = $1 AND generation = $2 AND token = $3"
          " AND candidate = $4 AND ensemble = $5 AND seq = $6 RETURNING 1) SELECT 1 / count(*) FROM passed",
          {text, bigint, bigint, text, text, bigint});
  prepare("key",
          "INSERT INTO tenure_key(queue, consumer, id, state, digest, token, at) VALUES(1, $1, $2, 0, $3, $4, $5)",
          {text, bytes, bytes, bigint, bigint});
  prepare("effect", effect, {untyped, untyped, untyped, bigint});
  prepare("mark", "SAVEPOINT mark", {});
  prepare("unmark", "RELEASE mark", {});
  prepare("work",
          "INSERT INTO tenure_in_work(queue, consumer, token, more, ids) VALUES(1, $1, $2, 1, $3)"
          " ON CONFLICT(queue, consumer, lane) DO UPDATE SET token = $2, more = 1, ids = $3",
          {text, bigint, bytes});
  prepare("delete", "DELETE FROM tenure_message WHERE queue = $1 AND n BETWEEN $2 AND $3", {bigint, bigint, bigint});
  prepare("commit", "COMMIT", {});
}

std::vector<Row> BarePostgres::fetch(std::size_t max) {
  const Big queue(queue_);
  const Big after(cursor_);
  const Big limit(static_cast<std::int64_t>(max));
  send("select", std::array<Value, 3>{Value{queue}, Value{after}, Value{limit}});
  const Result found = sync();
  std::vector<Row> rows;
  rows.reserve(static_cast<std::size_t>(PQntuples(found.get())));
  const auto text = [&](int row, int column) { return std::string(cell(found.get(), row, column)); };
  for (int row = 0; row < PQntuples(found.get()); ++row)
    rows.push_back({number(found.get(), row, 0), text(row, 1), text(row, 2), text(row, 3), text(row, 4),
                    number(found.get(), row, 5)});
  if (!rows.empty()) cursor_ = rows.back().position;
  return rows;
}

void BarePostgres::commit(std::span<const Row> rows, bool ofOwnQueue) {
  const Big token(term_.token().value);
  send("begin");
  if (fenced_) sendFence();
  for (const Row& row : rows) {
    if (effects_ == Effects::answered) send("mark");
    if (fenced_) sendKey(row);
    send("effect",
         std::array<Value, 4>{Value{row.id, false}, Value{row.group, false}, Value{row.body, false}, Value{token}});
    if (effects_ == Effects::written) continue;
    sync();
    send("unmark");
  }
  const std::string ids = joinedIds(rows);
  if (fenced_) send("work", std::array<Value, 3>{Value{term_.identity().election.value}, Value{token}, Value{ids}});
  if (ofOwnQueue) {
    const Big queue(queue_);
    const Big first(rows.front().position);
    const Big last(rows.back().position);
    send("delete", std::array<Value, 3>{Value{queue}, Value{first}, Value{last}});
  }
  send("commit");
  sync();
}

void BarePostgres::sendFence() {
  const TermIdentity& term = term_.identity();
  const Big generation(term.generation);
  const Big token(term.token.value);
  const Big sequence(sequence_++);
  send("fence", std::array<Value, 6>{Value{term.election.value}, Value{generation}, Value{token},
                                     Value{term.candidate.value}, Value{term.ensemble.value}, Value{sequence}});
}

void BarePostgres::sendKey(const Row& row) {
  const BodyDigest digest = digestOf(row.body);
  const std::string_view digestBytes(reinterpret_cast<const char*>(digest.data()), digest.size());
  const Big token(term_.token().value);
  const Big at(row.enqueuedAt);
  send("key", std::array<Value, 5>{Value{term_.identity().election.value}, Value{row.id}, Value{digestBytes},
                                   Value{token}, Value{at}});
}

void BarePostgres::prepare(const char* name, const std::string& sql, const std::vector<unsigned>& types) {
  TENURE_ASSERT(PQsendPrepare(connection_.get(), name, sql.c_str(), static_cast<int>(types.size()), types.data()) == 1);
  ++sent_;
}

template <std::size_t N>
void BarePostgres::send(const char* name, const std::array<Value, N>& values) {
  std::array<const char*, N> starts{};
  std::array<int, N> lengths{};
  std::array<int, N> formats{};
  for (std::size_t i = 0; i < N; ++i) {
    starts[i] = values[i].bytes.data();
    lengths[i] = static_cast<int>(values[i].bytes.size());
    formats[i] = values[i].isBinary ? 1 : 0;
  }
  TENURE_ASSERT(PQsendQueryPrepared(connection_.get(), name, static_cast<int>(N), starts.data(), lengths.data(),
                                    formats.data(), 1) == 1);
  ++sent_;
}

BarePostgres::Result BarePostgres::sync() {
  TENURE_ASSERT(PQpipelineSync(connection_.get()) == 1);
  Result last(nullptr, &PQclear);
  for (; sent_ > 0; --sent_) {
    last = next();
    const ExecStatusType status = PQresultStatus(last.get());
    if (status != PGRES_COMMAND_OK && status != PGRES_TUPLES_OK) std::fputs(PQerrorMessage(connection_.get()), stderr);
    TENURE_ASSERT(status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK);
    TENURE_ASSERT(next() == nullptr);
  }
  TENURE_ASSERT(PQresultStatus(next().get()) == PGRES_PIPELINE_SYNC);
  return last;
}

BarePostgres::Result BarePostgres::next() {
  while (PQflush(connection_.get()) == 1) awaitSocket();
  while (PQisBusy(connection_.get()) != 0) {
    awaitSocket();
    TENURE_ASSERT(PQconsumeInput(connection_.get()) == 1);
  }
  return {PQgetResult(connection_.get()), &PQclear};
}

void BarePostgres::awaitSocket() {
  const bool unsent = PQflush(connection_.get()) == 1;
  pollfd waiting{
      .fd = PQsocket(connection_.get()), .events = static_cast<short>(POLLIN | (unsent ? POLLOUT : 0)), .revents = 0};
  poll(&waiting, 1, -1);
}

}  // namespace tenure::bench
