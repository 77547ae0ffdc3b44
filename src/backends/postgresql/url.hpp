/// What a URL of this scheme sets: from its parts to the backend's options. A parameter is a row (urls/option.hpp),
/// which makes its line of `tenure urls`, of the manual and of docs/reference as well.
///
/// Errors:  invalidArgument  a part that is missing, out of place, or not what its parameter takes; the detail names
/// the
///          part and says what was expected
#pragma once

#include "tenure/postgresql.hpp"
#include "urls/url.hpp"

namespace tenure::urls {

/// postgresql://[USER@][HOST][:PORT]/DATABASE
Result<postgresql::Options> postgresqlOptions(const Url& url);
Options parametersOf(postgresql::Options& options);

}  // namespace tenure::urls
