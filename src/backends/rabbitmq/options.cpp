#include "backends/rabbitmq/options.hpp"

#include <cstdlib>
#include <fstream>

#include "backends/rabbitmq/delivery_limit.hpp"
#include "backends/rabbitmq/publication.hpp"
#include "base/secret_variables.hpp"
#include "base/text.hpp"
#include "base/validation.hpp"
#include "tenure/rabbitmq.hpp"

namespace tenure::rabbitmq {
namespace {

using namespace std::chrono_literals;

void checkPlace(const Options& options, Complaints& complaints) {
  const auto fits = [](const std::string& text) {
    return !text.empty() && text.size() <= 255 && text.find('\0') == std::string::npos;
  };
  complaints.require(fits(options.host), "host", options.host, "must be 1 to 255 bytes");
  complaints.require(fits(options.virtualHost), "virtualHost", options.virtualHost, "must be 1 to 255 bytes");
  complaints.require(fits(options.user), "user", options.user, "must be 1 to 255 bytes");
  complaints.require(fits(options.queue) && options.queue.size() <= 200 && !options.queue.starts_with("amq."), "queue",
                     options.queue, "must be 1 to 200 bytes and not begin with \"amq.\"");
  complaints.require(fits(options.groupHeader), "groupHeader", options.groupHeader, "must be 1 to 255 bytes");
  complaints.require(!options.tls.on || !options.tls.authority.empty(), "tls.authority", "",
                     "must name the file of certificates to trust");
  complaints.require(options.tls.certificate.empty() == options.tls.key.empty(), "tls.key", options.tls.key.string(),
                     "certificate and key go together");
}

void checkPublishing(const Publishing& publishing, Complaints& complaints) {
  const auto check = [&](const std::string& text, const char* name) {
    complaints.require(text.size() <= 255 && isText(text), name, text, "must be at most 255 bytes of UTF-8");
  };
  check(publishing.exchange, "exchange");
  check(publishing.routingKey.value_or(""), "routingKey");
  check(publishing.contentType, "contentType");
  complaints.require(!publishing.routingKey || !publishing.exchange.empty(), "routingKey",
                     publishing.routingKey.value_or(""),
                     "needs an exchange: without one, messages go to the queue by its name");
  complaints.require(publishing.pack >= 1 && publishing.pack <= 1'000, "pack",
                     static_cast<std::int64_t>(publishing.pack), "must be 1 to 1000");
  complaints.require(publishing.pack == 1 || publishing.exchange.empty(), "pack",
                     static_cast<std::int64_t>(publishing.pack),
                     "must be 1 with an exchange, which routes each message by its group");
  const std::chrono::milliseconds expiration = publishing.expiration.value_or(0ms);
  complaints.require(expiration >= 0ms && expiration <= longestExpiration, "expiration", expiration,
                     "must be 0 to 4294967295 ms");
}

void checkLimits(const Options& options, Complaints& complaints) {
  const auto limit = [&](std::chrono::milliseconds value, const char* name) {
    complaints.require(value >= 10ms && value <= 1h, name, value, "must be 10 ms to 1 h");
  };
  complaints.require(options.heartbeat >= 1s && options.heartbeat <= 60s, "heartbeat", options.heartbeat,
                     "must be 1 to 60 s: without heartbeats a dead leader keeps the queue for hours");
  complaints.require(options.prefetch >= 1, "prefetch", std::int64_t{options.prefetch},
                     "must be at least 1: without a limit the broker sends the whole queue");
  complaints.require(options.largestBody >= maxBodyBytes, "largestBody", static_cast<std::int64_t>(options.largestBody),
                     "must be at least what a message of ours may have, 1 MiB");
  limit(options.attachLimit, "attachLimit");
  limit(options.connectLimit, "connectLimit");
  limit(options.replyLimit, "replyLimit");
  limit(options.confirmLimit, "confirmLimit");
}

bool allowsManyDeliveries(const std::variant<std::int64_t, std::string>& limit) {
  const auto* number = std::get_if<std::int64_t>(&limit);
  return number != nullptr && (*number == noDeliveryLimit || *number >= fewestDeliveries);
}

void checkQueue(const Options& options, Complaints& complaints) {
  complaints.require(options.type == QueueType::classic || options.exclusivity == Exclusivity::singleActiveConsumer,
                     "exclusivity", "exclusiveConsumer",
                     "RabbitMQ does not keep other consumers off a quorum queue: use singleActiveConsumer");
  for (const auto& [name, value] : options.arguments) {
    complaints.require(!name.empty() && name.size() <= 255, "arguments", name, "a name must be 1 to 255 bytes");
    complaints.require(name != "x-queue-type" && name != "x-single-active-consumer", "arguments", name,
                       "has an option of its own");
    complaints.require(name != "x-max-priority", "arguments", name, "priorities break the order");
    complaints.require(name != deliveryLimitArgument || allowsManyDeliveries(value), "arguments", name,
                       "must be at least 100, or -1 for none: leaders that come and go would use it up, and the "
                       "broker drop a sound message behind our back");
  }
}

}  // namespace

Result<void> validate(const Options& options) {
  Complaints complaints;
  checkPlace(options, complaints);
  checkLimits(options, complaints);
  checkQueue(options, complaints);
  checkPublishing(options.publishing, complaints);
  if (complaints.empty()) return {};
  return Error{Errc::configurationRefused, complaints.message()};
}

int portOf(const Options& options) noexcept {
  constexpr int plainPort = 5672;
  constexpr int tlsPort = 5671;
  if (options.port != 0) return options.port;
  return options.tls.on ? tlsPort : plainPort;
}

Result<Secret> passwordOf(const Options& options) {
  std::string password;
  if (options.passwordFile.empty()) {
    const char* value = std::getenv(rabbitmqPasswordVariable);
    if (value == nullptr)
      return Error{Errc::configurationRefused,
                   std::string{"no password: name a file that holds it, or set "} + rabbitmqPasswordVariable};
    password = value;
  } else {
    std::ifstream file(options.passwordFile);
    if (!std::getline(file, password))
      return Error{Errc::configurationRefused,
                   "no password can be read from \"" + escaped(options.passwordFile.string()) + "\""};
    if (password.ends_with('\r')) password.pop_back();
  }
  if (password.find('\0') != std::string::npos)
    return Error{Errc::configurationRefused, "the password holds a NUL byte, which AMQP's PLAIN cannot carry"};
  return Secret{std::move(password)};
}

}  // namespace tenure::rabbitmq
