/// The bare loop on SQLite.
#pragma once

#include <sqlite3.h>

#include <filesystem>
#include <string>
#include <vector>

#include "bench/bare.hpp"
#include "tenure/term.hpp"

namespace tenure::bench {

class BareSqlite final : public BareStore {
 public:
  /// With `marks`, a savepoint before each message, as whoever wants to undo a single one needs.
  BareSqlite(const std::filesystem::path& file, const Term& term, const std::string& effect, bool marks,
             Guard guard = Guard::fenced);
  ~BareSqlite() override;
  BareSqlite(const BareSqlite&) = delete;
  BareSqlite& operator=(const BareSqlite&) = delete;

  std::vector<Row> fetch(std::size_t max) override;
  void commit(std::span<const Row> rows, bool ofOwnQueue) override;

 private:
  sqlite3_stmt* prepare(const std::string& sql);
  void step(sqlite3_stmt* statement);
  void passFence();
  void addKey(const Row& row);
  void recordInWork(std::span<const Row> rows);
  void bind(sqlite3_stmt* statement, int index, const std::string& text);

  const Term& term_;
  const bool marks_;
  const bool fenced_;
  sqlite3* db_ = nullptr;
  std::vector<sqlite3_stmt*> statements_;
  sqlite3_stmt* select_;
  sqlite3_stmt* begin_;
  sqlite3_stmt* fence_;
  sqlite3_stmt* mark_;
  sqlite3_stmt* unmark_;
  sqlite3_stmt* key_;
  sqlite3_stmt* effect_;
  sqlite3_stmt* inWork_;
  sqlite3_stmt* delete_;
  sqlite3_stmt* commit_;
  std::int64_t cursor_ = 0;
  std::int64_t sequence_ = 0;
};

}  // namespace tenure::bench
