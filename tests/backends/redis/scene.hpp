/// Replicas on a Redis server, and what happens to that server. Shared by the files of this room.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "support/events.hpp"
#include "support/redis_server.hpp"
#include "support/results.hpp"
#include "support/terms.hpp"

namespace tenure::test {

inline const ConsumerName ledger{"ledger"};

inline NewMessage newMessage(const std::string& id, const std::string& body = "body") {
  return {MessageId{id}, GroupId{"group"}, body, {}};
}

/// One replica that leads, on a connection of its own.
class Leader {
 public:
  Leader(const redis::Options& options, const TestTerm& term, IEventSink& events = noEvents())
      : database_(options, events), term_(term) {}

  Result<void> claim() { return database_.store().claim(term_); }
  std::unique_ptr<IFencedTransaction> begin() { return database_.store().begin(term_).value(); }
  Result<void> put(const std::string& key, const std::string& value) {
    const auto transaction = begin();
    if (Result<void> written = transaction->put(key, value); !written) return written;
    return transaction->commit();
  }
  Result<std::optional<std::string>> get(const std::string& key) { return begin()->get(key); }
  Result<CommitFate> resolve() { return database_.store().resolve(term_); }
  IFencedStore& store() { return database_.store(); }
  IMessageSource& source() { return database_.source(); }
  const TestTerm& term() const { return term_; }

 private:
  redis::Database database_;
  TestTerm term_;
};

inline DeadLetter letterOf(const Message& message, const std::string& reason = "why") {
  DeadLetter letter;
  letter.message = message;
  letter.reason = reason;
  return letter;
}

/// The numbers of all connections but those that `ask` has made.
inline std::set<std::string> connectionsTo(const RedisServer& server) {
  std::set<std::string> ids;
  std::istringstream list(server.ask({"CLIENT", "LIST", "TYPE", "normal"}));
  for (std::string line; std::getline(list, line);)
    if (line.find("cmd=client|list") == std::string::npos && line.find("cmd=info") == std::string::npos)
      ids.insert(line.substr(0, line.find(' ')));
  return ids;
}

/// For servers that answer late or never: a test waits for this, and a busy machine has to answer within it.
inline redis::Options impatient(redis::Options options) {
  options.replyLimit = std::chrono::seconds{1};
  return options;
}

}  // namespace tenure::test
