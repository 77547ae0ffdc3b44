#include "backends/rabbitmq/delivery_limit.hpp"

#include "base/text.hpp"

namespace tenure::rabbitmq {
namespace {

constexpr std::int64_t firstThatKnowsNone = 4;  // the version

std::string shellQuoted(std::string_view text) {
  std::string out = "'";
  for (const char c : escaped(text)) out += c == '\'' ? "'\\''" : std::string(1, c);
  return out + "'";
}

/// A name is no pattern: what means something in one is put into brackets, or stands for any character where those or
/// the shell would take it for something else.
std::string patternFor(std::string_view name) {
  std::string pattern = "^";
  for (const char c : name) {
    if (std::string_view{"$.|?*+(){}"}.find(c) != std::string_view::npos)
      pattern.append({'[', c, ']'});
    else
      pattern += std::string_view{"\\^[]'\""}.find(c) != std::string_view::npos ? '.' : c;
  }
  return pattern + "$";
}

std::string declareAnew(const Options& options) {
  return "move its messages, delete it (rabbitmqctl delete_queue -p " + shellQuoted(options.virtualHost) + " " +
         shellQuoted(options.queue) + "), and the next leader or producer declares it anew";
}

std::string setPolicy(const Options& options) {
  return "rabbitmqctl set_policy -p " + shellQuoted(options.virtualHost) + " " +
         shellQuoted("tenure-" + options.queue) + " " + shellQuoted(patternFor(options.queue)) + " " +
         R"('{"delivery-limit":-1}')" + " --apply-to quorum_queues, then say that it is there: delivery-limit=policy";
}

}  // namespace

bool knowsNoDeliveryLimit(std::string_view serverVersion) noexcept {
  const auto major = parseInteger(serverVersion.substr(0, serverVersion.find('.')));
  return !major || *major >= firstThatKnowsNone;
}

std::string dangerOf(const DeliveryLimit& limit, std::string_view serverVersion, const Options& options) {
  const bool knowsNone = knowsNoDeliveryLimit(serverVersion);
  if (!limit.declared) {
    if (!knowsNone || options.deliveryLimit == DeliveryLimitFrom::policy) return {};
    if (!limit.told)
      return "the broker does not tell its x-delivery-limit: name it in the arguments, such as x-delivery-limit=-1";
    return "it has no x-delivery-limit, which RabbitMQ 4 takes for 20, and leaders that come and go would use it up: " +
           setPolicy(options);
  }
  const auto* number = std::get_if<std::int64_t>(&*limit.declared);
  if (number != nullptr && *number >= fewestDeliveries) return {};
  if (number != nullptr && *number < 0) {
    if (knowsNone) return {};
    return "an x-delivery-limit of -1 means none from RabbitMQ 4 on; this one, " + escaped(serverVersion) +
           ", drops each message that comes again: " + declareAnew(options);
  }
  const std::string shown = number != nullptr ? std::to_string(*number) : "another kind";
  return "an x-delivery-limit of " + shown + " is below " + std::to_string(fewestDeliveries) +
         ", and leaders that come and go would use it up; no policy raises it: " + declareAnew(options);
}

}  // namespace tenure::rabbitmq
