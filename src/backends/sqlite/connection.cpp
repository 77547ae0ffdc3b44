#include "backends/sqlite/connection.hpp"

#include <sqlite3.h>
#include <strings.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <string_view>
#include <thread>

#include "backends/sqlite/file_system.hpp"
#include "backends/sqlite/lock_holder.hpp"
#include "backends/sqlite/schema.hpp"

namespace tenure::sqlite {

namespace {

constexpr std::size_t ownStatements = 256;  // more than there are: never makes room
constexpr std::size_t keptUserStatements = 64;

Errc meaningOf(int code) noexcept {
  switch (code & 0xFF) {
    case SQLITE_BUSY:
    case SQLITE_LOCKED: return Errc::storeBusy;
    case SQLITE_FULL: return Errc::storeFull;
    case SQLITE_INTERRUPT: return Errc::timedOut;
    case SQLITE_READONLY:
    case SQLITE_PERM: return Errc::permissionDenied;
    case SQLITE_IOERR:
    case SQLITE_NOMEM:
    case SQLITE_CANTOPEN: return Errc::unavailable;
    case SQLITE_NOTADB: return Errc::configurationRefused;
    default: return Errc::storeFailed;
  }
}

/// As SQLite takes a file's name that is followed by parameters.
std::string uriOf(const std::filesystem::path& file) {
  std::string uri = "file:";
  for (const char c : file.string()) {
    if (c == '%')
      uri += "%25";
    else if (c == '?')
      uri += "%3f";
    else if (c == '#')
      uri += "%23";
    else
      uri += c;
  }
  return uri;
}

Error cannotOpen(const Options& options, sqlite3* db, int code) {
  std::error_code ignored;
  if (!options.create && !std::filesystem::exists(options.file, ignored))
    return {Errc::notFound, options.file.string() + " does not exist"};
  return errorOf(db, code);
}

}  // namespace

// Read through SQLite's own descriptors. To close one of ours would end all POSIX locks of this process on the file,
// and with them the transactions of its other connections.
bool isInWalMode(const std::filesystem::path& file) {
  constexpr std::size_t readVersionAt = 19;
  std::array<char, readVersionAt + 1> header{};
  const std::string uri = uriOf(file) + "?mode=ro&immutable=1";  // opens no log and takes no lock
  constexpr int flags = SQLITE_OPEN_READONLY | SQLITE_OPEN_URI | SQLITE_OPEN_NOMUTEX;
  sqlite3* db = nullptr;
  sqlite3_file* opened = nullptr;
  const bool isRead = sqlite3_open_v2(uri.c_str(), &db, flags, nullptr) == SQLITE_OK &&
                      sqlite3_file_control(db, "main", SQLITE_FCNTL_FILE_POINTER, &opened) == SQLITE_OK &&
                      opened->pMethods->xRead(opened, header.data(), header.size(), 0) == SQLITE_OK;
  sqlite3_close(db);
  return isRead && header[readVersionAt] == 2;
}

Error errorOf(sqlite3* db, int code) {
  const char* file = db == nullptr ? nullptr : sqlite3_db_filename(db, "main");
  std::string detail = file == nullptr ? "" : std::string(file) + ": ";
  detail += db == nullptr ? sqlite3_errstr(code) : sqlite3_errmsg(db);
  const int systemError = db == nullptr ? 0 : sqlite3_system_errno(db);
  const int kind = code & 0xFF;
  if (systemError != 0 && (kind == SQLITE_IOERR || kind == SQLITE_CANTOPEN))
    detail += std::string(" (") + std::strerror(systemError) + ")";
  if (kind == SQLITE_INTERRUPT) detail += ": a look that takes longer would keep a leader from its commit";
  if (kind == SQLITE_BUSY && file != nullptr)
    if (const auto holder = lockHolder(file)) detail += ", held by process " + std::to_string(*holder);
  return {meaningOf(code), std::move(detail)};
}

int Query::step() noexcept {
  if (code_ == SQLITE_OK || code_ == SQLITE_ROW) code_ = sqlite3_step(statement_);
  return code_;
}

Result<bool> Query::next() {
  const int code = step();
  if (code == SQLITE_ROW) return true;
  if (code == SQLITE_DONE) return false;
  return errorOf(db_, code);
}

std::string_view Query::bytes(int column) const noexcept {
  const void* data = sqlite3_column_blob(statement_, column);
  const auto size = static_cast<std::size_t>(sqlite3_column_bytes(statement_, column));
  return data == nullptr ? std::string_view{} : std::string_view{static_cast<const char*>(data), size};
}

Connection::Connection(sqlite3* db, const std::filesystem::path& file, const Options& options)
    : db_(db),
      file_(file),
      lockWait_(options.lockLimit),
      statements_(ownStatements),
      userStatements_(keptUserStatements),
      foreignKeys_(options.foreignKeys) {
  setUp();
}

void Connection::setUp() noexcept {
  sqlite3_extended_result_codes(db_, 1);
  sqlite3_busy_handler(db_, &LockWait::onBusy, &lockWait_);
  sqlite3_db_config(db_, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
  sqlite3_db_config(db_, SQLITE_DBCONFIG_ENABLE_FKEY, foreignKeys_ ? 1 : 0, nullptr);
  // Installed once: setting it expires every prepared statement.
  sqlite3_set_authorizer(db_, &authorize, &userMode_);
}

Connection::~Connection() {
  statements_.clear();
  userStatements_.clear();
  sqlite3_close(db_);
}

Result<std::unique_ptr<Connection>> Connection::open(const Options& options, std::function<bool()> whenBusy,
                                                     OlderSchema older) {
  // Absolute, because SQLite gives ":memory:" and the empty name meanings of their own.
  Options at = options;
  at.file = std::filesystem::absolute(options.file);
  if (const Result<void> local = requireLocalFileSystem(at.file); !local) return local.error();
  const int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | (options.create ? SQLITE_OPEN_CREATE : 0);
  sqlite3* db = nullptr;
  if (const int code = sqlite3_open_v2(at.file.c_str(), &db, flags, nullptr); code != SQLITE_OK) {
    Error error = cannotOpen(at, db, code);
    sqlite3_close(db);
    return error;
  }
  std::unique_ptr<Connection> connection(new Connection(db, at.file, options));
  connection->whenBusy(std::move(whenBusy));
  if (sqlite3_db_readonly(db, "main") == 1)
    return Error{Errc::permissionDenied, at.file.string() + " is read-only for this process"};
  const Result<bool> marked = isForSenders(*connection);
  if (!marked) return marked.error();
  const JournalPlan plan = journalPlan(sqlite3_libversion_number(), options.senders || *marked);
  if (const Result<void> configured = connection->configure(plan); !configured) return configured.error();
  const Result<void> schema = ensureSchema(*connection, options.create, older);
  if (!schema) return schema.error();
  if (options.senders && options.create && !*marked)
    if (const Result<void> remembered = markForSenders(*connection); !remembered) return remembered.error();
  return connection;
}

Result<std::unique_ptr<Connection>> Connection::look(const Options& options) {
  const std::filesystem::path file = std::filesystem::absolute(options.file);
  std::error_code ignored;
  // Reading a file in WAL mode would create a missing log. While the log is missing, no process writes.
  const bool alone = isInWalMode(file) && !std::filesystem::exists(file.string() + "-wal", ignored);
  const std::string uri = uriOf(file) + (alone ? "?mode=ro&immutable=1" : "?mode=ro");
  sqlite3* db = nullptr;
  constexpr int flags = SQLITE_OPEN_READONLY | SQLITE_OPEN_URI | SQLITE_OPEN_NOMUTEX;
  if (const int code = sqlite3_open_v2(uri.c_str(), &db, flags, nullptr); code != SQLITE_OK) {
    Error error = errorOf(db, code);
    sqlite3_close(db);
    return error;
  }
  return std::unique_ptr<Connection>(new Connection(db, file, options));
}

Error keptInWal(const std::filesystem::path& file) {
  const std::optional<pid_t> keeper = walKeeper(file);
  const std::string by = keeper ? "process " + std::to_string(*keeper) : "another program";
  return {Errc::storeBusy, file.string() + ": " + by + " keeps it in WAL mode, which SQLite " + sqlite3_libversion() +
                               " can damage: it may set no journal_mode; the mode is left once it has closed the file"};
}

Result<void> Connection::configure(const JournalPlan& plan) {
  plan_ = plan;
  Query mode = query(plan.bearsWal && isInWalMode(file_) ? "PRAGMA journal_mode"
                                                         : "PRAGMA journal_mode=" + std::string(plan.mode));
  const Result<bool> answered = mode.next();
  if (!answered)
    return answered.error().is(Errc::storeBusy) && isInWalMode(file_) ? keptInWal(file_) : answered.error();
  if (mode.bytes(0) != plan.mode && !(plan.bearsWal && mode.bytes(0) == "wal"))
    return Error{Errc::configurationRefused, file_.string() + " stays in journal mode " + mode.text(0) +
                                                 ", but SQLite " + sqlite3_libversion() + " needs " +
                                                 std::string(plan.mode) + " to be safe"};
  Query encoding = query("PRAGMA encoding");
  const Result<bool> encoded = encoding.next();
  if (!encoded) return encoded.error();
  if (encoding.bytes(0) != "UTF-8")
    return Error{Errc::configurationRefused, file_.string() + " has text encoding " + encoding.text(0) +
                                                 ", but ids need UTF-8 to keep their bytes"};
  return run("PRAGMA synchronous=" + std::string(plan.synchronous));
}

bool Connection::hasMoved() const noexcept {
  int moved = 0;
  if (sqlite3_file_control(db_, "main", SQLITE_FCNTL_HAS_MOVED, &moved) != SQLITE_OK || moved != 0) return true;
  std::error_code gone;  // SQLite looks where a link has led to when it was opened
  return !std::filesystem::equivalent(file_, sqlite3_db_filename(db_, "main"), gone);
}

Result<void> Connection::checkPlace() const {
  if (!hasMoved()) return {};
  return Error{Errc::placeReplaced, file_.string() + " is another file now, or gone"};
}

Result<void> Connection::lock() {
  if (isReopened_)
    if (Result<void> set = run("PRAGMA synchronous=" + std::string(plan_.synchronous)); !set) return set;
  isReopened_ = false;
  for (bool hasLeft = false;; hasLeft = true) {
    if (Result<void> begun = run("BEGIN IMMEDIATE"); !begun) return begun;
    Result<void> same = checkPlace();
    if (same && (plan_.bearsWal || !isInWal())) return same;
    rollback();
    if (!same) return same;
    if (hasLeft) return keptInWal(file_);
    if (Result<void> left = leaveWal(); !left) return left;
  }
}

/// Works where no other connection is open. One that was in WAL mode keeps others from leaving it, so that ours is
/// opened anew, and touches the file again only with the next transaction.
Result<void> Connection::leaveWal() {
  constexpr std::chrono::milliseconds patience{50};
  const Duration usual = lockWait_.limit();
  lockWait_.limit(patience);
  Result<void> left = run("PRAGMA journal_mode=" + std::string(plan_.mode));
  lockWait_.limit(usual);
  if (left && !isInWal()) return {};
  const Error why = keptInWal(file_);
  if (Result<void> anew = reopen(); !anew) return anew;
  return why;
}

Result<void> Connection::leaveStrangersWal() {
  if (plan_.bearsWal || inTransaction() || !isInWal()) return {};
  Result<void> locked = lock();
  rollback();
  return locked;
}

Result<void> Connection::reopen() {
  statements_.clear();
  userStatements_.clear();
  sqlite3* db = nullptr;
  if (const int code = sqlite3_open_v2(file_.c_str(), &db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, nullptr);
      code != SQLITE_OK) {
    Error error = errorOf(db, code);
    sqlite3_close(db);
    return error;
  }
  sqlite3_close(std::exchange(db_, db));
  setUp();
  if (lookLimit_ > Duration{}) limitLooks(std::chrono::floor<std::chrono::milliseconds>(lookLimit_));
  isReopened_ = true;
  return {};
}

bool Connection::isInWal() {
  Query mode = query("PRAGMA journal_mode");
  const Result<bool> answered = mode.next();
  return !answered || mode.bytes(0) == "wal";
}

void Connection::limitLooks(std::chrono::milliseconds limit) noexcept {
  constexpr int stepsBetween = 10'000;  // some hundred microseconds
  lookLimit_ = limit;
  sqlite3_progress_handler(db_, stepsBetween, &Connection::onProgress, this);
}

int Connection::onProgress(void* connection) noexcept {
  const auto* self = static_cast<const Connection*>(connection);
  return !self->inTransaction() && BootClock::now() > self->looksUntil_ ? 1 : 0;
}

Query Connection::prepare(std::string_view sql) {
  if (lookLimit_ > Duration{}) looksUntil_ = BootClock::now() + lookLimit_;
  const int compiled = rehearses_ ? SQLITE_DONE : SQLITE_OK;
  if (const Prepared* known = statements_.find(sql)) return {db_, known->statement, compiled};
  sqlite3_stmt* statement = nullptr;
  const int code =
      sqlite3_prepare_v3(db_, sql.data(), static_cast<int>(sql.size()), SQLITE_PREPARE_PERSISTENT, &statement, nullptr);
  if (code == SQLITE_OK) statements_.keep(sql, statement);
  return {db_, statement, code == SQLITE_OK ? compiled : code};
}

Result<void> Connection::script(const char* sql) {
  const int code = sqlite3_exec(db_, sql, nullptr, nullptr, nullptr);
  if (code != SQLITE_OK) return errorOf(db_, code);
  return {};
}

Result<void> Connection::commit(const std::function<bool()>& mayWait) {
  if (Result<void> same = checkPlace(); !same) {
    rollback();
    return same;
  }
  int code = prepare("COMMIT").step();
  while ((code & 0xFF) == SQLITE_BUSY && mayWait && mayWait()) code = prepare("COMMIT").step();
  if (code == SQLITE_DONE) return {};
  Error error = errorOf(db_, code);
  rollback();
  switch (code & 0xFF) {
    case SQLITE_BUSY:
    case SQLITE_FULL:  // the journal was not given up yet: it undoes what was written
    case SQLITE_ERROR: return error;
    // A user's deferred foreign key: the store is well, the writes are not.
    case SQLITE_CONSTRAINT: return Error{Errc::commitRefused, error.detail};
    default: return Error{Errc::outcomeUnknown, error.detail};
  }
}

void Connection::rollback() noexcept {
  if (inTransaction()) prepare("ROLLBACK").step();
}

namespace {

bool isOurs(const char* table) noexcept {
  constexpr std::string_view prefix = "tenure_";
  return table != nullptr && strncasecmp(table, prefix.data(), prefix.size()) == 0;
}

}  // namespace

int authorize(void* userMode, int action, const char* first, const char* second, const char*, const char*) noexcept {
  if (!*static_cast<const bool*>(userMode)) return SQLITE_OK;
  switch (action) {
    case SQLITE_TRANSACTION:
    case SQLITE_SAVEPOINT:
    case SQLITE_ATTACH:
    case SQLITE_DETACH:
    case SQLITE_PRAGMA: return SQLITE_DENY;
    // The table is the first argument here …
    case SQLITE_INSERT:
    case SQLITE_UPDATE:
    case SQLITE_DELETE:
    case SQLITE_CREATE_TABLE:
    case SQLITE_CREATE_TEMP_TABLE:
    case SQLITE_CREATE_VIEW:
    case SQLITE_CREATE_TEMP_VIEW:
    case SQLITE_CREATE_VTABLE:
    case SQLITE_DROP_TABLE:
    case SQLITE_DROP_VTABLE: return isOurs(first) ? SQLITE_DENY : SQLITE_OK;
    // … and the second here, after the name of an index, a trigger or a database.
    case SQLITE_ALTER_TABLE:
    case SQLITE_CREATE_INDEX:
    case SQLITE_CREATE_TEMP_INDEX:
    case SQLITE_CREATE_TRIGGER:
    case SQLITE_CREATE_TEMP_TRIGGER:
    case SQLITE_DROP_INDEX:
    case SQLITE_DROP_TRIGGER: return isOurs(second) ? SQLITE_DENY : SQLITE_OK;
    default: return SQLITE_OK;
  }
}

using namespace std::chrono_literals;

int LockWait::onBusy(void* self, int tries) noexcept {
  LockWait& wait = *static_cast<LockWait*>(self);
  BootTime now = BootClock::now();
  if (tries == 0) wait.deadline_ = now + wait.limit_;
  if (now >= wait.deadline_) {
    if (!wait.ask_ || !wait.ask_()) return 0;
    now = BootClock::now();
    wait.deadline_ = now + wait.limit_;
  }
  constexpr Duration step = 25us;
  constexpr Duration longest = 400us;
  std::this_thread::sleep_for(std::min<Duration>({step * (std::min(tries, 100) + 1), longest, wait.deadline_ - now}));
  return 1;
}

}  // namespace tenure::sqlite
