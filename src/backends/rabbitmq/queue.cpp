#include "backends/rabbitmq/queue.hpp"

#include <algorithm>

#include "backends/rabbitmq/bytes.hpp"
#include "backends/rabbitmq/errors.hpp"
#include "backends/rabbitmq/incoming.hpp"
#include "base/text.hpp"

namespace tenure::rabbitmq {

QueueIdentity identityIn(const Connection& connection, const Options& options) {
  std::string identity = "rabbitmq:";
  for (const std::string& part : {connection.serverProperty("cluster_name"), options.virtualHost, options.queue}) {
    identity += identity.back() == ':' ? "" : "/";
    for (const char c : part) identity += c == '/' ? "%2F" : c == '%' ? "%25" : std::string(1, c);
  }
  return QueueIdentity{identity};
}
namespace {

using namespace std::chrono_literals;

/// A refusal closes the channel that asked: it is asked on one of its own.
template <class Question>
auto ask(Connection& connection, const Question& question) -> decltype(question()) {
  if (const Result<void> opened = connection.openChannel(Channel::side); !opened) return opened.error();
  auto answer = question();
  if (!answer) return answer;
  if (const Result<void> closed = connection.closeChannel(Channel::side); !closed) return closed.error();
  return answer;
}

// Never true, and refused for a new queue: one that has gone meanwhile is not made again. What the broker compares
// behind it stays unknown: behind the type a quorum queue's limit of deliveries, behind the locator nothing.
constexpr const char* type = "x-queue-type";
constexpr const char* locator = "x-queue-leader-locator";

std::string quoted(const std::string& name) { return "\"" + escaped(name) + "\""; }

// --- the owner

std::string ownerExchange(const std::string& queue) { return "tenure.owner." + queue; }

// Begins like the exchange: one pattern grants what a user needs for both.
constexpr std::string_view ownerPrefix = "tenure.owner.";

std::string inWords(const storage::QueueOwner& owner) { return owner.election + " at " + owner.path; }

/// The broker answers to another owner: inequivalent arg … received '<owner>' but current is '<owner>'
std::string ownerIn(std::string_view refusal) {
  const auto skipPast = [&](std::string_view part) {
    const std::size_t at = refusal.find(part);
    refusal.remove_prefix(at == std::string_view::npos ? refusal.size() : at + part.size());
  };
  skipPast("current is");
  skipPast("'");
  if (refusal.starts_with(ownerPrefix)) refusal.remove_prefix(ownerPrefix.size());
  return std::string{refusal.substr(0, refusal.find('\''))};
}

/// The broker cuts its answer after 255 bytes, and with it a long name.
std::string ownerNamedIn(std::string_view refusal) {
  const std::string owner = ownerIn(refusal);
  return owner.empty() ? "another election" : "election " + owner;
}

// --- other consumers

constexpr Duration firstPause = 5ms;
constexpr Duration longestPause = 200ms;

/// Asks again and again, with growing pauses, as long as the answer is "somebody else".
template <class Attempt>
Result<void> untilAlone(const Attempt& attempt, BootTime deadline, const std::stop_token& stop) {
  for (Duration pause = firstPause;; pause = std::min(2 * pause, longestPause)) {
    Result<void> done = attempt();
    if (done || !done.error().is(Errc::storeBusy)) return done;
    if (stop.stop_requested()) return Error{Errc::cancelled, "while another consumer held the queue"};
    const BootTime now = BootClock::now();
    if (now >= deadline) return done;
    systemClock().waitUntil(std::min(deadline, now + pause), stop);
  }
}

/// Sees to it that a second consumer really is refused: some kinds of queue take the wish for exclusivity and ignore
/// it.
Result<void> proveExclusive(Connection& connection, const std::string& queue) {
  const Result<void> second = ask(connection, [&] { return connection.consume(Channel::side, queue, false); });
  if (second)
    return Error{
        Errc::configurationRefused,
        "the broker lets others consume from queue " + quoted(queue) +
            " beside an exclusive consumer: declare it as a classic queue, or attach as single active consumer"};
  return second.error().is(Errc::storeBusy) ? Result<void>{} : second;
}

Result<void> consumeExclusively(Connection& connection, const std::string& queue, BootTime deadline,
                                const std::stop_token& stop) {
  bool closed = false;  // by the last refusal
  const auto attempt = [&]() -> Result<void> {
    if (closed)
      if (Result<void> opened = connection.openChannel(Channel::work); !opened) return opened;
    Result<void> consuming = connection.consume(Channel::work, queue, true);
    closed = !consuming;
    if (!consuming && consuming.error().is(Errc::storeBusy))
      return Error{Errc::storeBusy, "another consumer holds queue " + quoted(queue) + "; " + consuming.error().detail};
    return consuming;
  };
  if (Result<void> consuming = untilAlone(attempt, deadline, stop); !consuming) return consuming;
  return proveExclusive(connection, queue);
}

/// Joins the queue's consumers at once, then waits until no other consumer is left.
Result<void> consumeAsSingleActive(Connection& connection, const std::string& queue, BootTime deadline,
                                   const std::stop_token& stop) {
  if (Result<void> consuming = connection.consume(Channel::work, queue, false); !consuming) return consuming;
  const auto look = [&]() -> Result<void> {
    const Result<QueueCounts> counts = connection.inspect(Channel::work, queue);
    if (!counts) return counts.error();
    if (counts->consumers <= 1) return {};
    return Error{Errc::storeBusy,
                 "queue " + quoted(queue) + " has " + std::to_string(counts->consumers - 1) + " other consumers"};
  };
  return untilAlone(look, deadline, stop);
}

}  // namespace

/// … inequivalent arg 'x-expires' for queue 'q' in vhost '/': received none but current is the value '9' of type
/// 'signedint'
std::optional<Difference> differenceIn(std::string_view refusal) {
  const auto quotedAfter = [&](std::string_view mark) -> std::optional<std::string> {
    const std::size_t at = refusal.find(mark);
    if (at == std::string_view::npos) return std::nullopt;
    refusal.remove_prefix(at + mark.size());
    const std::size_t end = refusal.find('\'');
    if (end == std::string_view::npos) return std::nullopt;
    std::string text(refusal.substr(0, end));
    refusal.remove_prefix(end + 1);
    return text;
  };
  const auto argument = quotedAfter("inequivalent arg '");
  if (!argument) return std::nullopt;
  constexpr std::string_view mark = "but current is ";
  const std::size_t current = refusal.find(mark);
  if (current == std::string_view::npos) return std::nullopt;
  refusal.remove_prefix(current + mark.size());
  if (refusal.starts_with("none")) return Difference{*argument, std::nullopt};
  const auto value = quotedAfter("'");
  if (!value) return std::nullopt;
  if (quotedAfter("of type '").value_or("") == "longstr") return Difference{*argument, *value};
  if (*value == "true" || *value == "false") return Difference{*argument, *value == "true"};
  if (const auto number = parseInteger(*value)) return Difference{*argument, *number};
  return Difference{*argument, *value};
}

Result<DeclaredQueue> readDeclaration(Connection& connection, const std::string& queue) {
  constexpr int mostArguments = 32;
  DeclaredQueue declared{.durable = true, .arguments = {}, .type = {}, .complete = false, .limitTold = false};
  for (int i = 0; i < mostArguments && !declared.complete; ++i) {
    QueueArguments asked = declared.arguments;
    asked.insert_or_assign(type, true);
    const Result<void> answer = ask(connection, [&] { return connection.compareQueue(Channel::side, queue, asked); });
    if (answer) break;
    if (!answer.error().is(Errc::configurationRefused)) return answer.error();
    const auto difference = differenceIn(answer.error().detail);
    if (!difference) break;
    if (difference->argument == "durable") declared.durable = false;
    declared.complete = difference->argument == type;
    const auto* named = difference->current ? std::get_if<std::string>(&*difference->current) : nullptr;
    if (declared.complete) declared.type = named == nullptr ? "classic" : *named;
    if (declared.complete || !difference->argument.starts_with("x-") || !difference->current) break;
    declared.arguments.insert_or_assign(difference->argument, *difference->current);
  }
  return declared;
}

Result<void> refuseStream(Connection& connection, const std::string& queue) {
  const Result<DeclaredQueue> declared = readDeclaration(connection, queue);
  if (!declared) return declared.error().is(Errc::permissionDenied) ? Result<void>{} : declared.error();
  if (declared->type != stream) return {};
  return Error{Errc::configurationRefused, "queue " + quoted(queue) +
                                               " is a stream, which keeps its messages when they are done: expected a "
                                               "classic or quorum queue"};
}

Result<bool> lacks(Connection& connection, const std::string& queue, const DeclaredQueue& declared,
                   const std::string& argument, const QueueArgument& wanted) {
  QueueArguments asked = declared.arguments;
  asked.insert_or_assign(argument, wanted);
  asked.insert_or_assign(type, true);
  const Result<void> answer = ask(connection, [&] { return connection.compareQueue(Channel::side, queue, asked); });
  if (answer) return false;
  if (!answer.error().is(Errc::configurationRefused)) return answer.error();
  const auto difference = differenceIn(answer.error().detail);
  return difference && difference->argument == argument;
}

Result<DeliveryLimit> readDeliveryLimit(Connection& connection, const Options& options, const QueueArguments& known) {
  QueueArguments asked = known;
  for (const auto& [name, value] : options.arguments)
    asked.emplace(name, std::visit([](const auto& each) { return QueueArgument{each}; }, value));
  if (options.exclusivity == Exclusivity::singleActiveConsumer) asked.emplace("x-single-active-consumer", true);
  asked.insert_or_assign(type, "quorum");
  asked.insert_or_assign(deliveryLimitArgument, true);  // no queue's either
  asked.insert_or_assign(locator, true);
  const Result<void> answer =
      ask(connection, [&] { return connection.compareQueue(Channel::side, options.queue, asked); });
  if (answer) return DeliveryLimit{.told = false};
  if (!answer.error().is(Errc::configurationRefused)) return answer.error();
  const auto difference = differenceIn(answer.error().detail);
  if (!difference || difference->argument != deliveryLimitArgument) return DeliveryLimit{.told = false};
  return DeliveryLimit{.declared = difference->current};
}

bool saysSomething(const Options& options) noexcept {
  return options.type != QueueType::classic || options.exclusivity == Exclusivity::singleActiveConsumer ||
         !options.arguments.empty();
}

namespace {

bool namesDeliveryLimit(const Options& options) { return options.arguments.contains(deliveryLimitArgument); }

/// With the limit of deliveries that a new queue gets, or that the one which is there was declared with.
Result<Options> withDeliveryLimit(Connection& connection, Options options, bool absent) {
  if (options.type != QueueType::quorum || namesDeliveryLimit(options)) return options;
  if (absent) {
    if (knowsNoDeliveryLimit(connection.serverProperty("version")))
      options.arguments[deliveryLimitArgument] = noDeliveryLimit;
    return options;
  }
  const Result<DeliveryLimit> limit = readDeliveryLimit(connection, options);
  if (!limit) return limit.error();
  const auto* number = limit->declared ? std::get_if<std::int64_t>(&*limit->declared) : nullptr;
  if (number != nullptr) options.arguments[deliveryLimitArgument] = *number;
  return options;
}

}  // namespace

Result<bool> prepareQueue(Connection& connection, const Options& options, bool mayCreate) {
  const auto declare = [&](bool absent) -> Result<void> {
    const Result<Options> wanted = withDeliveryLimit(connection, options, absent);
    if (!wanted) return wanted.error();
    return ask(connection, [&] { return connection.declareQueue(Channel::side, *wanted); });
  };
  // Before anything is made of it.
  if (namesDeliveryLimit(options))
    if (const Result<void> safe = checkDeliveryLimit(connection, options); !safe) return safe.error();
  const Result<QueueCounts> found = ask(connection, [&] { return connection.inspect(Channel::side, options.queue); });
  const bool absent = !found && found.error().is(Errc::notFound);
  if (absent && !mayCreate)
    return Error{Errc::notFound,
                 "there is no queue " + quoted(options.queue) + " in virtual host " + quoted(options.virtualHost)};
  if (!found && !absent) return found.error();
  if (absent || saysSomething(options))
    if (const Result<void> declared = declare(absent); !declared) return declared.error();
  return absent;
}

namespace {

constexpr const char* nobodysQueue = "amq.tenure.nobody";  // no client may declare one that begins so

/// A broker that blocks publishers says so when something is published, and reads nothing more from us.
Error blockedOr(Connection& connection, Error silence) {
  FrameReader frames(0);
  const Result<void> read = connection.readArrived([&](const amqp_frame_t& frame) -> Result<void> {
    const std::optional<Incoming> incoming = frames.on(frame);
    const auto* blocked = incoming ? std::get_if<Blocked>(&*incoming) : nullptr;
    if (blocked == nullptr) return {};
    return Error{Errc::storeBusy, heldBack(blocked->reason)};
  });
  // The library closes a connection whose answer is overdue: whatever else fails here is a consequence of that.
  if (!read && read.error().is(Errc::storeBusy)) return {Errc::unavailable, read.error().detail};
  return silence;
}

}  // namespace

Result<void> checkExchange(Connection& connection, const std::string& exchange) {
  // The broker checks a message when it comes, and in a transaction routes nothing before the commit. The message has
  // a body because a broker that blocks publishers stops reading between a message's header and its body. A plugin,
  // x-recent-history, keeps every message that it sees unless a header forbids it.
  amqp_table_entry_t notKept{bytesOf("x-recent-history-no-store"), truthField(true)};
  amqp_basic_properties_t properties{};
  properties._flags = AMQP_BASIC_HEADERS_FLAG;
  properties.headers = {1, &notKept};
  const Route nowhere{exchange, nobodysQueue, false};
  Result<void> taken = ask(connection, [&]() -> Result<void> {
    if (Result<void> begun = connection.selectTransactions(Channel::side); !begun) return begun;
    if (Result<void> sent = connection.publish(nowhere, properties, "?", Channel::side); !sent) return sent;
    return connection.rollBack(Channel::side);
  });
  if (!taken && taken.error().is(Errc::timedOut)) return blockedOr(connection, taken.error());
  // The broker checks rights by routing key last. The key used here may be outside of them: all else is allowed.
  if (!taken && taken.error().detail.find("access to topic '") != std::string::npos) return {};
  return taken;
}

Result<void> checkDeliveryLimit(Connection& connection, const Options& options) {
  if (options.type != QueueType::quorum) return {};
  Result<DeliveryLimit> limit = DeliveryLimit{};
  if (const auto named = options.arguments.find(deliveryLimitArgument); named != options.arguments.end())
    limit->declared = std::visit([](const auto& each) { return QueueArgument{each}; }, named->second);
  else
    limit = readDeliveryLimit(connection, options);
  if (!limit) return limit.error();
  const std::string danger = dangerOf(*limit, connection.serverProperty("version"), options);
  if (danger.empty()) return {};
  return Error{Errc::configurationRefused, "queue " + quoted(options.queue) + ": " + danger};
}

Result<void> recordOwner(Connection& connection, const std::string& queue, const storage::QueueOwner& owner) {
  const std::string name = std::string{ownerPrefix} + inWords(owner);
  const Result<void> recorded =
      ask(connection, [&] { return connection.declareExchange(Channel::side, ownerExchange(queue), name); });
  if (recorded) return {};
  const std::string& refusal = recorded.error().detail;
  if (recorded.error().is(Errc::configurationRefused))
    return Error{Errc::queueOwned, "it is consumed by " + ownerNamedIn(refusal) + ", says exchange " +
                                       quoted(ownerExchange(queue)) + "; " + refusal};
  if (recorded.error().is(Errc::permissionDenied))
    return Error{Errc::permissionDenied,
                 "the owner cannot be recorded: allow the user to configure, write and read "
                 "^tenure\\.owner\\.; " +
                     refusal};
  return recorded;
}

Result<void> replaceOwner(Connection& connection, const std::string& queue, const storage::QueueOwner& from,
                          const storage::QueueOwner& to) {
  const std::string exchange = ownerExchange(queue);
  const auto owner = ownerOf(connection, queue);
  if (!owner) return Error{Errc::permissionDenied, "allow the user to configure, write and read ^tenure\\.owner\\."};
  if (*owner == inWords(to)) return {};
  // A long name comes cut from the broker.
  if (!owner->empty() && !inWords(from).starts_with(*owner))
    return Error{Errc::versionMismatch, "it is consumed by election " + *owner};
  const Result<QueueCounts> counts = ask(connection, [&] { return connection.inspect(Channel::side, queue); });
  if (!counts) return counts.error();
  if (counts->consumers > 0)
    return Error{Errc::storeBusy, "queue " + quoted(queue) + " has " + std::to_string(counts->consumers) +
                                      " consumers: stop them first"};
  if (const Result<void> gone = ask(connection, [&] { return connection.deleteExchange(Channel::side, exchange); });
      !gone)
    return gone;
  return recordOwner(connection, queue, to);
}

std::optional<std::string> ownerOf(Connection& connection, const std::string& queue) {
  const std::string exchange = ownerExchange(queue);
  const Result<void> refused = ask(connection, [&] { return connection.compareExchange(Channel::side, exchange); });
  if (refused) return "";
  if (refused.error().is(Errc::permissionDenied)) return std::nullopt;
  return ownerIn(refused.error().detail);
}

Result<void> consumeAlone(Connection& connection, const Options& options, BootTime deadline,
                          const std::stop_token& stop) {
  if (Result<void> limited = connection.limitPrefetch(Channel::work, options.prefetch); !limited) return limited;
  Result<void> alone = options.exclusivity == Exclusivity::singleActiveConsumer
                           ? consumeAsSingleActive(connection, options.queue, deadline, stop)
                           : consumeExclusively(connection, options.queue, deadline, stop);
  // The first answer comes after the queue has handed its messages to the channel, the second after the channel has
  // sent them to us.
  for (int question = 0; alone && question < 2; ++question)
    if (const Result<QueueCounts> counts = connection.inspect(Channel::work, options.queue); !counts)
      alone = counts.error();
  return alone;
}

}  // namespace tenure::rabbitmq
