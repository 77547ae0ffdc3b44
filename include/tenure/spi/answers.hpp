/// The port for handlers that answer with values: a program in another language, a URL that is called. They write to no
/// transaction. Each message is answered with an outcome and with the effects that are to be committed with it, and the
/// consumer applies them under the fence.
///
///   Consumer ── give ──► IAnswerer      no transaction and no lock is open while it thinks
///            ◄─ await ──                answers are gathered, then applied and committed together
///
/// For those who bring such handlers; it may change between minor versions.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "tenure/consumer.hpp"

namespace tenure {

// Effects: what a done message changes, all of it or nothing.

struct SqlEffect {
  std::string statement;
  std::vector<std::pair<std::string, SqlValue>> parameters{};  // {":name", value}
  std::optional<std::int64_t> rows{};  // that the statement has to touch; another number is a failed attempt
};
struct SendEffect {
  NewMessage message;
  std::string queue;
  std::optional<std::chrono::milliseconds> delay{};  // from when its message is answered
};
struct CancelEffect {
  MessageId id;
  std::string queue;
};
struct RescheduleEffect {
  MessageId id;
  std::string queue;
  WallTime at;
};
struct PutEffect {
  std::string key;
  std::string value;
};
struct EraseEffect {
  std::string key;
};
using Effect = std::variant<SqlEffect, SendEffect, CancelEffect, RescheduleEffect, PutEffect, EraseEffect>;

struct Answer {
  Outcome outcome{};
  std::vector<Effect> effects{};  // only of an outcome that is done
};

/// Numbers each time that a message is given out, in growing order.
using Giving = Id<struct GivingTag, std::int64_t>;

struct Given {
  Giving ticket;
  std::shared_ptr<const Message> message;
  int attempt = 1;  // 1 at the first
  /// Since when its handler has asked to see the message again later (Outcome::retryLater); nullopt: it has not.
  std::optional<WallTime> putOffSince{};
  bool isOnlyStart = false;  // at most once: it was acknowledged before
};

/// Values of the handlers' state by their keys; nullopt: there is none under the key.
using StateValues = std::vector<std::pair<std::string, std::optional<std::string>>>;

struct Answered {
  Giving ticket;
  Answer answer;
};
/// 1 to 255 bytes.
bool isStateKey(const std::string& key) noexcept;

/// The handler wants to know these keys before it answers. One that is no key is a failed attempt, which needs no
/// answer.
struct StateNeeded {
  Giving ticket;
  std::vector<std::string> keys;
};
/// The messages in hand will not be answered: their handler has died, or was ended.
struct GivenLost {
  std::string why;
  bool charges = true;        // a message that was alone in hand has had a failed attempt
  bool hadOthersToo = false;  // messages of other lanes were lost with them: no message was alone
};
using Reply = std::variant<Answered, StateNeeded, GivenLost>;

/// Answers the messages of one lane. Threads: the lane's, one call at a time.
class IAnswerer {
 public:
  virtual ~IAnswerer() = default;

  /// From now on messages are given under this term. A handler that still runs for an earlier term is ended.
  virtual void attend(const Term& term) = 0;
  /// The term is over for this lane: handlers of messages in hand are ended, and no reply comes of them.
  virtual void leave() noexcept = 0;
  /// How many messages may be in hand at a time; 0: none can be given now.
  virtual std::size_t ahead() = 0;
  /// Whether messages that wait for each other are handled in the order in which they are given. Else each is given
  /// when the one before it is answered.
  virtual bool answersInOrder() const noexcept = 0;
  /// Since when no message can be given; nullopt: one can.
  virtual std::optional<BootTime> awaySince() = 0;
  /// Never waits. A message that cannot be given is lost, which await() says.
  virtual void give(const Given& given) = 0;
  /// Answers StateNeeded.
  virtual void tell(Giving ticket, const StateValues& values) = 0;
  /// The replies that have come. Waits for the first of them until `until`, or until a stop; then it returns none.
  virtual std::vector<Reply> await(BootTime until, const std::stop_token& stop) = 0;
  /// Ends the handlers of messages in hand; a GivenLost follows, which charges no message.
  virtual void cut() = 0;
  /// The leader was asked to leave, and waits for the messages in hand. One whose handler takes long may be put off
  /// (Outcome::retryLater): the next leader handles it again.
  virtual void hurry() {}
};

/// Makes the answerer of a lane, 1 to the number of lanes. 0 is the one line, and what comes before the lanes; its
/// answerer rests while the lanes' are at work.
using AnswererOf = std::function<std::unique_ptr<IAnswerer>(std::size_t lane)>;

}  // namespace tenure
