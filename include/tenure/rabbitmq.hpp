/// RabbitMQ 3.10 and later as a queue. Effects go to a store elsewhere: the broker delivers at least once, the store's
/// idempotency keys make it one effect.
///
///   one term      An exclusive consumer, or a single-active-consumer queue: while the old leader's connection lives,
///                 attaching waits. A frozen leader's connection ends after two heartbeats.
///   one election  An exchange `tenure.owner.<queue>` carries the owner's name in its alternate-exchange argument;
///                 another election is refused with Errc::queueOwned; `tenure queue move-to` replaces it.
///   order         What was not acknowledged goes back to its place when the channel closes, and comes again first.
///                 Queues with priorities, and consumers that are not Tenure's, break it.
///   position      Counts the deliveries of one source object: it grows from message to message, and a message that
///                 comes again has a larger one.
///   acknowledged  after the commit, and only sent: AMQP has no reply to it. What the broker did not hear it delivers
///                 again, and the store drops it as known.
///
/// A message is unfit when it has no id (see MissingId) or is larger than a queue of ours allows; it is delivered as
/// it is and the consumer dead-letters it. A body over `largestBody` never enters this process: its message is
/// delivered without it (Message::lacks) and is a dead letter with that reason. Acknowledging it rejects it at the
/// broker, which hands it, with its body, to the queue's dead-letter exchange where it has one.
///
/// Limits:  the broker closes the channel when one message stays unacknowledged for its `consumer_timeout` (30 min):
///          `prefetch` messages must be handled in less. A quorum queue drops or dead-letters what was delivered more
///          often than its x-delivery-limit, and each change of leaders delivers anew; Tenure counts attempts itself.
///          From RabbitMQ 4 on nothing declared means 20: a queue that is absent is declared with -1, no limit, and
///          attaching to one without, or with less than 100, is refused. (Version 4 is known here by its sources; the
///          tests run on 3.10.)
/// Headers: strings, numbers, booleans and times are text here. Arrays and tables (x-death) are left out, so a dead
///          letter of ours does not keep them, and what is requeued has not got them back.
/// Packs:   a message with the header `tenure-pack` is taken apart (Publishing::pack), and acknowledged after the last
///          of its messages. To the broker, its limits and its figures it is one message; `prefetch` counts it as one.
/// Memory:  the broker counts messages, not bytes: up to `prefetch` times `largestBody` wait in this process, 4 GiB
///          by default, and each body is there twice while it is put together from its frames. Where bodies are large,
///          choose both smaller.
/// Secrets: the password comes from a file or from TENURE_RABBITMQ_PASSWORD and is read at each connection.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <variant>

#include "tenure/events.hpp"
#include "tenure/spi/admin.hpp"
#include "tenure/spi/source.hpp"

namespace tenure {
struct Component;
}  // namespace tenure

namespace tenure::rabbitmq {

enum class QueueType { classic, quorum };

/// What keeps two leaders from consuming at the same time.
enum class Exclusivity {
  /// The broker refuses a second consumer. Works with classic queues, however declared; proven at each attach.
  exclusiveConsumer,
  /// The queue was declared with x-single-active-consumer; the broker compares it and all other arguments of `type`
  /// and `arguments` at each attach. The only way for quorum queues.
  singleActiveConsumer,
};

/// What becomes of a message whose producer gave it no message_id.
enum class MissingId {
  deadLetter,  // delivered without an id; the consumer dead-letters it
  /// A digest of all that was published: two messages alike in everything, their timestamp included, become one. What
  /// the broker adds is left out: of headers named x-… those that are no strings, and x-first-death-…, x-last-death-….
  derive,
};

/// Where a message's group stands. With routingKey still in the header, where there is one, if the message came through
/// the default exchange: that routes by the queue's name alone, and is how our sinks publish unless they are told of
/// another exchange, where the group is the routing key by default.
enum class GroupFrom { header, routingKey };

/// Where a quorum queue's limit of deliveries stands. AMQP tells what a queue was declared with, nothing of policies:
/// with `policy` the operator vouches for one that says delivery-limit -1, or 100 and more.
enum class DeliveryLimitFrom { declaration, policy };

/// Verifies the broker's certificate and its name; there is no way to leave that out. `host` is then a DNS name:
/// rabbitmq-c does not compare addresses.
struct Tls {
  bool on = false;
  std::filesystem::path authority;  // PEM; the certificates to trust
  /// Our own certificate and key, where the broker asks.
  std::filesystem::path certificate;
  std::filesystem::path key;
};

/// How a sink publishes. Each message may say otherwise for itself in a header, which is then not published:
/// tenure-exchange, tenure-routing-key, tenure-mandatory (yes, no), tenure-persistent (yes, no), tenure-priority,
/// tenure-expiration (30s), tenure-content-type. A source ignores all of it.
struct Publishing {
  /// Empty: the default exchange. Otherwise it has to be there; the sink then needs no queue, and declares none.
  std::string exchange;
  /// Nullopt: the message's group, and in the default exchange the queue's name.
  std::optional<std::string> routingKey;
  /// A message that no queue takes is an error (notFound). False: the broker drops it, and it counts as stored.
  bool mandatory = true;
  /// In a durable queue, a persistent message survives a restart of the broker.
  bool persistent = true;
  /// For a queue with x-max-priority. Such a queue does not keep the order, so Tenure should not consume it.
  std::optional<std::uint8_t> priority;
  /// 0 to 4294967295 ms: the broker drops a message, or hands it to the queue's dead-letter exchange, that waits
  /// longer.
  std::optional<std::chrono::milliseconds> expiration;
  std::string contentType;  // empty: none
  /// So many messages of one append travel in one body (1 to 1,000), which the broker takes as one message, and a
  /// source of ours takes apart. Not with an exchange, and not where one of them says for itself how it is published.
  std::size_t pack = 1;
};

struct Options {
  /// One or more nodes of one cluster, separated by commas and tried in turn; `port` holds for each that has no `:port`
  /// of its own.
  std::string host = "localhost";
  std::uint16_t port = 0;  // 0: 5672, with TLS 5671
  std::string virtualHost = "/";
  std::string user = "guest";
  /// The first line of this file; when empty, TENURE_RABBITMQ_PASSWORD.
  std::filesystem::path passwordFile;
  Tls tls;

  std::string queue = "default";  // 1..200 bytes
  /// Declare the queue when absent, durable, with `type`, `exclusivity` and `arguments`; else it is Errc::notFound.
  bool create = true;
  QueueType type = QueueType::classic;
  std::map<std::string, std::variant<std::int64_t, std::string>> arguments;

  Exclusivity exclusivity = Exclusivity::exclusiveConsumer;
  /// How long attaching waits for another consumer to go away.
  std::chrono::milliseconds attachLimit{5'000};
  /// Messages in the hands of this process at most, 1..65535; at least what the consumer takes in one transaction.
  std::uint16_t prefetch = 256;
  DeliveryLimitFrom deliveryLimit = DeliveryLimitFrom::declaration;
  std::size_t largestBody = 16U << 20U;  // in bytes, at least maxBodyBytes

  MissingId missingId = MissingId::deadLetter;
  GroupFrom groupFrom = GroupFrom::header;
  std::string groupHeader = "x-group";

  /// 1..60 s, below the session timeout (attaching warns otherwise): a dead leader keeps the queue for two of them.
  std::chrono::seconds heartbeat{5};
  std::chrono::milliseconds connectLimit{5'000};
  /// How long a request waits for its reply.
  std::chrono::milliseconds replyLimit{5'000};
  /// How long a producer waits for the next confirm of an append, and for a blocked broker.
  std::chrono::milliseconds confirmLimit{10'000};
  Publishing publishing{};
};

/// Every complaint in one error: Errc::configurationRefused.
Result<void> validate(const Options& options);

/// Connects when it is attached. Heartbeats go on in a thread of its own while a handler works.
///
/// Errors of attach, beyond IMessageSource's:
///   storeBusy             another consumer holds the queue and did not go away within attachLimit
///   timedOut              the broker does not answer
///   cancelled             the term was asked to stop meanwhile
///   notFound              no such queue, or no such virtual host
///   configurationRefused  the queue has other arguments, or the broker would let others consume beside us
///   permissionDenied      the user may not consume, or not record the owner
///   authenticationFailed  wrong password; or a certificate that does not hold
/// Errors of fetch: unavailable, whatever ended the connection or closed the channel, and timedOut when the broker has
/// fallen silent; attach again.
std::unique_ptr<IMessageSource> makeSource(const Options& options, IEventSink& events);

/// Publishes with confirms, all of an append in order. It connects again where a connection was lost. An exchange is
/// asked for before the first message to it is published: the broker would close the channel for one that is absent, or
/// that the user may not write to. The question is a transaction that is rolled back, so nothing reaches a queue.
///
/// Errors of opening and of append, beyond IMessageSink's:
///   configurationRefused  there is no exchange of the options' name
///   permissionDenied      the user may not write to it
/// Errors of append:
///   unavailable     the broker blocks publishers (it is short of memory or disk), or is not reached
///   storeFull       the broker refused every message: a queue is full and rejects
///   notFound        no queue took any of them: the queue was deleted, or nothing is bound for the routing key; or the
///                   exchange that a header names is absent, and nothing was stored. The detail names the message
///   invalidArgument a header for the sink cannot be read, or names an exchange that the user may not write to; nothing
///                   was stored
///   outcomeUnknown  some were stored and others not, or the connection died before all was confirmed. Appended again,
///                   what was stored comes twice and counts once; in its group it may then stand behind a later message
/// appendEach publishes in one go all that can be published, and tells of each by the same codes. So a message that no
/// queue takes (notFound), or that a queue rejects (storeFull), does not hold back later messages of its group.
/// A message that is refused before it is published does: they are cancelled.
Result<std::unique_ptr<IMessageSink>> openSink(const Options& options);

/// `waiting` is without the messages that are in a consumer's hands. Connects for each question; never makes a queue.
Result<std::unique_ptr<IQueueAdmin>> openAdmin(const Options& options);

/// What tenure::open() knows by it.
Component component();

}  // namespace tenure::rabbitmq
