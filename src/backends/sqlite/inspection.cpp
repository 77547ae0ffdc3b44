#include "backends/sqlite/inspection.hpp"

#include <unistd.h>

#include "backends/shared/inspection.hpp"
#include "backends/sqlite/fence_rows.hpp"
#include "backends/sqlite/file_system.hpp"
#include "backends/sqlite/schema.hpp"

namespace tenure::sqlite {
namespace {

using backends::Inspection;

bool mayWrite(const std::filesystem::path& path) noexcept { return ::access(path.c_str(), W_OK) == 0; }

void lookAtPlace(const std::filesystem::path& file, bool exists, Inspection& found) {
  const Result<void> local = requireLocalFileSystem(file);
  found.require(local.has_value(), "file system", local ? "local" : "unfit", local ? "" : local.error().detail);
  const std::filesystem::path folder = file.parent_path();
  found.require(mayWrite(folder), "folder", folder.string(), "a folder that we may write to, for the journal");
  if (exists) return found.require(mayWrite(file), "file", file.string(), "a file that we may write to");
  found.fact("file", "absent", "the first producer or leader makes it");
}

Result<std::string> ask(Connection& connection, std::string_view question) {
  Query answer = connection.query(question);
  const Result<bool> row = answer.next();
  if (!row) return row.error();
  return *row ? answer.text(0) : std::string();
}

Result<void> lookAtJournal(Connection& connection, const Options& options, Inspection& found) {
  const Result<bool> marked = isForSenders(connection);
  if (!marked) return marked.error();
  const JournalPlan plan = journalPlan(sqlite3_libversion_number(), options.senders || *marked);
  // A rollback journal's kind is each connection's own business; WAL is the file's.
  const bool isWal = isInWalMode(connection.file());
  const bool isPlanned = isWal == (plan.mode == "wal") || (isWal && plan.bearsWal);
  found.expectSafe(isPlanned, "journal_mode", isWal ? "wal" : "a rollback journal",
                   "the next leader changes it to " + std::string(plan.mode) +
                       ", for which it must be alone: a program that shares the file may set no journal_mode");
  found.fact("synchronous", std::string(plan.synchronous), "set by each of our connections");
  if (*marked) found.fact("senders", "other programs write this file", "it stays in a rollback journal");
  return {};
}

Result<bool> hasOurEncoding(Connection& connection, Inspection& found) {
  Result<std::string> encoding = ask(connection, "PRAGMA encoding");
  if (!encoding) return encoding.error();
  std::erase(*encoding, '\0');  // text comes in the file's encoding
  found.require(*encoding == "UTF-8", "encoding", *encoding, "UTF-8: ids need it to keep their bytes");
  return *encoding == "UTF-8";
}

Result<void> lookAtContents(Connection& connection, Inspection& found) {
  constexpr std::uintmax_t readSoon = 64U << 20U;  // reading holds up commits
  std::error_code ignored;
  if (std::filesystem::file_size(connection.file(), ignored) > readSoon) {
    found.fact("quick_check", "left out", "the file is large: run `PRAGMA quick_check` while nobody leads");
    return {};
  }
  const Result<std::string> check = ask(connection, "PRAGMA quick_check(1)");
  if (!check) return check.error();
  found.require(*check == "ok", "quick_check", *check, "ok: restore the file from a backup");
  return {};
}

Result<void> lookAtQueue(Connection& connection, const Options& options, Inspection& found) {
  const Result<Queue> queue = readQueue(connection, whichQueue(options));
  if (!queue && !queue.error().is(Errc::notFound)) return queue.error();
  if (!queue)
    found.fact("queue", "absent", "the first producer or leader makes it");
  else
    found.fact("queue", queue->owner.election.empty() ? "of no election yet" : "of election " + queue->owner.election);
  const auto fences = readFences(connection);
  if (!fences) return fences.error();
  for (const StoredFence& fence : *fences)
    found.require(fence.damage.empty(), "fence of " + fence.row.election.value, backends::described(fence.row),
                  "a sound row; " + fence.damage);
  return {};
}

Result<void> lookAtTables(Connection& connection, const Options& options, Inspection& found) {
  const Result<void> schema = ensureSchema(connection, false);
  if (!schema && schema.error().is(Errc::notFound)) {
    found.fact("schema", "absent", "the first producer or leader makes it");
    return {};
  }
  found.require(schema.has_value(), "schema", schema ? "as this build knows it" : "unfit",
                schema ? "" : "the tables of this build; " + schema.error().detail);
  return schema ? lookAtQueue(connection, options, found) : Result<void>{};
}

}  // namespace

Result<Findings> inspect(const Options& options) {
  const std::filesystem::path file = std::filesystem::absolute(options.file);
  std::error_code ignored;
  const bool exists = std::filesystem::exists(file, ignored);
  Inspection found;
  found.fact("SQLite", sqlite3_libversion());
  lookAtPlace(file, exists, found);
  if (!exists) return found.take();
  const Result<std::unique_ptr<Connection>> connection = Connection::look(options);
  if (!connection) return connection.error();
  if (const Result<void> looked = lookAtJournal(**connection, options, found); !looked) return looked.error();
  const Result<bool> readable = hasOurEncoding(**connection, found);
  if (!readable) return readable.error();
  if (!*readable) return found.take();
  Result<void> looked = lookAtContents(**connection, found);
  if (looked) looked = lookAtTables(**connection, options, found);
  if (!looked) return looked.error();
  return found.take();
}

}  // namespace tenure::sqlite
