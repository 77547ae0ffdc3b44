/// Where ZooKeeper's digest comes from.
#pragma once

#include <filesystem>

#include "tenure/result.hpp"
#include "tenure/values.hpp"

namespace tenure::places {

/// ZooKeeper's user:password: the file's only line, or without a file TENURE_DIGEST; empty where neither is.
/// Errors: unavailable, invalidArgument; they never repeat it.
Result<Secret> digestFrom(const std::filesystem::path& file);

}  // namespace tenure::places
