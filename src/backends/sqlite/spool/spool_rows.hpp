/// A spool's tables: those of a queue (schema.hpp), and beside them
///
///   tenure_spool            one row: that the file is a spool, how much waits in it, and how much was refused
///   tenure_spool_time       when messages are to come to their queue, of those that have a time
///   tenure_spool_refused    messages that a queue has refused for what they are
///   tenure_spool_followed   up to where files were sent
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

#include "backends/sqlite/connection.hpp"
#include "backends/sqlite/spool/spool_place.hpp"
#include "tenure/spi/spool.hpp"

namespace tenure::sqlite {

/// A spool's open file. No other connection, of this process or another, has it open.
struct SpoolFile {
  SpoolPlace place;
  std::unique_ptr<Connection> connection;
  std::int64_t queue = 0;  // its number
};

/// How many bytes of a message's row count for the spool's limit, whether the message waits or was refused.
inline constexpr std::string_view sizeInRow = "(length(body) + coalesce(length(CAST(headers AS BLOB)), 0))";

/// Commits what `work` has written, unless it fails.
template <class Work>
Result<void> inTransaction(Connection& connection, const Work& work) {
  if (const Result<void> begun = connection.run("BEGIN IMMEDIATE"); !begun) return begun;
  Result<void> done = work();
  if (done) done = connection.commit();
  if (!done) connection.rollback();
  return done;
}

/// The file into which a damaged spool is saved. It is renamed to the spool's own name when it is complete.
std::filesystem::path replacementOf(const std::filesystem::path& file);

/// Where the file is absent and its replacement is there, that takes its place first.
///
/// Errors: as openSpool().
Result<SpoolFile> openSpoolFile(const SpoolOptions& options);

/// Whether the file, which could not be opened or used for that, is damaged rather than something else.
bool isDamaged(const std::filesystem::path& file, const Error& error);
/// Whether salvage() met a file that cannot be read for its damage. Otherwise nothing is known of it: it is busy, or
/// the disk is full or away.
bool cannotBeSaved(const Error& error);
/// Renames the damaged file and its journals; the file's new name. Errors: unavailable.
Result<std::filesystem::path> setAside(const std::filesystem::path& file);
struct Salvaged {
  std::size_t messages = 0;  // that wait in the new file
  std::string lost{};        // for the event: what else could not be saved; each part begins with "; "
};
/// Copies the readable messages of a damaged file to a new one, in order. A message whose time may be lost is left out,
/// because it would be sent early.
Result<Salvaged> salvage(const std::filesystem::path& from, SpoolFile& to);

}  // namespace tenure::sqlite
