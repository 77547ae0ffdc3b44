/// What a server says of itself to `tenure check`. Only commands that read.
#pragma once

#include "tenure/redis.hpp"

namespace tenure::redis {

/// Errors: as Connection::open, except that an unfit server is a finding.
Result<Findings> inspect(const Options& options);

}  // namespace tenure::redis
