#include "support/ledger.hpp"

#include <gtest/gtest.h>
#include <sqlite3.h>

#include <cstdio>
#include <memory>
#include <stdexcept>

#include "tenure/sqlite.hpp"

namespace tenure::test {
namespace {

using Connection = std::unique_ptr<sqlite3, decltype(&sqlite3_close)>;
using Statement = std::unique_ptr<sqlite3_stmt, decltype(&sqlite3_finalize)>;

Connection open(const std::filesystem::path& file) {
  sqlite3* raw = nullptr;
  if (sqlite3_open(file.c_str(), &raw) != SQLITE_OK) throw std::runtime_error("cannot open " + file.string());
  sqlite3_busy_timeout(raw, 30'000);
  return {raw, &sqlite3_close};
}

Statement prepare(sqlite3* connection, const char* sql) {
  sqlite3_stmt* raw = nullptr;
  if (sqlite3_prepare_v2(connection, sql, -1, &raw, nullptr) != SQLITE_OK)
    throw std::runtime_error(sqlite3_errmsg(connection));
  return {raw, &sqlite3_finalize};
}

std::string textOf(sqlite3_stmt* statement, int column) {
  const auto* text = reinterpret_cast<const char*>(sqlite3_column_text(statement, column));
  return text == nullptr ? "" : text;
}

}  // namespace

void createLedger(const std::filesystem::path& file) {
  const Connection connection = open(file);
  const int code = sqlite3_exec(connection.get(),
                                "CREATE TABLE IF NOT EXISTS ledger(n INTEGER PRIMARY KEY AUTOINCREMENT, message TEXT, "
                                "grp TEXT, token INTEGER, attempt INTEGER, at INTEGER)",
                                nullptr, nullptr, nullptr);
  if (code != SQLITE_OK) throw std::runtime_error(sqlite3_errmsg(connection.get()));
}

std::vector<LedgerRow> readLedger(const std::filesystem::path& file) {
  const Connection connection = open(file);
  const Statement select =
      prepare(connection.get(), "SELECT n, message, grp, token, attempt, at FROM ledger ORDER BY n");
  std::vector<LedgerRow> rows;
  while (sqlite3_step(select.get()) == SQLITE_ROW)
    rows.push_back({sqlite3_column_int64(select.get(), 0), textOf(select.get(), 1), textOf(select.get(), 2),
                    sqlite3_column_int64(select.get(), 3), sqlite3_column_int64(select.get(), 4),
                    sqlite3_column_int64(select.get(), 5)});
  return rows;
}

std::size_t countLedger(const std::filesystem::path& file) {
  const Connection connection = open(file);
  const Statement select = prepare(connection.get(), "SELECT coalesce(max(n), 0) FROM ledger");
  return sqlite3_step(select.get()) == SQLITE_ROW ? static_cast<std::size_t>(sqlite3_column_int64(select.get(), 0)) : 0;
}

std::string messageName(int number) {
  char name[16];
  std::snprintf(name, sizeof name, "m-%06d", number);
  return name;
}

void produce(const std::filesystem::path& file, int first, int count) {
  sqlite::Options options;
  options.file = file;
  options.lockLimit = std::chrono::seconds{30};
  auto sink = sqlite::openSink(options);
  ASSERT_TRUE(sink) << sink.error().message();
  std::vector<NewMessage> batch;
  for (int number = first; number < first + count; ++number) {
    batch.push_back({MessageId{messageName(number)},
                     GroupId{"g" + std::to_string(number % 10)},
                     "body of " + messageName(number),
                     {}});
    if (batch.size() < 500 && number + 1 < first + count) continue;
    const Result<void> stored = (*sink)->append(batch);
    ASSERT_TRUE(stored) << stored.error().message();
    batch.clear();
  }
}

std::vector<std::string> complaintsAbout(const std::vector<LedgerRow>& ledger, int count) {
  std::vector<std::string> complaints;
  const auto complain = [&](const std::string& what) {
    if (complaints.size() < 20) complaints.push_back(what);
  };
  if (ledger.size() != static_cast<std::size_t>(count))
    complain(std::to_string(ledger.size()) + " rows for " + std::to_string(count) + " messages");
  std::int64_t highest = 0;
  for (std::size_t i = 0; i < ledger.size(); ++i) {
    const LedgerRow& row = ledger[i];
    const std::string expected = messageName(static_cast<int>(i) + 1);
    if (row.message != expected) complain("row " + std::to_string(row.n) + ": " + row.message + ", not " + expected);
    if (row.token < highest)
      complain("row " + std::to_string(row.n) + ": token " + std::to_string(row.token) + " after " +
               std::to_string(highest));
    highest = std::max(highest, row.token);
  }
  return complaints;
}

}  // namespace tenure::test
