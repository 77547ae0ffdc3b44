/// The keys of one queue. All carry the queue's name as hash tag, so that a script may touch any of them together.
///
///   tenure:{orders}:queue      hash    election, path: who consumes it · last: the newest position ever
///   tenure:{orders}:messages   stream  <position>-0 → id, group, body, headers, at
///   tenure:{orders}:fence      hash    see fence_hash.hpp
///   tenure:{orders}:dead       stream  <number>-0 → consumer, id, group, body, …
///   tenure:{orders}:attempts   hash    <id> NUL <consumer> → attempts first last error
///   tenure:{orders}:in-work    hash    <consumer> → token more ids
///   tenure:{orders}:key-count  hash    <hour since 1970, or never> → how many idempotency keys expire in it
///   tenure:{orders}:logs       set     the keys of the logs that follow
///   tenure:{orders}:log:<consumer>   stream  id, what: an attempt (Options of the consumer: keepLogFor)
///   tenure:{orders}:state:<election>                       hash of the handlers' own state
///   tenure:{orders}:id:<length of consumer>:<consumer>:<id>  string: what became of a message, expires
///   (Options::keepIdsFor)
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

#include "tenure/ids.hpp"

namespace tenure::redis {

struct Keys {
  explicit Keys(std::string_view queueName)
      : prefix("tenure:{" + std::string(queueName) + "}:"),
        queue(prefix + "queue"),
        messages(prefix + "messages"),
        fence(prefix + "fence"),
        dead(prefix + "dead"),
        attempts(prefix + "attempts"),
        inWork(prefix + "in-work"),
        keyCount(prefix + "key-count"),
        logs(prefix + "logs") {}

  std::string state(const ElectionName& election) const { return prefix + "state:" + election.value; }
  std::string log(const ConsumerName& consumer) const { return prefix + "log:" + consumer.value; }
  /// Whose that log is.
  ConsumerName ofLog(std::string_view key) const {
    return ConsumerName{std::string(key.substr(std::min(key.size(), log({}).size())))};
  }
  std::string id(const ConsumerName& consumer, const MessageId& message) const {
    std::string key;
    key.reserve(prefix.size() + consumer.value.size() + message.value.size() + 8);
    key.append(prefix).append("id:").append(std::to_string(consumer.value.size())).append(":");
    return std::move(key.append(consumer.value).append(":").append(message.value));
  }

  std::string prefix;
  std::string queue;
  std::string messages;
  std::string fence;
  std::string dead;
  std::string attempts;
  std::string inWork;
  std::string keyCount;
  std::string logs;
};

}  // namespace tenure::redis
