/// The sending side for a program that lives: messages of any thread are buffered, sent in batches, and kept until the
/// queue has confirmed them; in a spool on disk where the queue is slow or away.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <string>

#include "tenure/events.hpp"
#include "tenure/message.hpp"
#include "tenure/result.hpp"
#include "tenure/values.hpp"

namespace tenure {

class ISpool;  // sqlite::openSpool()

/// When the future of a send is ready.
enum class Durability {
  memory,   // the message is in the buffer, and lost if the process dies: ProducerFigures::atRisk
  spooled,  // the message is in the spool on disk, or the queue has confirmed it
  stored,   // the queue has confirmed it
};

/// What send() does when the buffer is full.
enum class Overload {
  block,       // send() waits for room, for at most ProducerOptions::sendLimit
  reject,      // send() fails with storeFull
  spill,       // from half of the buffer on messages go to the spool; where that is full too, as block
  dropOldest,  // the oldest message of Durability::memory that is not under way makes room; without one as reject
};

struct ProducerOptions {
  /// Room for messages that are not confirmed yet: 1 to 10,000,000, and 1 MiB to 16 GiB of bodies and headers.
  std::size_t maxMessages = 10'000;
  std::size_t maxBytes = 64U << 20U;
  /// A batch is what has one confirm: 1 to 10,000 messages, and not much more than so many bytes (1 KiB to 64 MiB).
  std::size_t batchMessages = 500;
  std::size_t batchBytes = 1U << 20U;
  /// Batches that may be under way at once, each with a sink and a thread of its own: 1 to 16. Groups are spread over
  /// them, and each group keeps to one; messages without a group are one group.
  std::size_t batchesUnderWay = 1;
  /// A batch that is not full begins no earlier than this after the batch before it. An idle producer sends at once.
  std::chrono::milliseconds linger{0};  // up to 1 min
  Durability durability = Durability::stored;
  Overload onOverload = Overload::block;
  std::chrono::milliseconds sendLimit{30'000};  // up to 1 h
  /// With a spool: all that waits goes there when a message was not confirmed for so long after `linger`: 1 ms to 1 h.
  std::chrono::milliseconds spillAfter{500};
  /// With a spool: each message goes through it, also while the queue keeps up.
  bool spoolAll = false;
  /// After a batch that failed the producer waits a random time up to retryBase. The bound doubles with each failure,
  /// up to retryMax: 1 ms to 1 h.
  std::chrono::milliseconds retryBase{100};
  std::chrono::milliseconds retryMax{10'000};
};

/// How one message is sent.
struct SendOptions {
  /// Nullopt: ProducerOptions::durability.
  std::optional<Durability> durability{};
  /// How long it may wait for its confirm; 0: for ever. Then it is not sent any more, and fails with timedOut, or with
  /// outcomeUnknown where a batch with it was sent and not confirmed. Looked at between batches. A message of the spool
  /// fails with outcomeUnknown, and is sent all the same.
  std::chrono::milliseconds limit{0};
  /// What became of an accepted message, whatever its durability: it was confirmed, refused, dropped or given up.
  /// Called once, by one of the producer's threads. The callback may send, which waits for no room there; a callback
  /// must not wait or throw.
  std::function<void(const Result<void>&)> done{};
  /// The future as a callback, for a loop that must not wait: called once when the durability is reached, or with the
  /// error that prevents it; as `done` and before it, or by send() for Durability::memory. From Asio: asyncSend() in
  /// producer_asio.hpp.
  std::function<void(const Result<void>&)> reached{};
};

/// As they are now, and since the producer was made.
struct ProducerFigures {
  std::size_t waiting = 0;                 // accepted and not confirmed, with those under way
  std::size_t bytes = 0;                   // of the bodies and headers of waiting messages
  std::chrono::milliseconds oldestAge{0};  // how long the oldest message has been in buffer or spool
  std::size_t spooled = 0;                 // messages that wait in the spool
  std::uint64_t spooledBytes = 0;
  std::size_t spoolRefused = 0;  // kept aside in the spool, because the queue refused them
  std::string spoolError{};      // why the spool did not take the last messages; empty: it did
  /// When buffer and spool are full, if messages go on to come and go as in the last ten seconds; nullopt: never.
  std::optional<std::chrono::seconds> timeToOverflow{};
  /// How many messages of Durability::memory are lost if the process dies now.
  std::size_t atRisk = 0;
  std::int64_t batches = 0;    // that were answered, also with a failure
  std::int64_t confirmed = 0;  // messages
  std::int64_t refused = 0;    // for what they are
  std::int64_t dropped = 0;    // by Overload::dropOldest
  std::int64_t givenUp = 0;    // at their limit, or when the producer was closed
  std::string lastError{};     // why the last batch failed; empty: it did not
};

/// Messages of one group are stored in the order of their sends. What the queue does not take is sent again under the
/// same id, before later messages of its group; a consumer with keys drops what comes twice. A message that is refused
/// for what it is, or that no queue takes (notFound), fails alone, and those behind it in its group go on. All else is
/// tried again, also a wrong password: ProducerFigures::lastError. On RabbitMQ, where messages behind one that was not
/// confirmed may be stored, order after an outage needs numbers (numberHeader).
///
/// With a spool, messages go there when the queue is slow or away, and what is sent while any are there as well; they
/// are sent in order, and what the queue refuses is kept aside in the spool. A spool that a former producer has left is
/// sent first.
///
/// A producer has one thread for each batch that may be under way, and one more with a spool; all end with it. One of
/// them sends what is in the spool, batch after batch. A producer that is destroyed without close() finishes the
/// batches under way, and spools what is left; without a spool that is given up (MessagesGivenUp). After a fork the
/// child's copy refuses every call and is destroyed without harm.
///
/// Threads: any, but for the destructor.
class Producer {
 public:
  using OpenSink = std::function<Result<std::unique_ptr<IMessageSink>>()>;

  /// Each sending thread calls `open` before its first batch, and after a failure; where several batches may be under
  /// way, several may call it at once. Sink of events and clock are borrowed; the sink of events must not call the
  /// producer.
  ///
  /// Throws: std::system_error (configurationRefused), which names each option out of its range; or with what keeps a
  ///         thread from starting
  explicit Producer(OpenSink open, const ProducerOptions& options = {}, const IClock& clock = systemClock());
  Producer(OpenSink open, std::unique_ptr<ISpool> spool, const ProducerOptions& options = {},
           IEventSink& events = noEvents(), const IClock& clock = systemClock());
  ~Producer();
  Producer(const Producer&) = delete;
  Producer& operator=(const Producer&) = delete;

  /// A message without an id gets one here, so that a repeat is known. The future is ready when the durability is
  /// reached, or never will be.
  ///
  /// Errors:  storeFull    there was no room, also within sendLimit where it waits: the message was not accepted
  ///          timedOut     there was none within the message's own limit
  ///          cancelled    the producer is closed
  ///          invalidArgument, payloadTooLarge   as IMessageSink::append
  ///          unsupported  this process was forked from the producer's
  Result<std::future<Result<void>>> send(NewMessage message, SendOptions how = {});
  /// The same without a future, which costs more than all else: for those that use callbacks, or do not wait.
  Result<void> post(NewMessage message, SendOptions how = {});
  /// Waits until the queue has confirmed all that was accepted before, or refused it, without lingering; their
  /// callbacks have returned then.
  ///
  /// Errors:  timedOut
  ///          cancelled    some of them were dropped, or given up; the detail says how many
  ///          unsupported  it was called by a callback, or in a forked process
  Result<void> flush(std::chrono::milliseconds limit);
  /// Accepts nothing more, and flushes. At the limit it waits for the batches under way, however long their answers
  /// take. Messages that are left then go to the spool, and are given up without one. Their futures fail with
  /// cancelled; with outcomeUnknown where the message was sent and not confirmed, or is in the spool.
  ///
  /// Errors:  timedOut     the detail says how many were given up
  ///          unsupported  as flush()
  Result<void> close(std::chrono::milliseconds limit);

  ProducerFigures figures() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace tenure
