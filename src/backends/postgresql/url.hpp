/// What a URL of this scheme sets (places/url.hpp).
#pragma once

#include "places/url.hpp"
#include "tenure/postgresql.hpp"

namespace tenure::places {

/// postgresql://[USER@][HOST[:PORT][,HOST[:PORT]…]]/DATABASE
Result<postgresql::Options> postgresqlOptions(const Url& url);
Options parametersOf(postgresql::Options& options);

}  // namespace tenure::places
