#include "backends/rabbitmq/url.hpp"

#include <algorithm>

#include "backends/rabbitmq/publication.hpp"
#include "base/text.hpp"

namespace tenure::places {

using namespace std::chrono_literals;

namespace {

const Choices<rabbitmq::QueueType> types{{"classic", rabbitmq::QueueType::classic},
                                         {"quorum", rabbitmq::QueueType::quorum}};
const Choices<rabbitmq::Exclusivity> exclusivities{{"exclusive", rabbitmq::Exclusivity::exclusiveConsumer},
                                                   {"single-active", rabbitmq::Exclusivity::singleActiveConsumer}};
const Choices<rabbitmq::DeliveryLimitFrom> deliveryLimits{{"declaration", rabbitmq::DeliveryLimitFrom::declaration},
                                                          {"policy", rabbitmq::DeliveryLimitFrom::policy}};
const Choices<rabbitmq::MissingId> missingIds{{"dead-letter", rabbitmq::MissingId::deadLetter},
                                              {"derive", rabbitmq::MissingId::derive}};
const Choices<rabbitmq::GroupFrom> groupPlaces{{"header", rabbitmq::GroupFrom::header},
                                               {"routing-key", rabbitmq::GroupFrom::routingKey}};

/// Text of so many bytes.
Value bytes(std::string& value, std::size_t most) {
  const auto take = [&value, most](const std::string& given) {
    value = given;
    return !given.empty() && given.size() <= most && isText(given);
  };
  return parsed("NAME", "1 to " + std::to_string(most) + " bytes of UTF-8", take, value);
}

/// Text that may be empty.
template <class Kept>
Value shortText(Kept& value, const std::string& type, std::string byDefault) {
  const auto take = [&value](const std::string& given) {
    value = given;
    return given.size() <= 255 && isText(given);
  };
  return parsed(type, "at most 255 bytes of UTF-8", take, std::move(byDefault));
}

/// "x-max-length=5,x-overflow=reject-publish"; what is a number is compared as one.
Value argumentsOf(rabbitmq::Options& options) {
  const auto take = [&options](const std::string& given) {
    for (std::string_view rest = given; !rest.empty();) {
      const std::string_view pair = rest.substr(0, rest.find(','));
      rest.remove_prefix(std::min(rest.size(), pair.size() + 1));
      const std::size_t equals = pair.find('=');
      if (equals == 0 || equals >= pair.size() - 1) return false;
      const std::string text(pair.substr(equals + 1));
      const auto number = parseInteger(text);
      const auto added = options.arguments.emplace(pair.substr(0, equals),
                                                   number ? std::variant<std::int64_t, std::string>(*number) : text);
      if (!added.second) return false;
    }
    return true;
  };
  return parsed("LIST", "NAME=VALUE[,NAME=VALUE]..., each name once, such as x-max-length=5", take);
}

/// Refuses TLS parameters without TLS: a user who names them expects to be safe.
Result<void> checkTlsIsOn(const Url& url) {
  if (url.scheme == "amqps") return {};
  for (const char* name : {"tls-authority", "tls-certificate", "tls-key"})
    if (!url.parameter(name).empty())
      return Error{Errc::invalidArgument, std::string(name) + " does nothing without TLS: write amqps:// for amqp://"};
  return {};
}

/// What the library calls by its fields' names, as the URL calls it.
Error inParameters(Error error) {
  constexpr std::pair<std::string_view, std::string_view> names[] = {
      {"exclusivity = exclusiveConsumer", "attach = exclusive"},
      {"singleActiveConsumer", "attach=single-active"},
      {"tls.authority", "tls-authority"},
      {"tls.key", "tls-key"},
      {"attachLimit", "attach-limit"},
      {"connectLimit", "connect-limit"},
      {"replyLimit", "reply-limit"},
      {"confirmLimit", "confirm-limit"},
      {"routingKey", "routing-key"}};
  for (const auto& [field, parameter] : names)
    if (const std::size_t at = error.detail.find(field); at != std::string::npos)
      error.detail.replace(at, field.size(), parameter);
  return error;
}

/// How a sink publishes: a consumer takes them, and they do nothing there.
Options publishingOf(rabbitmq::Publishing& publishing) {
  const auto setPriority = [&publishing](std::int64_t given) {
    publishing.priority = static_cast<std::uint8_t>(given);
  };
  return {
      {"exchange", shortText(publishing.exchange, "NAME", "the default exchange, which routes by the queue's name"),
       "For producers: where to publish to; it must be there, and no queue is declared"},
      {"routing-key", shortText(publishing.routingKey, "KEY", "the message's group"),
       "For producers: the routing key, with an exchange"},
      {"mandatory", yesOrNo(publishing.mandatory),
       "For producers: a message that no queue takes is an error; no: the broker drops it"},
      {"persistent", yesOrNo(publishing.persistent),
       "For producers: messages in a durable queue survive the broker's restart"},
      {"priority", countOf("0 to 255", 0, 255, setPriority),
       "For producers: of each message, in a queue with x-max-priority; its consumer is then not Tenure"},
      {"expiration", duration(publishing.expiration, {0ms, rabbitmq::longestExpiration}, "none"),
       "For producers: how long a message may wait in a queue before the broker drops it"},
      {"pack", count(publishing.pack, {1, 1'000}),
       "For producers: messages of one append that travel in one body, which Tenure's consumers take apart"},
      {"content-type", shortText(publishing.contentType, "TYPE", "none"),
       "For producers: of each body, such as application/json"},
  };
}

}  // namespace

Options parametersOf(rabbitmq::Options& options) {
  const Options ofConsumersAndConnections{
      {"queue", bytes(options.queue, 200), "Which queue; declared when it is absent"},
      {"type", choice(options.type, types, {}), "For declaring it"},
      {"arguments", argumentsOf(options),
       "What to declare it with and to compare it by, such as x-dead-letter-exchange=dead,x-max-length=100000"},
      {"attach", choice(options.exclusivity, exclusivities, {}),
       "How it is consumed alone: single-active for a queue declared with x-single-active-consumer; a quorum queue "
       "needs "
       "that"},
      {"attach-limit", duration(options.attachLimit, {0ms, waits.most}),
       "Maximum wait for another consumer to go away"},
      {"prefetch", count(options.prefetch, {1, 65535}),
       "Maximum number of messages in our hands; a consumer that coalesces takes as many as --coalesce-ahead, up to "
       "16,384, unless this says how many"},
      {"delivery-limit", choice(options.deliveryLimit, deliveryLimits, {}),
       "Where a quorum queue's limit stands: policy when you have set one (delivery-limit -1, or 100 and more), which "
       "AMQP does not tell; an absent queue is declared without a limit"},
      {"largest-body", count(options.largestBody, {1U << 20U, 1U << 30U}),
       "Maximum size of a body, in bytes; a larger one becomes a dead letter without its body, which goes to the "
       "queue's "
       "dead-letter exchange where it has one. Memory: up to prefetch x largest-body, 4 GiB by default, and each body "
       "twice while it is put together; where bodies are large, choose both smaller"},
      {"heartbeat", duration(options.heartbeat, {1s, 60s}), "Time between two heartbeats, below the session timeout"},
      {"missing-id", choice(options.missingId, missingIds, {}),
       "What becomes of a message without message_id; derive: a digest of all that was published is its id, and "
       "headers "
       "named x-... count if they are strings"},
      {"group", choice(options.groupFrom, groupPlaces, {}),
       "Where a message's group stands; what comes through the default exchange, as from `tenure produce`, has it in "
       "the "
       "header in any case"},
      {"group-header", bytes(options.groupHeader, 255), "Which header"},
      {"password-file", file(options.passwordFile),
       "Its first line is the password; without it TENURE_RABBITMQ_PASSWORD"},
      {"tls-authority", file(options.tls.authority), "A file of certificates to trust"},
      {"tls-certificate", file(options.tls.certificate), "The certificate that says who we are"},
      {"tls-key", file(options.tls.key), "Its key"},
      {"connect-limit", duration(options.connectLimit, waits), "Maximum wait for the broker"},
      {"reply-limit", duration(options.replyLimit, waits), "Maximum wait for its answer"},
      {"confirm-limit", duration(options.confirmLimit, waits),
       "Maximum wait of a producer for the next confirm, or for a blocked broker"},
  };
  return joined(ofConsumersAndConnections, publishingOf(options.publishing));
}

Result<rabbitmq::Options> rabbitmqOptions(const Url& url) {
  if (!url.hasAuthority || url.host.empty())
    return Error{Errc::invalidArgument,
                 "a RabbitMQ URL names a host: expected one such as amqp://host/vhost?queue=orders"};
  rabbitmq::Options options;
  if (const auto set = setParameters(url, parametersOf(options)); !set) return set.error();
  if (const auto checked = checkTlsIsOn(url); !checked) return checked.error();
  options.host = url.host;
  options.port = url.port.value_or(0);
  if (!url.user.empty()) options.user = url.user;
  if (url.path.size() > 1) options.virtualHost = url.path.substr(1);
  options.tls.on = url.scheme == "amqps";
  if (const auto valid = rabbitmq::validate(options); !valid) return inParameters(valid.error());
  return options;
}

}  // namespace tenure::places
