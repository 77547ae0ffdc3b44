/// Where a password shows in a URL, or in text that quotes one. Who puts one there did not write a sound URL: a raw
/// slash, question mark or hash in it ends what a reader of URLs takes for the authority.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "tenure/result.hpp"
#include "tenure/values.hpp"

namespace tenure::places {

// The files that a URL names for passwords and for TLS. A backend reads them at each connection; a slip in a name must
// not wait until a replica leads and a fence is claimed.

/// Nothing to complain about when no file is named. A pipe is not read: that would empty it.
/// Errors:  configurationRefused  cannot be read, or its first line is empty
Result<void> checkPasswordFile(const std::filesystem::path& file);

/// The same for the password that a URL leaves to an environment variable.
/// Errors:  configurationRefused  neither a file nor the variable is there
Result<void> checkPasswordIsThere(const std::filesystem::path& file, const char* variable);

/// A file in PEM that a URL names for TLS under `name`; nothing to complain about when it names none.
/// Errors:  configurationRefused  cannot be read, or holds nothing in PEM
Result<void> checkTlsFile(std::string_view name, const std::filesystem::path& file);

// Where ZooKeeper's digest comes from.

/// ZooKeeper's user:password: the file's only line, or without a file TENURE_DIGEST; empty where neither is.
/// Errors: unavailable, invalidArgument; they never repeat it.
Result<Secret> digestFrom(const std::filesystem::path& file);

/// Rather too often than too seldom: true for `user:anything@` before the last @ outside a parameter's value, and for
/// `password=` and its like anywhere. An @ that is none of this can be written %40.
bool holdsPassword(std::string_view url) noexcept;

/// Letters, digits and - . _ alone, such as a parameter's name: what may be repeated.
bool isPlainWord(std::string_view text) noexcept;

/// `scheme://user:password@host` becomes `scheme://***@host`, and `password=…` becomes `password=***`, wherever they
/// stand in the text; up to the next space, so that more may go than had to.
std::string withoutSecrets(std::string_view text);

}  // namespace tenure::places
