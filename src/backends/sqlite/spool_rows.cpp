#include "backends/sqlite/spool_rows.hpp"

#include <sqlite3.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <fstream>
#include <optional>
#include <system_error>

#include "backends/sqlite/file_system.hpp"
#include "base/text.hpp"

namespace tenure::sqlite {
namespace {

constexpr const char* queueName = "spool";
constexpr std::string_view magic{"SQLite format 3\0", 16};
constexpr std::int64_t spoolVersion = 2;

constexpr const char* createTables = R"sql(
CREATE TABLE tenure_spool(
  version INTEGER NOT NULL,     -- of the tables that a spool has beside a queue's
  messages INTEGER NOT NULL, bytes INTEGER NOT NULL,  -- that wait, and of their bodies and headers
  refused INTEGER NOT NULL DEFAULT 0, refused_bytes INTEGER NOT NULL DEFAULT 0);  -- the same of those kept aside
INSERT INTO tenure_spool(version, messages, bytes) VALUES(2, 0, 0);
CREATE TABLE tenure_spool_time(
  n INTEGER PRIMARY KEY,        -- the message's
  deliver_at INTEGER NOT NULL,
  replaces INTEGER NOT NULL);   -- 1: one that waits under the same id
CREATE TABLE tenure_spool_refused(
  n INTEGER PRIMARY KEY,        -- as it had while it waited
  id TEXT NOT NULL, grp TEXT NOT NULL, body BLOB NOT NULL, headers TEXT, enqueued_at INTEGER NOT NULL,
  deliver_at INTEGER, replaces INTEGER NOT NULL DEFAULT 0,
  reason TEXT NOT NULL, refused_at INTEGER NOT NULL);
CREATE TABLE tenure_spool_followed(
  path TEXT PRIMARY KEY,        -- that is followed
  inode INTEGER NOT NULL, born_at INTEGER NOT NULL,  -- of the file that has or had that name
  cut_at INTEGER NOT NULL,      -- when it was last seen to be shorter than it had been
  sent INTEGER NOT NULL,        -- so many bytes of it
  head BLOB NOT NULL) WITHOUT ROWID;  -- its first bytes
)sql";

// The lock that is had at COMMIT is kept. The mode comes after it: in that mode one who waits for the lock would keep
// what he has of it. The second transaction locks a file that is in WAL mode.
constexpr const char* lockForGood = "BEGIN EXCLUSIVE; PRAGMA locking_mode=EXCLUSIVE; COMMIT; BEGIN IMMEDIATE; COMMIT;";

// Only one process has the file open: then WAL is safe in each version of SQLite, and a commit costs one sync.
constexpr const char* settings =
    "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; PRAGMA journal_size_limit=16777216; BEGIN IMMEDIATE; COMMIT;";

Result<bool> has(Connection& connection, std::string_view sql) { return connection.query(sql).next(); }

Error isNoSpool(const std::filesystem::path& file, const std::string& what) {
  return {Errc::configurationRefused, file.string() + " " + what + ": expected a spool, or a file that is not there"};
}

Result<void> makeTables(Connection& connection) {
  if (const Result<void> set = connection.script("PRAGMA auto_vacuum=INCREMENTAL; VACUUM"); !set) return set;
  return inTransaction(connection, [&]() -> Result<void> {
    if (const Result<void> made = connection.script(createTables); !made) return made;
    const Result<std::int64_t> queue = ensureQueue(connection, {queueName, std::nullopt});
    return queue ? Result<void>{} : queue.error();
  });
}

/// From the refused messages themselves, each of which is looked at.
Result<void> countRefused(Connection& connection) {
  return connection.run("UPDATE main.tenure_spool SET (refused, refused_bytes) = (SELECT count(*), coalesce(sum(" +
                        std::string(sizeInRow) + "), 0) FROM main.tenure_spool_refused)");
}

/// The first version did not count the refused messages.
Result<void> bringForward(Connection& connection) {
  return inTransaction(connection, [&] {
    Result<void> done = connection.script(
        "ALTER TABLE tenure_spool ADD COLUMN refused INTEGER NOT NULL DEFAULT 0;"
        "ALTER TABLE tenure_spool ADD COLUMN refused_bytes INTEGER NOT NULL DEFAULT 0;");
    if (done) done = countRefused(connection);
    if (done) done = connection.run("UPDATE tenure_spool SET version = ?1", spoolVersion);
    return done;
  });
}

Result<std::optional<std::int64_t>> versionOf(Connection& connection) {
  Query version = connection.query("SELECT version FROM tenure_spool");
  const Result<bool> row = version.next();
  if (!row) return row.error();
  return *row ? std::optional(version.integer(0)) : std::nullopt;
}

Result<void> ensureTables(Connection& connection) {
  const Result<bool> isThere = has(connection, "SELECT 1 FROM sqlite_schema WHERE name = 'tenure_spool'");
  if (!isThere) return isThere.error();
  if (!*isThere) {
    const Result<bool> isStore = has(connection, "SELECT 1 FROM tenure_queue UNION ALL SELECT 1 FROM tenure_fence");
    if (!isStore) return isStore.error();
    return *isStore ? Result<void>(isNoSpool(connection.file(), "is a queue or store")) : makeTables(connection);
  }
  const auto version = versionOf(connection);
  if (!version) return version.error();
  if (!*version) return Error{Errc::storeFailed, connection.file().string() + ": tenure_spool is empty"};
  if (**version == spoolVersion) return {};
  if (**version == 1) return bringForward(connection);
  return Error{Errc::configurationRefused, connection.file().string() + " is a spool of version " +
                                               std::to_string(**version) + ", this is version " +
                                               std::to_string(spoolVersion)};
}

/// Empty where it cannot be read or is empty.
std::string headOf(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  std::array<char, magic.size()> head{};
  in.read(head.data(), head.size());
  return {head.data(), static_cast<std::size_t>(in.gcount())};
}

bool isText(std::string_view head) {
  return !head.empty() && std::ranges::all_of(head, [](unsigned char c) { return std::isprint(c) || std::isspace(c); });
}

/// By what SQLite, or a look at the tables, says: other faults are Errc::storeFailed as well.
bool tellsDamage(const Error& error) {
  constexpr std::array<std::string_view, 4> told{": database disk image is malformed", ": malformed database schema",
                                                 ": no such table: ", ": tenure_spool is empty"};
  const std::string_view detail = error.detail;
  return error.is(Errc::storeFailed) &&
         (detail.ends_with(" is missing") ||
          std::ranges::any_of(told, [&](std::string_view each) { return detail.find(each) != detail.npos; }));
}

struct Reach {
  std::int64_t last = 0;  // position that can be read; as given where not even the first can
  std::int64_t rows = 0;
};

/// How far messages can be read from there on, upwards or downwards.
Reach reach(Connection& connection, std::int64_t from, bool upwards, std::int64_t none) {
  // To return the last byte of a value, SQLite reads all of the value.
  constexpr std::string_view select = "SELECT n, substr(body, -1), substr(headers, -1) FROM old.tenure_message ";
  Query rows = connection.query(
      std::string(select) + (upwards ? "WHERE n >= ?1 ORDER BY n" : "WHERE n <= ?1 ORDER BY n DESC"), from);
  Reach reached{none};
  for (Result<bool> row = rows.next(); row && *row; row = rows.next()) reached = {rows.integer(0), reached.rows + 1};
  return reached;
}

std::int64_t numberIn(Connection& connection, std::string_view sql) {
  Query query = connection.query(sql);
  const Result<bool> row = query.next();
  return row && *row ? query.integer(0) : 0;
}

/// Up to the first damage from the front, and from behind the last one to the end.
Result<void> copyMessages(SpoolFile& to) {
  Connection& into = *to.connection;
  const std::int64_t first = positionIn(to.queue, 0);
  // A place that was given is not given again, also where the last messages cannot be read.
  const std::int64_t last = std::max({first, numberIn(into, "SELECT last FROM old.tenure_queue"),
                                      numberIn(into, "SELECT max(n) FROM old.tenure_message"),
                                      numberIn(into, "SELECT max(n) FROM old.tenure_spool_refused")});
  const Reach front = reach(into, first, true, first - 1);
  const Reach back = front.last < last ? reach(into, last, false, last + 1) : Reach{last + 1};
  // Apart from that look: once it has met damage, SQLite writes nothing in the same transaction.
  return inTransaction(into, [&] {
    constexpr std::string_view copy =
        "INSERT INTO main.tenure_message SELECT n, id, grp, body, headers, enqueued_at FROM old.tenure_message"
        " WHERE n >= ?1 ORDER BY n LIMIT ?2";  // a bound would be compared with the row behind the last
    Result<void> copied = into.run(copy, first, front.rows);
    if (copied) copied = into.run(copy, std::max(back.last, front.last + 1), back.rows);
    if (copied) copied = into.run("UPDATE main.tenure_queue SET last = max(last, ?1)", last);
    if (copied)
      copied = into.run("UPDATE main.tenure_spool SET (messages, bytes) = (SELECT count(*), coalesce(sum(" +
                        std::string(sizeInRow) + "), 0) FROM main.tenure_message)");
    return copied;
  });
}

/// Whether it has tables that are not ours; false also where it cannot be read.
bool isOfAnotherProgram(const std::filesystem::path& file) {
  sqlite3* opened = nullptr;
  sqlite3_stmt* tables = nullptr;
  constexpr const char* others =
      "SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name NOT GLOB 'tenure_*' AND name NOT GLOB 'sqlite_*'";
  const bool is = sqlite3_open_v2(file.c_str(), &opened, SQLITE_OPEN_READONLY, nullptr) == SQLITE_OK &&
                  sqlite3_prepare_v2(opened, others, -1, &tables, nullptr) == SQLITE_OK &&
                  sqlite3_step(tables) == SQLITE_ROW;
  sqlite3_finalize(tables);
  sqlite3_close(opened);
  return is;
}

void finishReplacement(const std::filesystem::path& file) {
  const std::filesystem::path anew = replacementOf(file);
  std::error_code ignored;
  if (std::filesystem::exists(file, ignored))
    for (const char* part : {"-wal", "-shm", "-journal", ""}) std::filesystem::remove(anew.string() + part, ignored);
  else
    std::filesystem::rename(anew, file, ignored);
}

}  // namespace

std::filesystem::path replacementOf(const std::filesystem::path& file) { return file.string() + ".new"; }

Result<SpoolFile> openSpoolFile(const SpoolOptions& options) {
  finishReplacement(options.file);
  if (isText(headOf(options.file)) && !headOf(options.file).starts_with(magic.substr(0, magic.size() - 1)))
    return isNoSpool(options.file, "holds text");
  if (isOfAnotherProgram(options.file)) return isNoSpool(options.file, "is another program's database");
  Options file;
  file.file = options.file;
  file.create = options.create;
  file.lockLimit = std::chrono::seconds{1};
  auto opened = Connection::open(file, {}, OlderSchema::bringForward);
  if (!opened) return opened.error();
  SpoolFile spool{*std::move(opened)};
  // Before the first look at the tables: two processes that both find them absent would both make them.
  if (const Result<void> locked = spool.connection->script(lockForGood); !locked) {
    spool.connection->rollback();
    return locked.error();
  }
  if (const Result<void> tables = ensureTables(*spool.connection); !tables) return tables.error();
  if (const Result<void> set = spool.connection->script(settings); !set) return set.error();
  const Result<std::int64_t> queue = findQueue(*spool.connection, {queueName, std::nullopt});
  if (!queue && queue.error().is(Errc::notFound))
    return Error{Errc::storeFailed, spool.connection->file().string() + ": its queue is missing"};
  if (!queue) return queue.error();
  spool.queue = *queue;
  return spool;
}

bool isDamaged(const std::filesystem::path& file, const Error& error) {
  if (error.is(Errc::fenceLost) || tellsDamage(error)) return true;
  if (!error.is(Errc::configurationRefused)) return false;
  const std::string head = headOf(file);  // no earlier: to close the file again ends the locks of an open spool
  return !head.empty() && head != magic && !isText(head);
}

bool cannotBeSaved(const Error& error) { return error.is(Errc::storeFailed) || error.is(Errc::configurationRefused); }

Result<std::filesystem::path> setAside(const std::filesystem::path& file) {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  std::filesystem::path aside = file;
  aside += ".damaged-" + std::to_string(std::chrono::duration_cast<std::chrono::milliseconds>(now).count());
  for (const char* part : {"-journal", "-wal", ""}) {  // the file comes last: until then it is tried again
    std::error_code failed;
    std::filesystem::rename(file.string() + part, aside.string() + part, failed);
    if (failed && failed != std::errc::no_such_file_or_directory)
      return Error{Errc::unavailable, file.string() + " is damaged, and cannot be renamed: " + failed.message()};
  }
  std::error_code ignored;
  std::filesystem::remove(file.string() + "-shm", ignored);
  return aside;
}

Result<std::size_t> salvage(const std::filesystem::path& from, SpoolFile& to) {
  Connection& into = *to.connection;
  if (const Result<void> attached = into.run("ATTACH DATABASE ?1 AS old", from.string()); !attached)
    return attached.error();
  const Result<void> saved = copyMessages(to);
  for (const char* table :
       {"tenure_spool_time", "tenure_spool_refused", "tenure_spool_followed"})  // as many rows as can be read
    static_cast<void>(
        into.run("INSERT OR IGNORE INTO main." + std::string(table) + " SELECT * FROM old." + std::string(table)));
  static_cast<void>(into.run("DETACH DATABASE old"));
  if (const Result<void> counted = countRefused(into); !counted) return counted.error();
  if (!saved) return saved.error();
  return static_cast<std::size_t>(numberIn(into, "SELECT messages FROM tenure_spool"));
}

}  // namespace tenure::sqlite
