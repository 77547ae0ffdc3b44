/// What a URL of this scheme sets (places/url.hpp).
#pragma once

#include "places/url.hpp"
#include "tenure/sqlite.hpp"

namespace tenure::places {

/// sqlite:PATH
Result<sqlite::Options> sqliteOptions(const Url& url);
Options parametersOf(sqlite::Options& options);

}  // namespace tenure::places
