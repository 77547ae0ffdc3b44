#include "bench/bare_sqlite.hpp"

#include "backends/sqlite/connection.hpp"
#include "base/assert.hpp"
#include "tenure/spi/store.hpp"

namespace tenure::bench {

BareSqlite::BareSqlite(const std::filesystem::path& file, const Term& term, const std::string& effect, bool marks,
                       Guard guard)
    : term_(term), marks_(marks), fenced_(guard == Guard::fenced) {
  TENURE_ASSERT(sqlite3_open(file.c_str(), &db_) == SQLITE_OK);
  const auto plan = sqlite::journalPlan(sqlite3_libversion_number());
  const std::string pragmas =
      "PRAGMA journal_mode=" + std::string{plan.mode} + "; PRAGMA synchronous=" + std::string{plan.synchronous};
  TENURE_ASSERT(sqlite3_exec(db_, pragmas.c_str(), nullptr, nullptr, nullptr) == SQLITE_OK);
  select_ =
      prepare("SELECT n, id, grp, body, headers, enqueued_at FROM tenure_message WHERE n > ?1 ORDER BY n LIMIT ?2");
  begin_ = prepare("BEGIN IMMEDIATE");
  fence_ = prepare(
      "UPDATE tenure_fence SET seq = seq + 1 WHERE election = ?1 AND generation = ?2 AND token = ?3"
      " AND candidate = ?4 AND ensemble = ?5 AND seq = ?6");
  mark_ = prepare("SAVEPOINT mark");
  unmark_ = prepare("RELEASE mark");
  key_ = prepare(
      "INSERT INTO tenure_key(queue, consumer, id, state, digest, token, at) VALUES(1, 'default', ?1, 0, ?2, ?3, ?4)"
      " ON CONFLICT(queue, consumer, id) DO NOTHING");
  effect_ = prepare(effect);
  inWork_ = prepare(
      "INSERT INTO tenure_in_work(queue, consumer, token, more, ids) VALUES(1, 'default', ?1, ?2, ?3)"
      " ON CONFLICT(queue, consumer, lane) DO UPDATE SET token = ?1, more = ?2, ids = ?3");
  delete_ = prepare("DELETE FROM tenure_message WHERE n BETWEEN ?1 AND ?2");
  commit_ = prepare("COMMIT");
  sqlite3_stmt* seq = prepare("SELECT seq FROM tenure_fence WHERE election = ?1");
  bind(seq, 1, term.identity().election.value);
  TENURE_ASSERT(sqlite3_step(seq) == SQLITE_ROW);
  sequence_ = sqlite3_column_int64(seq, 0);
  sqlite3_reset(seq);
}

BareSqlite::~BareSqlite() {
  for (sqlite3_stmt* statement : statements_) sqlite3_finalize(statement);
  sqlite3_close(db_);
}

void BareSqlite::commit(std::span<const Row> rows, bool ofOwnQueue) {
  step(begin_);
  if (fenced_) passFence();
  for (const Row& row : rows) {
    if (marks_) step(mark_);
    if (fenced_) addKey(row);
    bind(effect_, 1, row.id);
    bind(effect_, 2, row.group);
    bind(effect_, 3, row.body);
    sqlite3_bind_int64(effect_, 4, term_.token().value);
    step(effect_);
    if (marks_) step(unmark_);
  }
  if (fenced_) recordInWork(rows);
  if (ofOwnQueue) {
    sqlite3_bind_int64(delete_, 1, rows.front().position);
    sqlite3_bind_int64(delete_, 2, rows.back().position);
    step(delete_);
  }
  step(commit_);
}

void BareSqlite::passFence() {
  const TermIdentity& term = term_.identity();
  bind(fence_, 1, term.election.value);
  sqlite3_bind_int64(fence_, 2, term.generation);
  sqlite3_bind_int64(fence_, 3, term.token.value);
  bind(fence_, 4, term.candidate.value);
  bind(fence_, 5, term.ensemble.value);
  sqlite3_bind_int64(fence_, 6, sequence_++);
  step(fence_);
  TENURE_ASSERT(sqlite3_changes(db_) == 1);
}

void BareSqlite::addKey(const Row& row) {
  const BodyDigest digest = digestOf(row.body);
  bind(key_, 1, row.id);
  sqlite3_bind_blob(key_, 2, digest.data(), static_cast<int>(digest.size()), SQLITE_STATIC);
  sqlite3_bind_int64(key_, 3, term_.token().value);
  sqlite3_bind_int64(key_, 4, row.enqueuedAt);
  step(key_);
  TENURE_ASSERT(sqlite3_changes(db_) == 1);
}

void BareSqlite::recordInWork(std::span<const Row> rows) {
  const std::string ids = joinedIds(rows);
  sqlite3_bind_int64(inWork_, 1, term_.token().value);
  sqlite3_bind_int64(inWork_, 2, 1);
  sqlite3_bind_blob(inWork_, 3, ids.data(), static_cast<int>(ids.size()), SQLITE_STATIC);
  step(inWork_);
}

std::vector<Row> BareSqlite::fetch(std::size_t max) {
  const auto text = [this](int column) {
    return std::string{static_cast<const char*>(sqlite3_column_blob(select_, column)),
                       static_cast<std::size_t>(sqlite3_column_bytes(select_, column))};
  };
  std::vector<Row> rows;
  sqlite3_bind_int64(select_, 1, cursor_);
  sqlite3_bind_int64(select_, 2, static_cast<std::int64_t>(max));
  while (sqlite3_step(select_) == SQLITE_ROW)
    rows.push_back({sqlite3_column_int64(select_, 0), text(1), text(2), text(3), {}, sqlite3_column_int64(select_, 5)});
  sqlite3_reset(select_);
  if (!rows.empty()) cursor_ = rows.back().position;
  return rows;
}

sqlite3_stmt* BareSqlite::prepare(const std::string& sql) {
  sqlite3_stmt* statement = nullptr;
  TENURE_ASSERT(sqlite3_prepare_v3(db_, sql.c_str(), -1, SQLITE_PREPARE_PERSISTENT, &statement, nullptr) == SQLITE_OK);
  statements_.push_back(statement);
  return statement;
}

void BareSqlite::step(sqlite3_stmt* statement) {
  const int code = sqlite3_step(statement);
  TENURE_ASSERT(code == SQLITE_DONE);
  sqlite3_reset(statement);
}

void BareSqlite::bind(sqlite3_stmt* statement, int index, const std::string& text) {
  sqlite3_bind_text(statement, index, text.data(), static_cast<int>(text.size()), SQLITE_STATIC);
}

}  // namespace tenure::bench
