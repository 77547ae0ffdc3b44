#include "backends/sqlite/open_file.hpp"

#include <unistd.h>

#include <functional>

#include "backends/sqlite/connection.hpp"
#include "backends/sqlite/file_system.hpp"
#include "backends/sqlite/lock_holder.hpp"
#include "backends/sqlite/schema.hpp"
#include "backends/sqlite/user_sql.hpp"

namespace tenure::sqlite {
namespace {

constexpr std::chrono::milliseconds patience{50};

/// Of a file that we may read and write, when a leader holds its lock, or has left a journal behind that only somebody
/// who may write can undo.
bool isPassing(const Error& error) noexcept {
  return error.is(Errc::storeBusy) || error.is(Errc::permissionDenied) || error.is(Errc::unavailable);
}

Result<void> mayUse(const std::filesystem::path& path) {
  if (::access(path.c_str(), R_OK | W_OK) == 0) return {};
  return Error{Errc::permissionDenied, path.string() + " cannot be written to by this process"};
}

Result<void> looking(const Options& options, const std::function<Result<void>(Connection&)>& look) {
  const std::filesystem::path file = std::filesystem::absolute(options.file);
  if (const Result<void> local = requireLocalFileSystem(file); !local) return local;
  if (const Result<void> folder = mayUse(file.parent_path()); !folder) return folder;
  std::error_code ignored;
  if (!std::filesystem::exists(file, ignored))
    return options.create ? Result<void>{} : Error{Errc::notFound, file.string() + " does not exist"};
  if (const Result<void> usable = mayUse(file); !usable) return usable;
  Options patient = options;
  patient.lockLimit = patience;
  const Result<std::unique_ptr<Connection>> connection = Connection::look(patient);
  if (!connection) return connection.error();
  Result<void> looked = look(**connection);
  return !looked && isPassing(looked.error()) ? Result<void>{} : looked;
}

/// Whether the next leader could take the file out of WAL mode; why not, where it could not.
std::optional<Error> lookAtJournal(const Connection& connection) {
  const bool isRefused = !journalPlan(sqlite3_libversion_number()).bearsWal && isInWalMode(connection.file());
  if (!isRefused || !walKeeper(connection.file())) return std::nullopt;
  return keptInWal(connection.file());
}

}  // namespace

Result<void> lookAsStandby(const Options& options) {
  std::optional<Error> kept;  // a lock that does not pass by itself
  const Result<void> looked = looking(options, [&](Connection& connection) {
    kept = lookAtJournal(connection);
    return lookAtSchema(connection, options.create);
  });
  return looked && kept ? Result<void>(*kept) : looked;
}

Result<void> checkUserSql(const Options& options, std::string_view sql, std::span<const SqlParameter> parameters) {
  return looking(options, [&](Connection& connection) { return checkUserSql(connection, sql, parameters); });
}

}  // namespace tenure::sqlite
