/// The file that a URL's password-file names. Its backend reads it at each connection; a slip in the name must not wait
/// until an office is won and a fence claimed.
#pragma once

#include <filesystem>

#include "tenure/result.hpp"

namespace tenure::cli {

/// Nothing to complain about when no file is named. A pipe is not read: that would empty it.
/// Errors:  configurationRefused  cannot be read, or its first line is empty
Result<void> checkPasswordFile(const std::filesystem::path& file);

}  // namespace tenure::cli
