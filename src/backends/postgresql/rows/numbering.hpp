/// Numbers for messages that came without one, given by the source that reads them, in a transaction that holds the
/// reader's row (WaitingRoom::answerAsReader).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "backends/postgresql/session/command.hpp"
#include "messages/message_numbers.hpp"
#include "tenure/message.hpp"

namespace tenure::postgresql {

/// The messages of a look that lack a number, in its order. Borrows them.
class Unnumbered {
 public:
  /// `keyOf` gives the text that tells a message's row apart.
  template <class Messages, class KeyOf>
  Unnumbered(Messages& messages, KeyOf keyOf) {
    for (Message& message : messages) {
      if (!messages::mayGetNumber(message)) continue;
      keys_.push_back(keyOf(message));
      messages_.push_back(&message);
    }
  }
  bool isEmpty() const noexcept { return keys_.empty(); }
  const std::vector<std::string>& keys() const noexcept { return keys_; }
  const std::vector<Message*>& messages() const noexcept { return messages_; }

  /// Each row of the answer is a key and the number that it got. False: some rows are not as they were read. The others
  /// have their numbers, and all are to be read again.
  bool take(const Answer& rows);

 private:
  std::vector<std::string> keys_;
  std::vector<Message*> messages_;
};

/// Gives a queue's messages numbers, in their rows; the keys are their positions. Raises the groups' counters in the
/// order in which appendNumberedTo does.
Command giveNumbers(std::int64_t queue, const Unnumbered& messages);

}  // namespace tenure::postgresql
