/// The queue before anything is consumed or published: is it there, is it the one that was meant, whose is it, and
/// does the broker keep others off it?
#pragma once

#include <optional>
#include <stop_token>
#include <string>

#include "backends/rabbitmq/connection.hpp"
#include "backends/rabbitmq/delivery_limit.hpp"
#include "storage/fence.hpp"
#include "tenure/term.hpp"
#include "tenure/values.hpp"

namespace tenure::rabbitmq {

/// The broker's cluster name, virtual host and queue: the same under each of the cluster's hosts.
QueueIdentity identityIn(const Connection& connection, const Options& options);

/// What is known of a queue that somebody declared. AMQP has no question for it, but the broker's refusals of another
/// declaration tell, one argument at a time.
struct DeclaredQueue {
  bool durable = true;
  QueueArguments arguments;
  std::string type;  // empty when not known
  bool complete = true;
  bool limitTold = false;  // of deliveries; readDeclaration leaves it open
};
/// Of a queue that is there. Changes nothing, and makes nothing when it has gone meanwhile.
/// Errors:  permissionDenied      the broker compares only for a user who may configure the queue
Result<DeclaredQueue> readDeclaration(Connection& connection, const std::string& queue);

/// The type of a queue that no consumer of ours can empty.
inline constexpr std::string_view stream = "stream";
/// Errors: configurationRefused  the queue is a stream. A user who may not configure the queue is told nothing.
Result<void> refuseStream(Connection& connection, const std::string& queue);
/// Whether the broker refuses that queue to somebody who wants this argument, of which it has told nothing. False also
/// where it does not compare it, or only behind the type. Changes nothing, as above.
Result<bool> lacks(Connection& connection, const std::string& queue, const DeclaredQueue& declared,
                   const std::string& argument, const QueueArgument& wanted);

/// Of a quorum queue that is there; told only where the rest of it is as the options say, or as they are told to be in
/// `known`. Changes nothing, as above.
Result<DeliveryLimit> readDeliveryLimit(Connection& connection, const Options& options,
                                        const QueueArguments& known = {});

/// What a refusal of compareQueue says; pure. Nullopt: it is another refusal, or was cut.
struct Difference {
  std::string argument;
  std::optional<QueueArgument> current;  // nullopt: the queue has none of that name
};
std::optional<Difference> differenceIn(std::string_view refusal);

/// Whether the options say of the queue what the broker then compares: that takes the right to configure it.
bool saysSomething(const Options& options) noexcept;

/// Finds the queue, or declares it where that is allowed; true when it did. What the options say of type, exclusivity
/// and arguments, the broker compares with the queue that is there; when they say nothing, any queue will do. A quorum
/// queue is declared without a limit of deliveries; one that is there may have any.
///
/// Errors:  notFound              absent, and not to be made
///          configurationRefused  it has other arguments; the detail is the broker's own
Result<bool> prepareQueue(Connection& connection, const Options& options, bool mayCreate);

/// Whether a message that is published to this exchange would be taken; publishing it to find out would close the
/// channel with all that is under way. Nothing reaches a queue. It waits for a broker that blocks publishers.
///
/// Errors:  notFound          there is no such exchange
///          permissionDenied  the user may not write to it, or no client may
///          unavailable       the broker blocks publishers, and did so until the confirm limit
Result<void> checkExchange(Connection& connection, const std::string& exchange);

/// Of a queue that was prepared, before a leader consumes from it.
/// Errors:  configurationRefused  its limit of deliveries would lose messages
Result<void> checkDeliveryLimit(Connection& connection, const Options& options);

/// Writes down that this election consumes the queue, atomically and for good.
/// Errors:  queueOwned            another one does
Result<void> recordOwner(Connection& connection, const std::string& queue, const storage::QueueOwner& owner);
/// Replaces the owner `from`; the queue must have no consumers. This takes two steps: an election that attaches in
/// between may become the owner.
///
/// Errors:  versionMismatch  the owner is another one
///          storeBusy        somebody consumes from the queue
Result<void> replaceOwner(Connection& connection, const std::string& queue, const storage::QueueOwner& from,
                          const storage::QueueOwner& to);
/// "orders at /tenure/elections/orders"; empty when none was recorded, nullopt when the broker does not tell this user.
/// Changes nothing.
std::optional<std::string> ownerOf(Connection& connection, const std::string& queue);

/// Consumes on the work channel as the only one, waiting until `deadline` for another one to go away. When it returns,
/// what the broker had for us has arrived.
///
/// Errors:  storeBusy             there is another consumer
///          configurationRefused  the broker would let others consume beside us
///          cancelled             the stop was requested
Result<void> consumeAlone(Connection& connection, const Options& options, BootTime deadline,
                          const std::stop_token& stop);

}  // namespace tenure::rabbitmq
