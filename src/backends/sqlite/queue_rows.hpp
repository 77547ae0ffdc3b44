/// The rows of queues: what comes to their ends, and what leaves.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "storage/waiting_rows.hpp"
#include "tenure/message.hpp"
#include "tenure/result.hpp"

namespace tenure::sqlite {

class Connection;

/// Call it under the write lock, so that no other producer gets the same place or number. `withNumbers`: each message
/// of a group gets its number there, in a header; messages sent before are left out. Returns how many were.
Result<std::size_t> appendTo(Connection& connection, std::int64_t queue, std::span<const NewMessage> messages,
                             bool withNumbers);

/// Numbers the messages that lack a number, in the queue's order: in their rows, and here. All must be in the queue.
Result<void> giveNumbers(Connection& connection, std::int64_t queue, std::span<Message> messages);

/// Appends messages whose time has come. Those that are to have numbers get them now.
Result<void> promoteTo(Connection& connection, std::int64_t queue, std::span<const storage::WaitingMessage> messages,
                       WallTime now);

/// Deletes rows of the table (tenure_sent, tenure_fired) that are older than messages::sentIdsAreKept: at most twice as
/// many as are being added, so that they never pile up.
Result<void> forgetOld(Connection& connection, const std::string& table, std::size_t adding, WallTime now);

/// Deletes messages; runs of neighbours at once.
Result<void> deleteByPosition(Connection& connection, std::span<const std::int64_t> positions);

}  // namespace tenure::sqlite
