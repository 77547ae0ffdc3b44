/// Queues and stores are named by URL: `sqlite:orders.db?queue=orders`.
///
///     sqlite:PATH[?queue=NAME][&lock-limit=2s][&evict=yes|no]
///
///   PATH        relative or absolute; % escapes stand for bytes (%3F is a question mark)
///   queue       which queue of the file, like an election's name; "default" when absent
///   lock-limit  how long a claim or commit waits for the file's write lock
///   evict       whether a successor may kill a frozen predecessor that holds the lock
///
/// A scheme or parameter that is not known is refused, and so is a password: it would show in `ps`.
#pragma once

#include <string_view>

#include "tenure/sqlite.hpp"

namespace tenure::cli {

/// Errors:  invalidArgument       cannot be read as such a URL
///          configurationRefused  holds a password
///          unsupported           another scheme
///          The detail says what was expected and never repeats a secret.
Result<sqlite::Options> parseQueueUrl(std::string_view url);

/// The same without `queue`: a store that is claimed for its fence alone.
Result<sqlite::Options> parseStoreUrl(std::string_view url);

}  // namespace tenure::cli
