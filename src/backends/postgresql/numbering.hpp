/// Numbers for messages that came without one, given by the source that reads them.
///
///   BEGIN · the reader's row, with the token (WaitingRoom::hold)
///   the messages that are still as they were read, their groups' counters, their headers, in one statement · COMMIT
#pragma once

#include <deque>

#include "backends/postgresql/connection.hpp"
#include "tenure/message.hpp"

namespace tenure::postgresql {

/// Gives numbers to those of a queue's messages, in its order, that lack them: in their rows, and then here. Ends the
/// transaction in which the reader's row is locked. Who waits for whom is as with appendNumberedTo; of the rows nobody
/// else may have any but an operator.
///
/// False: some are not as they were read. The others have their numbers, and all are to be read again.
///
/// Errors:  unavailable, also where the commit's outcome is unknown: read them again; storeBusy, storeFailed
Result<bool> giveNumbers(Connection& connection, std::int64_t queue, std::deque<Message>& messages);

}  // namespace tenure::postgresql
