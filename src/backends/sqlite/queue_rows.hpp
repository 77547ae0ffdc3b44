/// The rows of queues: what comes to their ends, and what leaves.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "storage/scheduled/waiting_rows.hpp"
#include "tenure/message.hpp"
#include "tenure/result.hpp"

namespace tenure::sqlite {

class Connection;

/// Call it under the write lock: then the next place, and the next number, is nobody else's. With numbers each message
/// gets one within its group, in a header, but those without a group, and what was sent before is left out: how many.
Result<std::size_t> appendTo(Connection& connection, std::int64_t queue, std::span<const NewMessage> messages,
                             bool withNumbers);

/// Gives those of the queue's messages, in its order, numbers that lack them: in their rows, and here. They are there.
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
