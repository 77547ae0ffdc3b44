/// Numbers messages within their groups, in the transaction that stores them.
#pragma once

#include <span>
#include <vector>

#include "tenure/message.hpp"
#include "tenure/result.hpp"

namespace tenure::sqlite {

class Connection;

/// Those whose ids were not sent before, each but those without a group with its number in a header. Call it under the
/// write lock: then the next number is nobody else's.
Result<std::vector<NewMessage>> giveNumbers(Connection& connection, std::int64_t queue,
                                            std::span<const NewMessage> messages, WallTime now);

}  // namespace tenure::sqlite
