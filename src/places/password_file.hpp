/// The files that a URL names for passwords and for TLS. A backend reads them at each connection; a slip in a name must
/// not wait until a replica leads and a fence is claimed.
#pragma once

#include <filesystem>
#include <string_view>

#include "tenure/result.hpp"

namespace tenure::places {

/// Nothing to complain about when no file is named. A pipe is not read: that would empty it.
/// Errors:  configurationRefused  cannot be read, or its first line is empty
Result<void> checkPasswordFile(const std::filesystem::path& file);

/// The same for the password that a URL leaves to an environment variable.
/// Errors:  configurationRefused  neither a file nor the variable is there
Result<void> checkPasswordIsThere(const std::filesystem::path& file, const char* variable);

/// A file in PEM that a URL names for TLS under `name`; nothing to complain about when it names none.
/// Errors:  configurationRefused  cannot be read, or holds nothing in PEM
Result<void> checkTlsFile(std::string_view name, const std::filesystem::path& file);

}  // namespace tenure::places
