/// What a URL of this scheme sets (urls/url.hpp).
#pragma once

#include "tenure/postgresql.hpp"
#include "urls/url.hpp"

namespace tenure::urls {

/// postgresql://[USER@][HOST][:PORT]/DATABASE
Result<postgresql::Options> postgresqlOptions(const Url& url);
Options parametersOf(postgresql::Options& options);

}  // namespace tenure::urls
