/// What somebody would write who needs the same guarantees and has no framework: the statements of a fenced batch,
/// straight on sqlite3, on a file that Tenure's own schema keeps.
#pragma once

#include <sqlite3.h>

#include <filesystem>
#include <string>
#include <vector>

#include "tenure/term.hpp"

namespace tenure::bench {

class BareSqlite {
 public:
  /// The term must have claimed the file; nobody else may consume it meanwhile. With `marks`, a savepoint before each
  /// message, as whoever wants to undo a single one needs.
  BareSqlite(const std::filesystem::path& file, const Term& term, const std::string& effect, bool marks);
  ~BareSqlite();
  BareSqlite(const BareSqlite&) = delete;
  BareSqlite& operator=(const BareSqlite&) = delete;

  /// One transaction: fence, then key and effect a message, then what is in work, then the messages' deletion.
  /// Returns how many messages it took.
  std::size_t consumeBatch(std::size_t batch);

 private:
  struct Row {
    std::int64_t position;
    std::string id;
    std::string group;
    std::string body;
    std::string headers;
    std::int64_t enqueuedAt;
  };

  sqlite3_stmt* prepare(const std::string& sql);
  void step(sqlite3_stmt* statement);
  void bind(sqlite3_stmt* statement, int index, const std::string& text);
  void fetch(std::size_t batch);

  const Term& term_;
  const bool marks_;
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
  std::vector<Row> rows_;
  std::int64_t cursor_ = 0;
  std::int64_t sequence_ = 0;
};

}  // namespace tenure::bench
