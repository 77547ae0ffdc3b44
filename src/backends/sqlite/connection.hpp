/// SQLite as the rest of the room sees it: one file, prepared statements, errors as values. Only this room includes
/// sqlite3.h.
///
///   Connection ── query(sql, values…) ──▶ Query ── next() ──▶ row … until it goes, which frees the statement
///              └─ run / change: to the end at once
///
/// What makes it safe is decided here: the journal by the library's version, how long to wait for the file's lock and
/// in which steps, which file systems are refused, and what a user's own SQL may touch (Connection::UserMode).
/// Threads: one at a time.
#pragma once

#include <sqlite3.h>

#include <concepts>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "backends/sqlite/schema.hpp"
#include "backends/sqlite/statement_cache.hpp"
#include "tenure/sqlite.hpp"
#include "tenure/values.hpp"

namespace tenure::sqlite {

/// How long to wait for the file's lock, and in which steps: well under a millisecond, because a waiter that sleeps
/// through the release (SQLite's own handler sleeps up to 100 ms) costs a handover more than everything else in it.
class LockWait {
 public:
  explicit LockWait(Duration limit) noexcept : limit_(limit) {}

  void limit(Duration limit) noexcept { limit_ = limit; }
  Duration limit() const noexcept { return limit_; }
  /// Asked when the limit has passed: true starts another wait. Must not use the connection that waits.
  void whenOver(std::function<bool()> ask) { ask_ = std::move(ask); }

  /// SQLite's busy handler; `self` is a LockWait. SQLite counts `tries` from 0 in each statement.
  static int onBusy(void* self, int tries) noexcept;

 private:
  Duration limit_;
  std::function<bool()> ask_;
  BootTime deadline_{};
};

// What a user's own SQL may not do inside the fenced transaction: end it, reach other files, change how the file is
// kept, or write Tenure's own tables. SQLite asks when it compiles a statement, triggers included.

/// For sqlite3_set_authorizer; `userMode` is a bool* that says whose statement is being compiled.
int authorize(void* userMode, int action, const char* first, const char* second, const char* database,
              const char* trigger) noexcept;

/// Below 3.51.3 a WAL file can be corrupted when two connections write and checkpoint at once, which is what a stale
/// and a new leader do; there, a rollback journal. Either way a commit that returned survives a power loss.
struct JournalPlan {
  std::string_view mode;         // as PRAGMA journal_mode answers it
  std::string_view synchronous;  // as PRAGMA synchronous takes it
  bool bearsWal = false;         // where another program has set it
};
/// Other programs that write the file may have an older library: for them it stays in a rollback journal. Some set WAL
/// all the same, as web frameworks do; that is borne where our library is safe, and else no transaction begins.
constexpr JournalPlan journalPlan(int libraryVersion, bool forSenders = false) noexcept {
  const bool isSafe = libraryVersion >= 3'051'003;
  return isSafe && !forSenders ? JournalPlan{"wal", "FULL", true} : JournalPlan{"truncate", "EXTRA", isSafe};
}
/// Why no transaction begins on such a file.
Error keptInWal(const std::filesystem::path& file);

/// As the file's header says: asking SQLite would open its log.
bool isInWalMode(const std::filesystem::path& file);

/// Bytes, bound as a BLOB; a plain string_view is bound as TEXT.
struct Blob {
  std::string_view bytes;
};

/// What a SQLite result code means to Tenure; the file and SQLite's own message end up in the detail.
Error errorOf(sqlite3* db, int code);

/// A prepared statement in use; it is free again when this goes.
class Query {
 public:
  Query(sqlite3* db, sqlite3_stmt* statement, int prepared) noexcept
      : db_(db), statement_(statement), code_(prepared) {}
  Query(Query&& other) noexcept
      : db_(other.db_), statement_(std::exchange(other.statement_, nullptr)), code_(other.code_) {}
  ~Query() { sqlite3_reset(statement_); }

  /// Binds by position. The values are copied.
  template <class... Values>
  Query& bind(const Values&... values) {
    return bindAll(SQLITE_TRANSIENT, values...);
  }
  /// The same for values that outlive the statement's run: nothing is copied.
  template <class... Values>
  Query& borrow(const Values&... values) {
    return bindAll(SQLITE_STATIC, values...);
  }

  /// One value of those, which outlives the statement's run as well.
  template <class Given>
  void borrowAt(int index, const Given& value) {
    if (code_ == SQLITE_OK) bindOne(index, value, SQLITE_STATIC);
  }

  /// True on a row, false at the end.
  Result<bool> next();
  /// next() without the sentence: SQLITE_ROW, SQLITE_DONE or what went wrong.
  int step() noexcept;

  std::int64_t integer(int column) const noexcept { return sqlite3_column_int64(statement_, column); }
  bool isNull(int column) const noexcept { return sqlite3_column_type(statement_, column) == SQLITE_NULL; }
  bool isInteger(int column) const noexcept { return sqlite3_column_type(statement_, column) == SQLITE_INTEGER; }
  /// The bytes of text or blob, valid until the next row.
  std::string_view bytes(int column) const noexcept;
  std::string text(int column) const { return std::string(bytes(column)); }
  WallTime time(int column) const noexcept { return WallTime{std::chrono::milliseconds{integer(column)}}; }

 private:
  using Lifetime = sqlite3_destructor_type;
  template <class... Values>
  Query& bindAll([[maybe_unused]] Lifetime lifetime, const Values&... values) {
    [[maybe_unused]] int index = 0;
    if (code_ == SQLITE_OK) (bindOne(++index, values, lifetime), ...);
    return *this;
  }
  void bindOne(int index, std::int64_t value, Lifetime) noexcept { note(sqlite3_bind_int64(statement_, index, value)); }
  void bindOne(int index, std::nullptr_t, Lifetime) noexcept { note(sqlite3_bind_null(statement_, index)); }
  void bindOne(int index, WallTime at, Lifetime lifetime) noexcept {
    bindOne(index, static_cast<std::int64_t>(at.time_since_epoch().count()), lifetime);
  }
  void bindOne(int index, std::string_view text, Lifetime lifetime) noexcept {
    note(sqlite3_bind_text64(statement_, index, text.empty() ? "" : text.data(), text.size(), lifetime, SQLITE_UTF8));
  }
  void bindOne(int index, Blob blob, Lifetime lifetime) noexcept {
    note(sqlite3_bind_blob64(statement_, index, blob.bytes.empty() ? "" : blob.bytes.data(), blob.bytes.size(),
                             lifetime));
  }
  template <std::same_as<std::optional<std::string>> Nullable>
  void bindOne(int index, const Nullable& text, Lifetime lifetime) noexcept {
    if (text)
      bindOne(index, std::string_view(*text), lifetime);
    else
      bindOne(index, nullptr, lifetime);
  }
  void note(int code) noexcept {
    if (code_ == SQLITE_OK) code_ = code;
  }

  sqlite3* db_;
  sqlite3_stmt* statement_;
  int code_;
};

class Connection {
 public:
  /// Opens the file and makes sure that its schema is the one this build knows: creates both where allowed, and brings
  /// forward what an earlier version has made where `older` says so.
  ///
  /// Errors:  notFound              absent, and not to be created
  ///          configurationRefused  network file system, unsafe journal, another schema or text encoding
  ///          permissionDenied      the file or its directory is read-only
  ///          fenceLost             Tenure's tables are there but the fence's is not
  ///          storeBusy, storeFull, storeFailed, unavailable
  /// `whenBusy` is asked when the lock was not had within the limit: true waits once more.
  static Result<std::unique_ptr<Connection>> open(const Options& options, std::function<bool()> whenBusy = {},
                                                  OlderSchema older = OlderSchema::refuse);
  /// Only reads, whatever the file is: no setting is changed, no schema asked for, and no file made beside it.
  static Result<std::unique_ptr<Connection>> look(const Options& options);
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  /// Each text is prepared once a connection.
  template <class... Values>
  Query query(std::string_view sql, const Values&... values) {
    Query query = prepare(sql);
    query.bind(values...);
    return query;
  }
  /// Runs a statement that returns no rows; how many rows it changed.
  template <class... Values>
  Result<int> change(std::string_view sql, const Values&... values) {
    Query query = prepare(sql);
    const Result<bool> done = query.borrow(values...).next();
    if (!done) return done.error();
    return sqlite3_changes(db_);
  }
  template <class... Values>
  Result<void> run(std::string_view sql, const Values&... values) {
    const Result<int> changed = change(sql, values...);
    if (!changed) return changed.error();
    return {};
  }
  /// Several statements at once, without values.
  Result<void> script(const char* sql);

  /// From now on each statement that reads outside a transaction ends with timedOut after this long: readers keep a
  /// leader from its commit.
  void limitLooks(std::chrono::milliseconds limit) noexcept;

  void whenBusy(std::function<bool()> ask) { lockWait_.whenOver(std::move(ask)); }
  void limitLockWait(std::chrono::milliseconds limit) noexcept { lockWait_.limit(limit); }
  /// Another file has its name now, or none.
  bool hasMoved() const noexcept;
  /// hasMoved() as placeReplaced.
  Result<void> checkPlace() const;
  /// Begins a transaction with the lock to write. A file that another program has put into WAL mode leaves it first.
  ///
  /// Errors:  placeReplaced, storeBusy, storeFailed, unavailable
  ///          storeBusy                           keptInWal() as well, while the other program has the file open
  Result<void> lock();
  /// After a read: another process may have converted the file.
  bool isInWal();
  /// For one that only reads for long: a connection in WAL mode keeps others from leaving it. Errors as lock().
  Result<void> leaveStrangersWal();
  bool inTransaction() const noexcept { return sqlite3_get_autocommit(db_) == 0; }
  /// `mayWait`: asked each time that readers have blocked the COMMIT for the lock limit; true tries it again. The
  /// transaction stays open meanwhile.
  ///
  /// Errors:  storeBusy, storeFull, storeFailed, placeReplaced   not committed
  ///          commitRefused                       against a rule that is checked at its end
  ///          outcomeUnknown                      an I/O error at a point where it may have been
  Result<void> commit(const std::function<bool()>& mayWait = {});
  /// Harmless when there is none.
  void rollback() noexcept;

  /// On while it lives.
  class Mode {
   public:
    ~Mode() { flag_ = false; }
    Mode(const Mode&) = delete;
    Mode& operator=(const Mode&) = delete;

   protected:
    explicit Mode(bool& flag) noexcept : flag_(flag) { flag_ = true; }

   private:
    bool& flag_;
  };
  /// What is prepared and run is a user's SQL: no transaction control, no other files, no pragmas, no writes to
  /// Tenure's own tables.
  struct UserMode : Mode {
    explicit UserMode(Connection& connection) noexcept : Mode(connection.userMode_) {}
  };
  /// Statements are compiled and not run: each answers like one that has found and changed nothing.
  struct Rehearsal : Mode {
    explicit Rehearsal(Connection& connection) noexcept : Mode(connection.rehearses_) {}
  };

  sqlite3* handle() const noexcept { return db_; }
  /// A user's statements, apart from our own: those were compiled with more rights.
  StatementCache& userStatements() noexcept { return userStatements_; }
  const std::filesystem::path& file() const noexcept { return file_; }

 private:
  Connection(sqlite3* db, const std::filesystem::path& file, const Options& options);
  Query prepare(std::string_view sql);
  static int onProgress(void* connection) noexcept;
  Result<void> configure(const JournalPlan& plan);
  void setUp() noexcept;
  Result<void> leaveWal();
  Result<void> reopen();

  sqlite3* db_;
  JournalPlan plan_ = journalPlan(sqlite3_libversion_number());
  bool isReopened_ = false;  // and nothing was set since: even that would take a lock
  std::filesystem::path file_;
  LockWait lockWait_;
  StatementCache statements_;
  StatementCache userStatements_;
  const bool foreignKeys_;
  bool userMode_ = false;
  bool rehearses_ = false;
  Duration lookLimit_{};  // zero: none
  BootTime looksUntil_{};
};

}  // namespace tenure::sqlite
