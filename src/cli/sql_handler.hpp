/// `tenure consume --sql STATEMENT`: a statement for each message, in the fenced transaction.
#pragma once

#include <string>

#include "tenure/consumer.hpp"

namespace tenure::cli {

/// Runs `statement` with these parameters; those it does not name are ignored.
///
///   :id, :group  text
///   :body        text when it is valid UTF-8 without NUL, else bytes (in SQLite a BLOB, which is unequal to any text)
///   :token       integer, the term's fencing token
///   :attempt     integer, 1 at the first
///
/// What the statement returns is dropped. A failing statement is a failed attempt; a store that is busy, full or away
/// means again later. Throws EndTerm when no message could ever succeed: the store has no SQL, the statement is none
/// that is allowed (not exactly one, or it touches the transaction), or the term is over.
Handler makeSqlHandler(std::string statement);

}  // namespace tenure::cli
