#include "support/rabbitmq_server.hpp"

#include <signal.h>

#include <fstream>
#include <mutex>
#include <stdexcept>

#include "base/random.hpp"
#include "support/ensemble.hpp"

namespace tenure::test {
namespace {

std::string quoted(const std::string& text) { return "<<\"" + text + "\">>"; }

/// A queue or an exchange, in the virtual host "/".
std::string resource(const std::string& kind, const std::string& name) {
  return "rabbit_misc:r(<<\"/\">>, " + kind + ", " + quoted(name) + ")";
}

}  // namespace

RabbitServer::RabbitServer(std::optional<RabbitTls> tls) : tls_(std::move(tls)) {
  for (int attempt = 0; attempt < startAttempts; ++attempt) {
    choosePorts();
    writeConfiguration();
    portMapper_.emplace(Program::Arguments{"epmd", "-port", std::to_string(ports_[3]), "-address", "127.0.0.1"},
                        folder_ / "epmd.log", environment());
    launch();
    if (waitUntilServing()) {
      setUser("tenure", ".*", ".*", ".*");
      return;
    }
    broker_.reset();  // most likely somebody took a port: choose others
  }
  throw std::runtime_error("RabbitMQ does not start; see " + folder_.path().string());
}

RabbitServer::~RabbitServer() = default;

RabbitServer& RabbitServer::shared() {
  static RabbitServer server;
  return server;
}

rabbitmq::Options RabbitServer::options(const std::string& queue) const {
  rabbitmq::Options options;
  options.host = "127.0.0.1";
  options.port = port();
  options.user = "tenure";
  options.passwordFile = passwordFile(password);
  options.queue = queue;
  return options;
}

std::filesystem::path RabbitServer::passwordFile(const std::string& text) const {
  const std::filesystem::path file = folder_ / ("password-" + text);
  std::ofstream(file) << text << '\n';
  return file;
}

void RabbitServer::kill() { broker_.reset(); }

void RabbitServer::stop() {
  broker_->signal(SIGTERM);
  broker_->waitForEnd(startLimit);
  broker_.reset();
}

/// While the broker was down another program may have taken its port between nodes, which only the port mapper knows.
void RabbitServer::start() {
  for (int attempt = 0; attempt < startAttempts; ++attempt) {
    ports_.at(2) = freePorts(1).front();
    launch();
    if (waitUntilServing()) return;
    broker_.reset();
  }
  throw std::runtime_error("RabbitMQ does not start again:\n" + log());
}

void RabbitServer::restart() {
  stop();
  start();
}

std::string RabbitServer::evaluate(const std::string& erlang) const {
  constexpr std::string_view before = "{ok, {well, ";
  constexpr std::string_view after = "}}";
  const std::string number = freshUuid();
  std::ofstream(folder_ / number) << "try " << erlang << " of X -> {well, X} catch C:E -> {C, E} end.\n";
  Program call({"erl_call", "-c", cookie(), "-name", node(), "-e"}, folder_ / ("answer-" + number), environment(),
               folder_ / number);
  call.waitForEnd();
  const std::string answer = call.output();
  if (!answer.starts_with(before)) throw std::runtime_error(erlang + ": " + answer);
  return answer.substr(before.size(), answer.size() - before.size() - after.size());
}

void RabbitServer::closeConnections() const {
  evaluate("[rabbit_networking:close_connection(P, \"closed by a test\") || P <- rabbit_networking:connections()]");
}

void RabbitServer::deleteQueue(const std::string& queue) const {
  evaluate("begin {ok, Q} = rabbit_amqqueue:lookup(" + resource("queue", queue) +
           "), {ok, _} = rabbit_amqqueue:delete(Q, false, false, <<\"test\">>) end");
}

void RabbitServer::declareExchange(const std::string& exchange, const std::string& type, bool internal) const {
  evaluate("rabbit_exchange:declare(" + resource("exchange", exchange) + ", " + type + ", true, false, " +
           (internal ? "true" : "false") + ", [], <<\"test\">>)");
}

void RabbitServer::deleteExchange(const std::string& exchange) const {
  evaluate("rabbit_exchange:delete(" + resource("exchange", exchange) + ", false, <<\"test\">>)");
}

void RabbitServer::bind(const std::string& exchange, const std::string& routingKey, const std::string& queue) const {
  evaluate("ok = rabbit_binding:add({binding, " + resource("exchange", exchange) + ", " + quoted(routingKey) + ", " +
           resource("queue", queue) + ", []}, <<\"test\">>)");
}

void RabbitServer::raiseMemoryAlarm() const {
  evaluate("rabbit_alarm:set_alarm({{resource_limit, memory, node()}, []})");
}

void RabbitServer::clearMemoryAlarm() const { evaluate("rabbit_alarm:clear_alarm({resource_limit, memory, node()})"); }

void RabbitServer::claimVersion(const std::string& version) const {
  const std::string property = version.empty() ? "" : "{<<\"version\">>, longstr, " + quoted(version) + "}";
  evaluate("application:set_env(rabbit, server_properties, [" + property + "])");
}

void RabbitServer::setUser(const std::string& name, const std::string& configure, const std::string& write,
                           const std::string& read) const {
  evaluate("rabbit_auth_backend_internal:put_user(#{name => " + quoted(name) + ", password => " + quoted(password) +
           ", tags => <<>>}, <<\"test\">>)");
  evaluate("rabbit_auth_backend_internal:set_permissions(" + quoted(name) + ", <<\"/\">>, " + quoted(configure) + ", " +
           quoted(write) + ", " + quoted(read) + ", <<\"test\">>)");
}

void RabbitServer::limitRoutingKeys(const std::string& user, const std::string& exchange,
                                    const std::string& write) const {
  evaluate("rabbit_auth_backend_internal:set_topic_permissions(" + quoted(user) + ", <<\"/\">>, " + quoted(exchange) +
           ", " + quoted(write) + ", <<\".*\">>, <<\"test\">>)");
}

void RabbitServer::choosePorts() { ports_ = freePorts(4); }

void RabbitServer::writeConfiguration() const {
  for (const char* folder : {"home", "data", "log"}) std::filesystem::create_directories(folder_ / folder);
  std::ofstream(folder_ / "enabled_plugins") << "[].\n";
  std::ofstream file(folder_ / "rabbitmq.conf");
  file << "listeners.tcp.1 = 127.0.0.1:" << port() << "\nlog.console = true\nlog.console.level = info\n"
       << "log.file = false\ndisk_free_limit.absolute = 1MB\n";
  if (tls_)
    file << "listeners.ssl.1 = 127.0.0.1:" << tlsPort() << "\nssl_options.cacertfile = " << tls_->authority.string()
         << "\nssl_options.certfile = " << tls_->certificate.string()
         << "\nssl_options.keyfile = " << tls_->key.string() << '\n';
}

void RabbitServer::launch() {
  // The distribution's wrapper would change the user; told that systemd runs it, the script becomes the broker itself.
  broker_.emplace(Program::Arguments{"/usr/lib/rabbitmq/bin/rabbitmq-server"},
                  folder_ / ("broker" + std::to_string(++launches_) + ".log"), environment());
}

Program::Arguments RabbitServer::environment() const {
  const std::string folder = folder_.path().string();
  return {"HOME=" + folder + "/home", "ERL_EPMD_PORT=" + std::to_string(ports_[3]), "ERL_EPMD_ADDRESS=127.0.0.1",
          "RABBITMQ_NODENAME=" + node(), "RABBITMQ_MNESIA_BASE=" + folder + "/data",
          "RABBITMQ_LOG_BASE=" + folder + "/log", "RABBITMQ_LOGS=-",
          "RABBITMQ_ENABLED_PLUGINS_FILE=" + folder + "/enabled_plugins",
          "RABBITMQ_CONFIG_FILE=" + folder + "/rabbitmq.conf", "RABBITMQ_CONF_ENV_FILE=/dev/null",
          "RABBITMQ_DIST_PORT=" + std::to_string(ports_[2]), "RUNNING_UNDER_SYSTEMD=1",
          // One scheduler, which does not spin: it has the machine's cores to share with the tests.
          "RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS=+S 1:1 +SDcpu 1 +SDio 1 +sbwt none +sbwtdcpu none +sbwtdio none "
          "-setcookie " +
              cookie() + " -kernel inet_dist_use_interface {127,0,0,1}"};
}

bool RabbitServer::waitUntilServing() { return broker_->waitForOutput("Server startup complete", 1, startLimit); }

std::string freshQueueName() { return "orders-" + freshUuid().substr(0, 12); }

}  // namespace tenure::test
