#include "backends/sqlite/spool/spool_rows.hpp"

#include <sqlite3.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <fstream>
#include <limits>
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

// In this mode a connection keeps its locks after COMMIT. The mode is set when the lock is held: two processes that
// wait for it in this mode would each keep a shared lock, and neither would get it. The second transaction takes the
// lock of a file in WAL mode.
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
  return Error{Errc::configurationRefused, connection.file().string() + " is a spool of version " +
                                               std::to_string(**version) + ", this is version " +
                                               std::to_string(spoolVersion)};
}

/// Empty where it cannot be read, is empty, or is no regular file: to open what a link leads to might end the locks of
/// an open spool.
std::string headOf(const std::filesystem::path& file) {
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(std::filesystem::symlink_status(file, ignored))) return {};
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

/// How far a table can be read from its first or its last row.
struct Reach {
  std::int64_t last = 0;  // key of the last row that can be read; as given where not even the first can
  std::int64_t rows = 0;
  std::optional<Error> stoppedBy{};  // nullopt: the table's other end
};

/// `rows`: the first column is the key, where that is a number. The query asks for the last byte of each value, which
/// makes SQLite read the whole value.
Reach reach(Query rows, std::int64_t none) {
  Reach reached{none};
  for (;;) {
    const Result<bool> row = rows.next();
    if (!row) reached.stoppedBy = row.error();
    if (!row || !*row) return reached;
    reached.last = rows.integer(0);
    ++reached.rows;
  }
}

/// The error of one of them that is not damage, such as a lock or a full disk; nullopt: there is none.
std::optional<Error> faultIn(const Reach& front, const Reach& back) {
  for (const Reach* each : {&front, &back})
    if (each->stoppedBy && !cannotBeSaved(*each->stoppedBy)) return each->stoppedBy;
  return std::nullopt;
}

/// Rows with a key between those two may be lost.
struct Gap {
  std::int64_t after = std::numeric_limits<std::int64_t>::min();
  std::int64_t before = std::numeric_limits<std::int64_t>::max();
};

/// A table beside that of the messages.
struct SideTable {
  std::string_view name, key;
  std::string_view read;  // columns that tell whether a row can be read
  std::string_view holds;
};
constexpr SideTable times{"tenure_spool_time", "n", "n, deliver_at, replaces", "times"};
constexpr SideTable refused{"tenure_spool_refused", "n",
                            "n, substr(body, -1), substr(headers, -1), substr(reason, -1), refused_at",
                            "refused messages"};
constexpr SideTable followed{"tenure_spool_followed", "path", "sent, substr(head, -1)", "places in followed files"};

/// As many rows as can be read from both ends; nullopt: all of them.
Result<std::optional<Gap>> copySideTable(Connection& into, const SideTable& table) {
  const std::string from = " FROM old." + std::string(table.name) + " ORDER BY " + std::string(table.key);
  const std::string look = "SELECT " + std::string(table.read) + from;
  const Reach front = reach(into.query(look), Gap{}.after);
  const Reach back = front.stoppedBy ? reach(into.query(look + " DESC"), Gap{}.before) : Reach{};
  if (const auto fault = faultIn(front, back)) return *fault;
  const std::string copy = "INSERT OR IGNORE INTO main." + std::string(table.name) + " SELECT *" + from;
  const Result<void> copied = inTransaction(into, [&] {
    Result<void> done = into.run(copy + " LIMIT ?1", front.rows);
    if (done && back.rows > 0) done = into.run(copy + " DESC LIMIT ?1", back.rows);
    return done;
  });
  if (!copied && !cannotBeSaved(copied.error())) return copied.error();
  if (!copied) return std::optional(Gap{});
  return front.stoppedBy ? std::optional(Gap{front.last, back.last}) : std::nullopt;
}

std::int64_t numberIn(Connection& connection, std::string_view sql) {
  Query query = connection.query(sql);
  const Result<bool> row = query.next();
  return row && *row ? query.integer(0) : 0;
}

/// Copies the messages before the first damage and those after the last one. A message whose time may be lost is left
/// out; returns how many are.
Result<int> copyMessages(SpoolFile& to, const std::optional<Gap>& lostTimes) {
  Connection& into = *to.connection;
  const std::int64_t first = positionIn(to.queue, 0);
  // A place that was given is not given again, also where the last messages cannot be read.
  const std::int64_t last = std::max({first, numberIn(into, "SELECT last FROM old.tenure_queue"),
                                      numberIn(into, "SELECT max(n) FROM old.tenure_message"),
                                      numberIn(into, "SELECT max(n) FROM old.tenure_spool_refused")});
  const std::string look = "SELECT n, substr(body, -1), substr(headers, -1) FROM old.tenure_message ";
  const Reach front = reach(into.query(look + "WHERE n >= ?1 ORDER BY n", first), first - 1);
  const Reach back =
      front.stoppedBy ? reach(into.query(look + "WHERE n <= ?1 ORDER BY n DESC", last), last + 1) : Reach{last + 1};
  if (const auto fault = faultIn(front, back)) return *fault;
  int leftOut = 0;
  // Apart from that look: once it has met damage, SQLite writes nothing in the same transaction.
  const Result<void> done = inTransaction(into, [&]() -> Result<void> {
    constexpr std::string_view copy =
        "INSERT INTO main.tenure_message SELECT n, id, grp, body, headers, enqueued_at FROM old.tenure_message"
        " WHERE n >= ?1 ORDER BY n LIMIT ?2";  // a bound would be compared with the row behind the last
    Result<void> copied = into.run(copy, first, front.rows);
    if (copied) copied = into.run(copy, std::max(back.last, front.last + 1), back.rows);
    if (copied && lostTimes) {
      const Result<int> untimed =
          into.change("DELETE FROM main.tenure_message WHERE n > ?1 AND n < ?2", lostTimes->after, lostTimes->before);
      if (!untimed) return untimed.error();
      leftOut = *untimed;
    }
    if (copied) copied = into.run("UPDATE main.tenure_queue SET last = max(last, ?1)", last);
    if (copied)
      copied = into.run("UPDATE main.tenure_spool SET (messages, bytes) = (SELECT count(*), coalesce(sum(" +
                        std::string(sizeInRow) + "), 0) FROM main.tenure_message)");
    return copied;
  });
  return done ? Result<int>(leftOut) : done.error();
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

/// Whether another process has the database locked.
bool isHeld(const std::filesystem::path& file) {
  sqlite3* opened = nullptr;
  const bool is = sqlite3_open_v2(file.c_str(), &opened, SQLITE_OPEN_READWRITE, nullptr) == SQLITE_OK &&
                  sqlite3_exec(opened, "BEGIN EXCLUSIVE", nullptr, nullptr, nullptr) == SQLITE_BUSY;
  sqlite3_close(opened);
  return is;
}

Result<void> finishReplacement(const std::filesystem::path& file, bool isOperators) {
  const std::filesystem::path anew = replacementOf(file);
  std::error_code ignored;
  if (SpoolPlace::isHeld(anew)) return {};  // this process saves a damaged file into it
  if (Result<void> ours = keepPrivate(anew, isOperators); !ours) return ours;
  if (!std::filesystem::exists(anew, ignored) || isHeld(anew)) return {};  // another process does
  if (std::filesystem::exists(file, ignored))
    for (const char* part : {"-wal", "-shm", "-journal", ""}) std::filesystem::remove(anew.string() + part, ignored);
  else
    std::filesystem::rename(anew, file, ignored);
  return {};
}

}  // namespace

std::filesystem::path replacementOf(const std::filesystem::path& file) { return file.string() + ".new"; }

Result<SpoolFile> openSpoolFile(const SpoolOptions& options) {
  if (const Result<void> finished = finishReplacement(options.file, !options.create); !finished)
    return finished.error();
  Result<SpoolPlace> place = SpoolPlace::enter(options.file, options.create);
  if (!place) return place.error();
  if (isText(headOf(options.file)) && !headOf(options.file).starts_with(magic.substr(0, magic.size() - 1)))
    return isNoSpool(options.file, "holds text");
  if (isOfAnotherProgram(options.file)) return isNoSpool(options.file, "is another program's database");
  Options file;
  file.file = options.file;
  file.create = options.create;
  file.lockLimit = std::chrono::seconds{1};
  auto opened = Connection::open(file, {}, OlderSchema::bringForward);
  if (!opened) return opened.error();
  SpoolFile spool{*std::move(place), *std::move(opened)};
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

Result<Salvaged> salvage(const std::filesystem::path& from, SpoolFile& to) {
  Connection& into = *to.connection;
  if (const Result<void> attached = into.run("ATTACH DATABASE ?1 AS old", from.string()); !attached)
    return attached.error();
  Salvaged saved;
  std::optional<Gap> lostTimes;
  for (const SideTable& table : {times, refused, followed}) {
    const auto gap = copySideTable(into, table);
    if (!gap) return gap.error();
    if (table.name == times.name) lostTimes = *gap;
    if (*gap) saved.lost += "; not all " + std::string(table.holds) + " could be read";
  }
  const Result<int> leftOut = copyMessages(to, lostTimes);
  static_cast<void>(into.run("DETACH DATABASE old"));
  if (const Result<void> counted = countRefused(into); !counted) return counted.error();
  if (!leftOut) return leftOut.error();
  if (*leftOut > 0)
    saved.lost += "; " + std::to_string(*leftOut) + " messages are not saved, because they may have had such a time";
  saved.messages = static_cast<std::size_t>(numberIn(into, "SELECT messages FROM tenure_spool"));
  return saved;
}

}  // namespace tenure::sqlite
