/// What a file says of itself to `tenure check`. It is never made, and a leader that works on it is not held up for
/// longer than a moment.
#pragma once

#include "tenure/sqlite.hpp"

namespace tenure::sqlite {

/// Errors:  storeBusy, storeFailed, unavailable   the file cannot be read
Result<Findings> inspect(const Options& options);

}  // namespace tenure::sqlite
