#include <algorithm>

#include "base/text.hpp"
#include "cli/backend_options.hpp"

namespace tenure::cli {
namespace {

using namespace std::chrono_literals;
using rabbitmq::Options;
using Value = const std::string&;

constexpr auto longestWait = 10min;

template <class T>
struct Choice {
  std::string_view name;
  T value;
};

template <class T, std::size_t N>
Result<T> oneOf(std::string_view name, const std::string& text, const Choice<T> (&choices)[N]) {
  std::string expected;
  for (const Choice<T>& choice : choices) {
    if (choice.name == text) return choice.value;
    expected += (expected.empty() ? "" : " or ") + std::string(choice.name);
  }
  return Error{Errc::invalidArgument,
               std::string(name) + " \"" + escaped(text) + "\" is not known: expected " + expected};
}

constexpr Choice<rabbitmq::QueueType> types[] = {{"classic", rabbitmq::QueueType::classic},
                                                 {"quorum", rabbitmq::QueueType::quorum}};
constexpr Choice<rabbitmq::Exclusivity> exclusivities[] = {
    {"exclusive", rabbitmq::Exclusivity::exclusiveConsumer},
    {"single-active", rabbitmq::Exclusivity::singleActiveConsumer}};
constexpr Choice<rabbitmq::DeliveryLimitFrom> deliveryLimits[] = {
    {"declaration", rabbitmq::DeliveryLimitFrom::declaration}, {"policy", rabbitmq::DeliveryLimitFrom::policy}};
constexpr Choice<rabbitmq::MissingId> missingIds[] = {{"dead-letter", rabbitmq::MissingId::deadLetter},
                                                      {"derive", rabbitmq::MissingId::derive}};
constexpr Choice<rabbitmq::GroupFrom> groupPlaces[] = {{"header", rabbitmq::GroupFrom::header},
                                                       {"routing-key", rabbitmq::GroupFrom::routingKey}};

Result<std::string> brokersQueueName(const std::string& value) {
  if (!value.empty() && value.size() <= 200 && isText(value)) return value;
  return Error{Errc::invalidArgument, "queue must be 1 to 200 bytes of UTF-8, not \"" + escaped(value) + "\""};
}

Result<std::string> headerName(const std::string& value) {
  if (!value.empty() && value.size() <= 255) return value;
  return Error{Errc::invalidArgument, "group-header must be 1 to 255 bytes, not \"" + escaped(value) + "\""};
}

Result<void> setHeartbeat(Options& options, Value value) {
  const auto heartbeat = durationBetween("heartbeat", value, 1s, 60s);
  if (!heartbeat) return heartbeat.error();
  if (*heartbeat % 1s != 0ms) return Error{Errc::invalidArgument, "heartbeat must be whole seconds"};
  options.heartbeat = std::chrono::duration_cast<std::chrono::seconds>(*heartbeat);
  return {};
}

Result<void> setPrefetch(Options& options, Value value) {
  const auto prefetch = numberBetween("prefetch", value, 1, 65535);
  if (!prefetch) return prefetch.error();
  options.prefetch = static_cast<std::uint16_t>(*prefetch);
  return {};
}

/// "x-max-length=5,x-overflow=reject-publish"; what is a number is compared as one.
Result<void> setArguments(Options& options, Value value) {
  for (std::string_view rest = value; !rest.empty();) {
    const std::string_view pair = rest.substr(0, rest.find(','));
    rest.remove_prefix(std::min(rest.size(), pair.size() + 1));
    const std::size_t equals = pair.find('=');
    if (equals == 0 || equals >= pair.size() - 1)
      return Error{Errc::invalidArgument,
                   "arguments \"" + escaped(pair) + "\" is no NAME=VALUE, such as x-max-length=5"};
    const std::string text(pair.substr(equals + 1));
    const auto number = parseInteger(text);
    const auto added = options.arguments.emplace(pair.substr(0, equals),
                                                 number ? std::variant<std::int64_t, std::string>(*number) : text);
    if (!added.second)
      return Error{Errc::invalidArgument, "arguments names \"" + escaped(added.first->first) + "\" twice"};
  }
  return {};
}

Result<void> setLargestBody(Options& options, Value value) {
  const auto bytes = numberBetween("largest-body", value, 1 << 20, 1 << 30);
  if (!bytes) return bytes.error();
  options.largestBody = static_cast<std::size_t>(*bytes);
  return {};
}

constexpr Parameter<Options> parameters[] = {
    {"queue", [](Options& options, Value value) { return assign(options.queue, brokersQueueName(value)); }},
    {"type", [](Options& options, Value value) { return assign(options.type, oneOf("type", value, types)); }},
    {"arguments", setArguments},
    {"attach",
     [](Options& options, Value value) { return assign(options.exclusivity, oneOf("attach", value, exclusivities)); }},
    {"attach-limit",
     [](Options& options, Value value) {
       return assign(options.attachLimit, durationBetween("attach-limit", value, 0ms, longestWait));
     }},
    {"prefetch", setPrefetch},
    {"delivery-limit",
     [](Options& options, Value value) {
       return assign(options.deliveryLimit, oneOf("delivery-limit", value, deliveryLimits));
     }},
    {"largest-body", setLargestBody},
    {"heartbeat", setHeartbeat},
    {"missing-id",
     [](Options& options, Value value) { return assign(options.missingId, oneOf("missing-id", value, missingIds)); }},
    {"group",
     [](Options& options, Value value) { return assign(options.groupFrom, oneOf("group", value, groupPlaces)); }},
    {"group-header", [](Options& options, Value value) { return assign(options.groupHeader, headerName(value)); }},
    {"password-file",
     [](Options& options, Value value) { return assign(options.passwordFile, pathNamed("password-file", value)); }},
    {"tls-authority",
     [](Options& options, Value value) { return assign(options.tls.authority, pathNamed("tls-authority", value)); }},
    {"tls-certificate",
     [](Options& options, Value value) {
       return assign(options.tls.certificate, pathNamed("tls-certificate", value));
     }},
    {"tls-key", [](Options& options, Value value) { return assign(options.tls.key, pathNamed("tls-key", value)); }},
    {"connect-limit",
     [](Options& options, Value value) {
       return assign(options.connectLimit, durationBetween("connect-limit", value, 1ms, longestWait));
     }},
    {"reply-limit",
     [](Options& options, Value value) {
       return assign(options.replyLimit, durationBetween("reply-limit", value, 1ms, longestWait));
     }},
    {"confirm-limit",
     [](Options& options, Value value) {
       return assign(options.confirmLimit, durationBetween("confirm-limit", value, 1ms, longestWait));
     }},
};

/// Whoever names them means to be safe, and would not be.
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
      {"confirmLimit", "confirm-limit"}};
  for (const auto& [field, parameter] : names)
    if (const std::size_t at = error.detail.find(field); at != std::string::npos)
      error.detail.replace(at, field.size(), parameter);
  return error;
}

}  // namespace

Result<Options> rabbitmqOptions(const Url& url) {
  if (!url.hasAuthority || url.host.empty())
    return Error{Errc::invalidArgument,
                 "a RabbitMQ URL names a host: expected one such as amqp://host/vhost?queue=orders"};
  Options options;
  if (const auto set = setParameters<Options>(options, url, parameters); !set) return set.error();
  if (const auto checked = checkTlsIsOn(url); !checked) return checked.error();
  options.host = url.host;
  options.port = url.port.value_or(0);
  if (!url.user.empty()) options.user = url.user;
  if (url.path.size() > 1) options.virtualHost = url.path.substr(1);
  options.tls.on = url.scheme == "amqps";
  if (const auto valid = rabbitmq::validate(options); !valid) return inParameters(valid.error());
  return options;
}

}  // namespace tenure::cli
