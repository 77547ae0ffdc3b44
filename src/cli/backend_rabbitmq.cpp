#include <algorithm>

#include "base/secret_variables.hpp"
#include "base/text.hpp"
#include "cli/backend_options.hpp"
#include "cli/backends.hpp"
#include "cli/password_file.hpp"

namespace tenure::cli {
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

constexpr const char* page = R"help(
amqp://[USER@]HOST[:PORT][/VHOST][?queue=NAME][&PARAMETER=VALUE]…     amqps:// with TLS
  A queue of RabbitMQ 3.10 or later; --store names where effects go.
  queue            which queue (default "default"); declared when it is absent
  type             classic or quorum, for declaring (default classic)
  arguments        NAME=VALUE[,NAME=VALUE]… to declare it with and to compare it by, such as
                   x-dead-letter-exchange=dead,x-max-length=100000
  attach           exclusive, or single-active for a queue declared with x-single-active-consumer
                   (default exclusive; a quorum queue needs single-active)
  attach-limit     how long to wait for another consumer to go away (default 5s)
  prefetch         messages in our hands at most (default 256; of a consumer that collapses, as many
                   as --collapse-ahead, up to 16384)
  delivery-limit   where a quorum queue's limit stands: declaration, or policy when you have set one
                   (delivery-limit -1, or 100 and more), which AMQP does not tell (default
                   declaration; an absent queue is declared without a limit)
  largest-body     in bytes; a larger one becomes a dead letter without its body, which goes to the
                   queue's dead-letter exchange where it has one (default 16777216)
                   Memory: up to prefetch x largest-body, 4 GiB by default, and each body twice
                   while it is put together; where bodies are large, choose both smaller
  heartbeat        1s to 60s, below the session timeout (default 5s)
  missing-id       what becomes of a message without message_id: dead-letter, or derive for a digest
                   of all that was published; headers named x-… count if they are strings
                   (default dead-letter)
  group            where a message's group stands: header or routing-key (default header); what
                   comes through the default exchange, as from `tenure produce`, has it in the
                   header in any case
  group-header     which header (default x-group)
  password-file    the password is its first line; else TENURE_RABBITMQ_PASSWORD
  tls-authority    a file of certificates to trust; tls-certificate and tls-key say who we are
  connect-limit    how long to wait for the broker (default 5s)
  reply-limit      how long to wait for its answer (default 5s)
  confirm-limit    how long a producer waits for the next confirm, or for a blocked broker (default 10s)
  Least rights, as rabbitmqctl set_permissions takes them (configure, write, read):
    consumer  '^tenure\.owner\.' '^tenure\.owner\.' '^(tenure\.owner\.|QUEUE$)'
    producer  '^$' '^amq\.default$' '^$'
  Who declares an absent queue, or names its type, arguments or attach=single-active, may also
  configure it: '^(tenure\.owner\.|QUEUE$)' and '^QUEUE$'.
)help";

}  // namespace

const Scheme rabbitmqScheme{"amqp", page, make};
const Scheme rabbitmqTlsScheme{"amqps", "", make};

}  // namespace tenure::cli
