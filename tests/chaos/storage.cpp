#include "chaos/storage.hpp"

#include <sqlite3.h>

#include <stdexcept>

#include "chaos/broker.hpp"
#include "chaos/database.hpp"
#include "tenure/sqlite.hpp"

namespace tenure::chaos {
namespace {

using Words = test::Program::Arguments;
using Connection = std::unique_ptr<sqlite3, decltype(&sqlite3_close)>;

Words joined(Words one, const Words& other) {
  one.insert(one.end(), other.begin(), other.end());
  return one;
}

Connection open(const std::filesystem::path& file) {
  sqlite3* raw = nullptr;
  if (sqlite3_open(file.c_str(), &raw) != SQLITE_OK) throw std::runtime_error("cannot open " + file.string());
  sqlite3_busy_timeout(raw, 30'000);
  return {raw, &sqlite3_close};
}

class SqliteStorage final : public IStorage {
 public:
  SqliteStorage(const std::filesystem::path& folder, std::filesystem::path page)
      : file_(folder / "orders.db"), page_(std::move(page)) {
    sqlite3_exec(
        open(file_).get(),
        "CREATE TABLE ledger(n INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT, grp TEXT, token INTEGER, prev TEXT, "
        "hash TEXT); CREATE INDEX ledger_grp ON ledger(grp, n)",
        nullptr, nullptr, nullptr);
  }
  Words wordsFor(std::size_t) const override { return wordsForProducer(); }
  Words wordsForProducer() const override { return {"file=" + file_.string()}; }
  Words environment() const override {
    return {"LD_PRELOAD=" TENURE_BINARY_DIR "/test_programs/libslow_full_disk.so",
            "TENURE_FAULT_PAGE=" + page_.string(), "TENURE_FAULT_FILE=" + file_.string()};
  }
  bool isEmpty() override {
    sqlite::Options queue;
    queue.file = file_;
    const auto stats = sqlite::openAdmin(queue)->stats();
    return stats && stats->waiting == 0;
  }
  std::vector<history::Row> ledger() override {
    std::vector<history::Row> rows;
    const auto take = [](void* to, int, char** values, char**) {
      const auto text = [values](int column) { return std::string(values[column] == nullptr ? "" : values[column]); };
      static_cast<std::vector<history::Row>*>(to)->push_back(
          {std::stoll(text(0)), text(1), text(2), std::stoll(text(3)), text(4), text(5)});
      return 0;
    };
    if (sqlite3_exec(open(file_).get(), "SELECT n, id, grp, token, prev, hash FROM ledger ORDER BY n", take, &rows,
                     nullptr) != SQLITE_OK)
      throw std::runtime_error("the ledger cannot be read");
    return rows;
  }

 private:
  std::filesystem::path file_;
  std::filesystem::path page_;
};

class PostgresStorage : public IStorage {
 public:
  Words wordsFor(std::size_t replica) const override { return database_.wordsFor(ways().portFor(replica)); }
  Words wordsForProducer() const override { return database_.words(); }
  Database* database() noexcept override { return &database_; }
  bool isEmpty() override { return database_.waiting() == 0; }
  std::vector<history::Row> ledger() override { return database_.ledger(); }
  void heal() override { database_.ways().heal(); }
  std::vector<std::string> secrets() const override { return {database_.password()}; }
  std::vector<std::pair<std::string, std::string>> logs() const override {
    return {{"postgresql.log", database_.server().log()}};
  }

 private:
  const Ways& ways() const noexcept { return database_.ways(); }
  Database database_;
};

class RabbitStorage final : public PostgresStorage {
 public:
  Words wordsFor(std::size_t replica) const override {
    return joined(PostgresStorage::wordsFor(replica), broker_.wordsFor(broker_.ways().portFor(replica)));
  }
  Words wordsForProducer() const override { return joined(PostgresStorage::wordsForProducer(), broker_.words()); }
  Broker* broker() noexcept override { return &broker_; }
  bool isEmpty() override { return broker_.messages() == 0; }
  void heal() override {
    PostgresStorage::heal();
    broker_.ways().heal();
  }
  std::vector<std::string> secrets() const override {
    return joined(PostgresStorage::secrets(), {test::RabbitServer::password});
  }
  std::vector<std::pair<std::string, std::string>> logs() const override {
    auto logs = PostgresStorage::logs();
    logs.emplace_back("rabbitmq.log", broker_.server().log());
    return logs;
  }

 private:
  Broker broker_;
};

}  // namespace

std::optional<StorageKind> storageNamed(std::string_view name) noexcept {
  if (name == "sqlite") return StorageKind::sqlite;
  if (name == "postgresql") return StorageKind::postgresql;
  if (name == "rabbitmq+postgresql") return StorageKind::rabbitmqAndPostgresql;
  return std::nullopt;
}

std::unique_ptr<IStorage> makeStorage(StorageKind kind, const std::filesystem::path& folder,
                                      const std::filesystem::path& page) {
  switch (kind) {
    case StorageKind::sqlite: return std::make_unique<SqliteStorage>(folder, page);
    case StorageKind::postgresql: return std::make_unique<PostgresStorage>();
    case StorageKind::rabbitmqAndPostgresql: return std::make_unique<RabbitStorage>();
  }
  return nullptr;
}

}  // namespace tenure::chaos
