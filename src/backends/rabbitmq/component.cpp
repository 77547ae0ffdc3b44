#include <algorithm>

#include "backends/rabbitmq/url.hpp"
#include "base/secret_variables.hpp"
#include "base/text.hpp"
#include "places/backend.hpp"
#include "places/secrets.hpp"

namespace tenure::places {
namespace {

class RabbitmqBackend final : public Backend {
 public:
  explicit RabbitmqBackend(rabbitmq::Options options) : options_(std::move(options)) {}

  bool isStore() const noexcept override { return false; }
  const std::string& queue() const noexcept override { return options_.queue; }
  void setQueue(std::string name) override { options_.queue = std::move(name); }
  void setCreate(bool create) override { options_.create = create; }
  void lookAhead(std::size_t messages) override {
    const auto isPrefetch = [](const auto& parameter) { return parameter.first == "prefetch"; };
    if (std::ranges::any_of(parameters(), isPrefetch)) return;
    options_.prefetch = std::max(options_.prefetch, static_cast<std::uint16_t>(std::min(messages, farthestAhead)));
  }
  std::string place() const override {
    return "amqp:" + options_.host + ":" + std::to_string(options_.port) + "/" + options_.virtualHost;
  }
  Result<void> fits(std::chrono::milliseconds sessionTimeout) const override {
    if (options_.heartbeat < sessionTimeout) return {};
    return Error{Errc::configurationRefused,
                 "heartbeat " + formatDuration(options_.heartbeat) + " must be below the session timeout of " +
                     formatDuration(sessionTimeout) + ": a dead leader would keep the queue from the next one"};
  }

  Ends open(IEventSink& events) const override { return {rabbitmq::makeSource(options_, events), nullptr}; }
  Result<std::unique_ptr<IMessageSink>> sink() const override { return rabbitmq::openSink(options_); }
  Result<std::unique_ptr<IQueueAdmin>> queueAdmin() const override { return rabbitmq::openAdmin(options_); }
  std::unique_ptr<IStoreAdmin> storeAdmin() const override { return nullptr; }

 private:
  static constexpr std::size_t farthestAhead = 16'384;  // all of them wait in this process

  rabbitmq::Options options_;
};

Result<std::unique_ptr<Backend>> make(const Url& url) {
  auto options = rabbitmqOptions(url);
  if (!options) return options.error();
  if (const auto there = checkPasswordIsThere(options->passwordFile, rabbitmqPasswordVariable); !there)
    return there.error();
  const std::pair<const char*, std::filesystem::path> files[] = {{"tls-authority", options->tls.authority},
                                                                 {"tls-certificate", options->tls.certificate},
                                                                 {"tls-key", options->tls.key}};
  for (const auto& [name, file] : files)
    if (const auto readable = checkTlsFile(name, file); !readable) return readable.error();
  return std::unique_ptr<Backend>(std::make_unique<RabbitmqBackend>(*std::move(options)));
}

constexpr const char* form =
    "amqp://[USER@]HOST[:PORT][,HOST[:PORT]]...[/VHOST][?PARAMETER=VALUE][&PARAMETER=VALUE]..., amqps:// with TLS";
constexpr const char* about = "A queue of RabbitMQ 3.10 or later; --store names where effects go.";
constexpr const char* remarks = R"help(Least rights, as rabbitmqctl set_permissions takes them (configure, write, read):
  consumer  '^tenure\.owner\.' '^tenure\.owner\.' '^(tenure\.owner\.|QUEUE$)'
  producer  '^$' '^amq\.default$' '^$'
  producer  '^$' '^EXCHANGE$' '^$' with exchange=EXCHANGE
Who declares an absent queue, or names its type, arguments or attach=single-active, may also
configure it: '^(tenure\.owner\.|QUEUE$)' and '^QUEUE$'.
A message may say for itself how it is published, in headers that go before the URL and are not
published themselves: tenure-exchange, tenure-routing-key, tenure-mandatory, tenure-persistent,
tenure-priority, tenure-expiration and tenure-content-type.
)help";

Options parameters() {
  static rabbitmq::Options defaults;
  return parametersOf(defaults);
}

const Scheme rabbitmqScheme{"amqp", form, about, parameters, remarks, make};
const Scheme rabbitmqTlsScheme{"amqps", "", "", nullptr, "", make};

}  // namespace
}  // namespace tenure::places

tenure::Component tenure::rabbitmq::component() { return {{&places::rabbitmqScheme, &places::rabbitmqTlsScheme}}; }
