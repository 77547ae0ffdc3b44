/// What a standby may do with the file while another process leads: look whether it could be used. It opens it for
/// reading, for a moment, and waits for no lock: nothing is made, written, recovered or checkpointed.
#pragma once

#include <span>
#include <string_view>

#include "tenure/spi/store.hpp"
#include "tenure/sqlite.hpp"

namespace tenure::sqlite {

/// Whether a leader could open the file here.
///
/// Errors:  as Connection::open. What a lock or an unfinished journal hides is no error.
Result<void> lookAsStandby(const Options& options);

/// Whether it could run a user's statement. Errors as ISqlStatements::check.
Result<void> checkUserSql(const Options& options, std::string_view sql, std::span<const SqlParameter> parameters);

}  // namespace tenure::sqlite
