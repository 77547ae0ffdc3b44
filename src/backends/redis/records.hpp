/// How the values of a queue's keys are written and read: messages, dead letters, attempts, what is in work. Pure.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "backends/redis/reply.hpp"
#include "backends/redis/write_set.hpp"
#include "tenure/store.hpp"

namespace tenure::redis {

std::string timeText(WallTime at);

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

/// The value of an idempotency key: 'd' (done) or 'x' (dead), then the body's digest.
std::string keyValue(MessageFate fate, const BodyDigest& digest);
/// `stored` is nullopt where there is no key.
Admission admissionOf(const std::optional<std::string>& stored, const BodyDigest& digest);

std::string attemptField(const ConsumerName& consumer, const MessageId& id);
std::string attemptValue(const AttemptRecord& record);
/// Those of `consumer` in the whole hash. Errors: storeFailed.
Result<std::vector<AttemptRecord>> attemptsFrom(ReplyView hash, const ConsumerName& consumer);

struct InWork {
  std::int64_t token = 0;
  bool more = false;
  std::vector<MessageId> ids;
};
std::string inWorkValue(FencingToken token, std::span<const MessageId> ids, bool more);
InWork inWorkFrom(std::string_view value);

}  // namespace tenure::redis
