/// What a URL of this scheme sets (urls/url.hpp).
#pragma once

#include "tenure/sqlite.hpp"
#include "urls/url.hpp"

namespace tenure::urls {

/// sqlite:PATH
Result<sqlite::Options> sqliteOptions(const Url& url);
Options parametersOf(sqlite::Options& options);

}  // namespace tenure::urls
