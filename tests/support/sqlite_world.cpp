#include "support/sqlite_world.hpp"

#include <gtest/gtest.h>

namespace tenure::test {
namespace {

class Handle {
 public:
  explicit Handle(const std::filesystem::path& file) {
    EXPECT_EQ(sqlite3_open(file.c_str(), &db_), SQLITE_OK);
    sqlite3_busy_timeout(db_, 10'000);
  }
  ~Handle() { sqlite3_close(db_); }
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;
  sqlite3* operator*() const { return db_; }

 private:
  sqlite3* db_ = nullptr;
};

}  // namespace

sqlite::Options SqliteWorld::options() const {
  return {.file = folder_ / "queue.db",
          .queue = "orders",
          .lockLimit = lockLimit_,
          .evictFrozenHolder = true,
          .create = true};
}

Replica SqliteWorld::open(IEventSink& events) {
  auto database = std::make_shared<sqlite::Database>(options(), events);
  return {{database, &database->store()}, {database, &database->source()}};
}

std::shared_ptr<IMessageSource> SqliteWorld::queue(const std::string& name) {
  sqlite::Options other = options();
  other.queue = name;
  const auto database = std::make_shared<sqlite::Database>(other, noEvents());
  return {database, &database->source()};
}

std::unique_ptr<IMessageSink> SqliteWorld::sink() {
  auto sink = sqlite::openSink(options());
  EXPECT_TRUE(sink.has_value()) << sink.error().message();
  return std::move(sink).value();
}

void SqliteWorld::dropFence(const std::string& election) {
  meddle("DELETE FROM tenure_fence WHERE election = '" + election + "'");
}

void SqliteWorld::meddle(const std::string& sql) const {
  const Handle db(options().file);
  char* message = nullptr;
  EXPECT_EQ(sqlite3_exec(*db, sql.c_str(), nullptr, nullptr, &message), SQLITE_OK) << sql << ": " << message;
  sqlite3_free(message);
}

std::string SqliteWorld::ask(const std::string& sql) const {
  const Handle db(options().file);
  sqlite3_stmt* statement = nullptr;
  EXPECT_EQ(sqlite3_prepare_v2(*db, sql.c_str(), -1, &statement, nullptr), SQLITE_OK) << sqlite3_errmsg(*db);
  std::string answer = "none";
  if (sqlite3_step(statement) == SQLITE_ROW) {
    const auto* text = reinterpret_cast<const char*>(sqlite3_column_text(statement, 0));
    answer = text == nullptr ? "null" : text;
  }
  sqlite3_finalize(statement);
  return answer;
}

}  // namespace tenure::test
