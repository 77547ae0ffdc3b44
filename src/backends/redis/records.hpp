/// How the streams and hashes of a queue are written and read: messages, dead letters, attempts. Pure.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "backends/redis/reply.hpp"
#include "backends/redis/write_set.hpp"
#include "tenure/admin.hpp"
#include "tenure/store.hpp"

namespace tenure::redis {

/// The entry of a stream, [id, [name, value, …]]; its number is its position. Errors: storeFailed.
Result<Message> messageFrom(ReplyView entry);
/// A dead letter and whose it is.
struct Letter {
  DeadLetter letter;
  ConsumerName consumer;
};
/// Errors: storeFailed.
Result<Letter> letterFrom(ReplyView entry);
LetterValues letterValues(const ConsumerName& consumer, const DeadLetter& letter);

/// Errors: storeFailed.
Result<LogLine> logLineFrom(const ConsumerName& consumer, ReplyView entry);
/// The entries of these messages, a blank behind each: as many as may be make one argument, where a command takes a
/// million at most.
std::string entriesOf(std::span<const Message> messages);

std::string attemptField(const ConsumerName& consumer, const MessageId& id);
/// Errors: storeFailed.
Result<std::vector<FailingMessage>> failingFrom(ReplyView hash);
/// Those of `consumer` in the whole hash. Errors: storeFailed.
Result<std::vector<AttemptRecord>> attemptsFrom(ReplyView hash, const ConsumerName& consumer);

}  // namespace tenure::redis
