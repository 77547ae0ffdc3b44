/// What a server and a database say of themselves to `tenure check`. Nothing but SELECTs.
#pragma once

#include "tenure/postgresql.hpp"

namespace tenure::postgresql {

/// Errors: as Connection::open, except that an unsafe server or a replica is a finding.
Result<Findings> inspect(const Options& options);

}  // namespace tenure::postgresql
