#include "tenure/spi/admin.hpp"

#include <algorithm>

#include "backends/rabbitmq/options.hpp"
#include "backends/rabbitmq/queue.hpp"
#include "backends/shared/inspection.hpp"
#include "backends/shared/servers.hpp"
#include "base/text.hpp"
#include "tenure/rabbitmq.hpp"

namespace tenure::rabbitmq {

// What a broker and a queue say of themselves to `tenure check`. Nothing is declared, consumed or published.

/// Errors: as IMessageSource::attach; that the queue is absent or another one is a finding.
Result<Findings> inspect(const Options& options);

namespace {

class Admin final : public IQueueAdmin {
 public:
  explicit Admin(Options options) : options_(std::move(options)) {}

  Result<Findings> inspect() override { return rabbitmq::inspect(options_); }
  Result<QueueStats> stats() override {
    if (Result<void> valid = validate(options_); !valid) return valid.error();
    auto connection = Connection::open(options_, "tenure looks at " + options_.queue);
    if (!connection) return connection.error();
    QueueStats stats;
    const std::string owner = ownerOf(**connection, options_.queue).value_or("");
    constexpr std::string_view between = " at ";
    const std::size_t end = std::min(owner.find(between), owner.size());
    stats.election = owner.substr(0, end);
    stats.path = owner.substr(std::min(end + between.size(), owner.size()));
    const Result<QueueCounts> counts = (*connection)->inspect(Channel::work, options_.queue);
    if (!counts) return counts.error();
    stats.waiting = counts->ready;
    if (const Result<void> closed = (*connection)->close(); !closed) return closed.error();
    return stats;
  }
  Result<QueueIdentity> identity() override {
    if (Result<void> valid = validate(options_); !valid) return valid.error();
    const auto connection = Connection::open(options_, "tenure asks which broker this is");
    if (!connection) return connection.error();
    QueueIdentity identity = identityIn(**connection, options_);
    if (const Result<void> closed = (*connection)->close(); !closed) return closed.error();
    return identity;
  }
  Result<void> moveTo(const FenceRow& from, const FenceRow& to) override {
    if (Result<void> valid = validate(options_); !valid) return valid;
    auto connection = Connection::open(options_, "tenure moves " + options_.queue);
    if (!connection) return connection.error();
    if (const Result<void> moved =
            replaceOwner(**connection, options_.queue, {from.election.value, from.path}, {to.election.value, to.path});
        !moved)
      return moved;
    return (*connection)->close();
  }
  /// To get a message and give it back would count as a delivery, and may put it out of order.
  Result<void> peek(std::size_t, const std::function<void(const Message&)>&) override {
    return Error{
        Errc::unsupported,
        "RabbitMQ shows a message only to who takes it, and taking one would disturb the order of the leader's;"
        " `tenure queue stats` counts them, and `tenure queue failing --queue URL --store URL` names those that failed "
        "or"
        " are postponed"};
  }

 private:
  Options options_;
};

}  // namespace

Result<std::unique_ptr<IQueueAdmin>> openAdmin(const Options& options) {
  if (Result<void> valid = validate(options); !valid) return valid.error();
  return std::unique_ptr<IQueueAdmin>(std::make_unique<Admin>(options));
}

namespace {

using backends::Inspection;

std::string shown(const QueueArgument& value) {
  if (const auto* truth = std::get_if<bool>(&value)) return *truth ? "true" : "false";
  if (const auto* number = std::get_if<std::int64_t>(&value)) return std::to_string(*number);
  return std::get<std::string>(value);
}

std::string shown(const QueueArguments& arguments) {
  std::string all;
  for (const auto& [name, value] : arguments) all += (all.empty() ? "" : ", ") + name + "=" + shown(value);
  return all.empty() ? "none" : all;
}

const QueueArgument* find(const QueueArguments& arguments, const std::string& name) {
  const auto at = arguments.find(name);
  return at == arguments.end() ? nullptr : &at->second;
}

bool isSingleActive(const QueueArguments& arguments) {
  const QueueArgument* flag = find(arguments, "x-single-active-consumer");
  return flag != nullptr && *flag == QueueArgument{true};
}

/// What the URL wants of the queue: who consumes or produces with it asks the broker for the same, and is refused.
Result<void> judgeWishes(Connection& connection, const DeclaredQueue& queue, const Options& options,
                         Inspection& found) {
  for (const auto& [name, value] : options.arguments) {
    const QueueArgument wanted = std::visit([](const auto& each) { return QueueArgument{each}; }, value);
    if (const QueueArgument* current = find(queue.arguments, name)) {
      found.require(*current == wanted, name, shown(*current), shown(wanted) + ", says the URL");
      continue;
    }
    if (name == deliveryLimitArgument && queue.limitTold) {
      found.require(false, name, "none", shown(wanted) + ", says the URL");
      continue;
    }
    const Result<bool> absent = lacks(connection, options.queue, queue, name, wanted);
    if (!absent) return absent.error();
    found.expect(false, *absent ? Severity::refusal : Severity::warning, name, *absent ? "none" : "not seen",
                 shown(wanted) + ", says the URL");
  }
  return {};
}

void judgeArguments(const DeclaredQueue& queue, const Options& options, Inspection& found) {
  const bool quorum = queue.type == "quorum";
  found.expectSafe(queue.durable, "durable", queue.durable ? "yes" : "no",
                   "yes: the queue and its messages go when the broker stops");
  if (queue.type == stream)
    found.require(false, "type", queue.type, "classic or quorum: a stream keeps its messages when they are done");
  else
    found.require((options.type == QueueType::quorum) == quorum || queue.type.empty(), "type",
                  queue.type.empty() ? "not known" : queue.type,
                  "the same in the URL: type=" + queue.type + (quorum ? "&attach=single-active" : ""));
  found.fact("arguments", shown(queue.arguments),
             queue.complete ? "" : "perhaps others, too: the broker's words ended");
  if (options.exclusivity == Exclusivity::singleActiveConsumer && queue.complete)
    found.require(isSingleActive(queue.arguments), "x-single-active-consumer",
                  isSingleActive(queue.arguments) ? "true" : "none",
                  "true: attach=single-active needs a queue that was declared so");
  if (find(queue.arguments, "x-max-priority") != nullptr)
    found.require(false, "x-max-priority", shown(*find(queue.arguments, "x-max-priority")),
                  "none: priorities break the order");
}

/// Of a quorum queue. What is declared is an argument like others from then on.
Result<void> judgeDeliveryLimit(Connection& connection, DeclaredQueue& queue, const Options& options,
                                Inspection& found) {
  if (queue.type != "quorum") return {};
  const Result<DeliveryLimit> limit = readDeliveryLimit(connection, options, queue.arguments);
  if (!limit) return limit.error();
  queue.limitTold = limit->told;
  if (limit->declared) queue.arguments.insert_or_assign(deliveryLimitArgument, *limit->declared);
  const bool byPolicy = !limit->declared && options.deliveryLimit == DeliveryLimitFrom::policy;
  const std::string danger = dangerOf(*limit, connection.serverProperty("version"), options);
  found.require(danger.empty(), deliveryLimitArgument,
                byPolicy          ? "by a policy"
                : limit->declared ? shown(*limit->declared)
                : limit->told     ? "none"
                                  : "not told",
                danger);
  return {};
}

/// The body that does not even enter our process is rejected, which drops it unless the queue has somewhere to put it.
void judgeDeadLetters(const DeclaredQueue& queue, const Options& options, Inspection& found) {
  const QueueArgument* exchange = find(queue.arguments, "x-dead-letter-exchange");
  const bool known = queue.complete || exchange != nullptr;
  found.expectSafe(exchange != nullptr, "x-dead-letter-exchange",
                   exchange != nullptr ? shown(*exchange)
                   : known             ? "none"
                                       : "not known",
                   "one, or a policy that sets it: without it a message of over " +
                       std::to_string(options.largestBody >> 20U) + " MiB is a dead letter without its body");
}

std::string described(const std::optional<std::string>& owner) {
  if (!owner) return "its owner is not told to this user";
  return owner->empty() ? "of no election yet" : "of election " + *owner;
}

Result<void> judgeDeclaration(Connection& connection, const Options& options, Inspection& found) {
  Result<DeclaredQueue> declared = readDeclaration(connection, options.queue);
  if (!declared) return declared.error();
  if (const Result<void> judged = judgeDeliveryLimit(connection, *declared, options, found); !judged) return judged;
  judgeArguments(*declared, options, found);
  if (const Result<void> judged = judgeWishes(connection, *declared, options, found); !judged) return judged;
  judgeDeadLetters(*declared, options, found);
  return {};
}

Result<void> lookAtQueue(Connection& connection, const Options& options, Inspection& found) {
  const Result<QueueCounts> counts = connection.inspect(Channel::work, options.queue);
  if (!counts && counts.error().is(Errc::notFound)) {
    found.fact("queue", "absent", "the first producer or leader declares it");
    return {};
  }
  if (!counts) return counts.error();
  found.fact("queue", described(ownerOf(connection, options.queue)),
             std::to_string(counts->ready) + " messages wait, " + std::to_string(counts->consumers) +
                 (counts->consumers == 1 ? " consumer" : " consumers"));
  const Result<void> judged = judgeDeclaration(connection, options, found);
  if (judged || !judged.error().is(Errc::permissionDenied)) return judged;
  if (saysSomething(options))
    found.require(false, "declaration", "not told to this user",
                  "the right to configure the queue: the URL says what it has to be, which the broker compares");
  else
    found.fact("declaration", "not told to this user",
               "type, arguments and dead letters are told to a user who may configure the queue");
  return {};
}

}  // namespace

Result<Findings> inspect(const Options& options) {
  if (const Result<void> valid = validate(options); !valid) return valid.error();
  const auto connection = Connection::open(options, "tenure checks " + options.queue);
  if (!connection) return connection.error();
  Inspection found;
  found.fact("RabbitMQ", (*connection)->serverProperty("version"), (*connection)->server());
  backends::lookAtServers(options, found,
                          [&](const Options& one) { return Connection::open(one, "tenure checks " + one.queue); });
  found.expectSafe(options.tls.on || backends::areOnThisMachine(options.host), "TLS", options.tls.on ? "yes" : "none",
                   "amqps://: password and messages could be read on their way");
  const std::chrono::seconds heartbeat = (*connection)->heartbeat();
  found.expectSafe(heartbeat.count() > 0, "heartbeat", formatDuration(heartbeat),
                   "1s to 60s: without it a dead leader keeps the queue for hours");
  found.fact("consumer_timeout", "not told by AMQP",
             "30 minutes unless configured: " + std::to_string(options.prefetch) +
                 " messages (prefetch) must be handled in less");
  if (const Result<void> looked = lookAtQueue(**connection, options, found); !looked) return looked.error();
  if (const Result<void> closed = (*connection)->close(); !closed) return closed.error();
  return found.take();
}

}  // namespace tenure::rabbitmq
