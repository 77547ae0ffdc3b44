/// The messages of a queue in its table.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "backends/postgresql/session/command.hpp"
#include "storage/waiting_rows.hpp"
#include "tenure/message.hpp"
#include "tenure/result.hpp"

namespace tenure::postgresql {

/// Of a row with n, id, grp, body, headers, enqueued_at. Errors: storeFailed.
Result<Message> messageFrom(const Answer& rows, int row);

/// The ends of a queue.
struct QueuePlace {
  std::int64_t number = 0;
  std::string channel;  // on which appends are told
};

/// The first messages of the queue, but for those at the places that are `taken`.
Command selectFirst(std::int64_t queue, std::span<const std::int64_t> taken, std::size_t max);

/// Appends in one statement. The queue's row is locked only when all messages have reached the server, so that a
/// producer that stops in the middle of sending blocks no other. Errors: invalidArgument, of headers that are not
/// UTF-8.
Result<Command> appendTo(const QueuePlace& queue, std::span<const NewMessage> messages,
                         const storage::DamagedHeaders& damaged = {});
/// The same with numbers; the second column of the answer says how many were left out because their ids were there.
Result<Command> appendNumberedTo(const QueuePlace& queue, std::span<const NewMessage> messages);

/// Wakes the reader of the queue of that name, if the message is due before the reader looks by itself.
Command notifySoon(const std::string& queue, WallTime due);

/// Deletes rows of the table (tenure_sent, tenure_fired) that are older than messages::sentIdsAreKept.
Command forgetOld(const std::string& table, std::int64_t atMost);

/// Now and then, with every so many numbered appends: ids that are too old to be asked about.
inline constexpr std::size_t appendsAForgetting = 64;
Command forgetSentIds();

/// There is at least one position. Bounds are hidden from the planner (row_sets.hpp).
Command deleteByPosition(std::int64_t queue, std::vector<std::int64_t> positions);

}  // namespace tenure::postgresql
