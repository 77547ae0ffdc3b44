#include "backends/rabbitmq/connection.hpp"

#include <amqp_framing.h>
#include <amqp_ssl_socket.h>
#include <amqp_tcp_socket.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <vector>

#include "backends/rabbitmq/bytes.hpp"
#include "backends/rabbitmq/errors.hpp"
#include "backends/rabbitmq/options.hpp"
#include "backends/shared/servers.hpp"
#include "base/answer_timer.hpp"
#include "base/text.hpp"

namespace tenure::rabbitmq {

namespace {

constexpr int anyNumberOfChannels = 0;
constexpr int frameBytes = AMQP_DEFAULT_FRAME_SIZE;

timeval timevalOf(std::chrono::milliseconds limit) noexcept {
  return {.tv_sec = limit.count() / 1000, .tv_usec = limit.count() % 1000 * 1000};
}

amqp_channel_t number(Channel channel) noexcept { return static_cast<amqp_channel_t>(channel); }

Result<void> sent(int status, const char* doing) {
  if (status == AMQP_STATUS_OK) return {};
  return errorOfStatus(status, doing);
}

amqp_field_value_t fieldOf(const std::variant<std::int64_t, std::string>& value) {
  if (const auto* integer = std::get_if<std::int64_t>(&value)) return integerField(*integer);
  return stringField(std::get<std::string>(value));
}

amqp_field_value_t fieldOf(const QueueArgument& value) {
  if (const auto* truth = std::get_if<bool>(&value)) return truthField(*truth);
  if (const auto* integer = std::get_if<std::int64_t>(&value)) return integerField(*integer);
  return stringField(std::get<std::string>(value));
}

/// What the broker compares when the queue is there already.
std::vector<amqp_table_entry_t> queueArguments(const Options& options) {
  std::vector<amqp_table_entry_t> entries;
  if (options.type == QueueType::quorum) entries.push_back({bytesOf("x-queue-type"), stringField("quorum")});
  if (options.exclusivity == Exclusivity::singleActiveConsumer)
    entries.push_back({bytesOf("x-single-active-consumer"), truthField(true)});
  for (const auto& [name, value] : options.arguments) entries.push_back({bytesOf(name), fieldOf(value)});
  return entries;
}

}  // namespace

Connection::Connection(const Options& options) : options_(options), state_(amqp_new_connection()) {}

Connection::~Connection() { amqp_destroy_connection(state_); }

Result<std::unique_ptr<Connection>> Connection::open(const Options& options, const std::string& purpose,
                                                     AnswerTimer* timer) {
  return backends::openFirst(options, {}, [&](const Options& server) { return openOne(server, purpose, timer); });
}

Result<std::unique_ptr<Connection>> Connection::openOne(const Options& server, const std::string& purpose,
                                                        AnswerTimer* timer) {
  std::unique_ptr<Connection> connection(new Connection(server));
  connection->limitAnswers(timer);
  if (Result<void> connected = connection->connect(); !connected) return connected.error();
  if (Result<void> in = connection->login(purpose); !in) return in.error();
  if (Result<void> opened = connection->openChannel(Channel::work); !opened) return opened.error();
  return connection;
}

std::string Connection::server() const { return options_.host + ":" + std::to_string(portOf(options_)); }

/// The library waits for the answer in one go: until then at the latest.
timeval Connection::ask(std::chrono::milliseconds limit) {
  if (timer_ != nullptr) {
    timer_->asked(BootClock::now());
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(timer_->deadline() - BootClock::now());
    limit = std::clamp(left, std::chrono::milliseconds{1}, limit);
  }
  return timevalOf(limit);
}

void Connection::askForReply() {
  const timeval limit = ask(options_.replyLimit);
  amqp_set_rpc_timeout(state_, &limit);
}

/// A refusal is an answer, too.
void Connection::heard(const amqp_rpc_reply_t& reply) {
  if (timer_ == nullptr) return;
  const bool answered = reply.reply_type != AMQP_RESPONSE_LIBRARY_EXCEPTION;
  ++(answered ? answerTally().answered : answerTally().unanswered);
  if (answered) return timer_->answered(BootClock::now());
  timer_->mayWait(BootClock::now());  // tells it
}

/// Nothing that is sent waits longer for the other end's machine to take it.
void Connection::endSilence(std::chrono::milliseconds limit) noexcept {
  const auto patience = static_cast<unsigned>(limit.count());
  setsockopt(descriptor(), IPPROTO_TCP, TCP_USER_TIMEOUT, &patience, sizeof patience);
}

Result<void> Connection::connect() {
  const timeval limit = ask(options_.connectLimit);
  amqp_set_handshake_timeout(state_, &limit);
  const int port = portOf(options_);
  const std::string where = "connecting to " + options_.host + ":" + std::to_string(port);
  amqp_socket_t* socket = nullptr;
  if (options_.tls.on) {
    Result<amqp_socket_t*> made = makeTlsSocket(state_, options_.tls);
    if (!made) return made.error();
    socket = *made;
  } else {
    socket = amqp_tcp_socket_new(state_);
  }
  if (socket == nullptr) return Error{Errc::unavailable, where + ": out of memory"};
  errno = 0;
  const int status = amqp_socket_open_noblock(socket, options_.host.c_str(), port, &limit);
  if (status == AMQP_STATUS_OK && timer_ != nullptr)
    endSilence(std::chrono::ceil<std::chrono::milliseconds>(timer_->limit()));
  if (status == AMQP_STATUS_OK) return {};
  const bool isSystems = status == AMQP_STATUS_SOCKET_ERROR && errno != 0;  // the library says no more than "socket"
  return isSystems ? Error{Errc::unavailable, where + ": " + std::strerror(errno)} : errorOfStatus(status, where);
}

Result<void> Connection::login(const std::string& purpose) {
  const Result<Secret> password = passwordOf(options_);
  if (!password) return password.error();
  std::array capabilities{amqp_table_entry_t{bytesOf("consumer_cancel_notify"), truthField(true)},
                          amqp_table_entry_t{bytesOf("connection.blocked"), truthField(true)},
                          amqp_table_entry_t{bytesOf("basic.nack"), truthField(true)},
                          amqp_table_entry_t{bytesOf("publisher_confirms"), truthField(true)}};
  amqp_field_value_t table{};
  table.kind = AMQP_FIELD_KIND_TABLE;
  table.value.table = {static_cast<int>(capabilities.size()), capabilities.data()};
  std::array entries{amqp_table_entry_t{bytesOf("connection_name"), stringField(purpose)},
                     amqp_table_entry_t{bytesOf("capabilities"), table}};
  const amqp_table_t properties{static_cast<int>(entries.size()), entries.data()};
  const timeval limit = ask(options_.connectLimit);
  amqp_set_handshake_timeout(state_, &limit);
  const amqp_rpc_reply_t answer =
      amqp_login_with_properties(state_, options_.virtualHost.c_str(), anyNumberOfChannels, frameBytes,
                                 static_cast<int>(options_.heartbeat.count()), &properties, AMQP_SASL_METHOD_PLAIN,
                                 options_.user.c_str(), password->reveal().c_str());
  heard(answer);
  connected_ = answer.reply_type == AMQP_RESPONSE_NORMAL;
  return resultOf(answer, "logging in");
}

int Connection::descriptor() const noexcept { return amqp_get_sockfd(state_); }

std::chrono::seconds Connection::heartbeat() const noexcept { return std::chrono::seconds{amqp_get_heartbeat(state_)}; }

std::string Connection::serverProperty(std::string_view name) const {
  const amqp_table_t* properties = amqp_get_server_properties(state_);
  for (int i = 0; properties != nullptr && i < properties->num_entries; ++i) {
    const amqp_table_entry_t& entry = properties->entries[i];
    if (viewOf(entry.key) == name && entry.value.kind == AMQP_FIELD_KIND_UTF8)
      return std::string(viewOf(entry.value.value.bytes));
  }
  return {};
}

Result<void> Connection::openChannel(Channel channel) {
  askForReply();
  amqp_channel_open(state_, number(channel));
  return settle(channel, amqp_get_rpc_reply(state_), "opening a channel");
}

Result<void> Connection::closeChannel(Channel channel) {
  askForReply();
  return resultOf(amqp_channel_close(state_, number(channel), AMQP_REPLY_SUCCESS), "closing a channel");
}

Result<void> Connection::close() {
  askForReply();
  connected_ = false;
  return resultOf(amqp_connection_close(state_, AMQP_REPLY_SUCCESS), "closing the connection");
}

/// The broker waits for our word that we know the channel to be closed, before it can be opened again.
Result<void> Connection::settle(Channel channel, const amqp_rpc_reply_t& reply, const char* doing) {
  Result<void> result = resultOf(reply, doing);
  heard(reply);
  if (reply.reply_type == AMQP_RESPONSE_SERVER_EXCEPTION && reply.reply.id == AMQP_CHANNEL_CLOSE_METHOD) {
    amqp_channel_close_ok_t known{};
    amqp_send_method(state_, number(channel), AMQP_CHANNEL_CLOSE_OK_METHOD, &known);
  }
  amqp_maybe_release_buffers(state_);
  return result;
}

Result<QueueCounts> Connection::inspect(Channel channel, const std::string& queue) {
  askForReply();
  const amqp_queue_declare_ok_t* found =
      amqp_queue_declare(state_, number(channel), bytesOf(queue), 1, 0, 0, 0, amqp_empty_table);
  const QueueCounts counts =
      found == nullptr ? QueueCounts{} : QueueCounts{found->message_count, found->consumer_count};
  const Result<void> done = settle(channel, amqp_get_rpc_reply(state_), "looking at the queue");
  if (!done) return done.error();
  return counts;
}

Result<void> Connection::declareQueue(Channel channel, const Options& options) {
  std::vector<amqp_table_entry_t> entries = queueArguments(options);
  askForReply();
  amqp_queue_declare(state_, number(channel), bytesOf(options.queue), 0, 1, 0, 0,
                     {static_cast<int>(entries.size()), entries.data()});
  return settle(channel, amqp_get_rpc_reply(state_), "declaring the queue");
}

Result<void> Connection::compareQueue(Channel channel, const std::string& queue, const QueueArguments& arguments) {
  std::vector<amqp_table_entry_t> entries;
  for (const auto& [name, value] : arguments) entries.push_back({bytesOf(name), fieldOf(value)});
  askForReply();
  amqp_queue_declare(state_, number(channel), bytesOf(queue), 0, 1, 0, 0,
                     {static_cast<int>(entries.size()), entries.data()});
  return settle(channel, amqp_get_rpc_reply(state_), "comparing the queue");
}

Result<void> Connection::declareExchange(Channel channel, const std::string& name, const std::string& alternate) {
  amqp_table_entry_t entry{bytesOf("alternate-exchange"), stringField(alternate)};
  askForReply();
  amqp_exchange_declare(state_, number(channel), bytesOf(name), bytesOf("fanout"), 0, 1, 0, 1, {1, &entry});
  return settle(channel, amqp_get_rpc_reply(state_), "declaring the owner's exchange");
}

Result<void> Connection::compareExchange(Channel channel, const std::string& name) {
  amqp_table_entry_t entry{bytesOf("alternate-exchange"), integerField(0)};
  askForReply();
  amqp_exchange_declare(state_, number(channel), bytesOf(name), bytesOf("fanout"), 0, 1, 0, 1, {1, &entry});
  return settle(channel, amqp_get_rpc_reply(state_), "comparing the owner's exchange");
}

Result<void> Connection::deleteExchange(Channel channel, const std::string& name) {
  askForReply();
  amqp_exchange_delete(state_, number(channel), bytesOf(name), 0);
  return settle(channel, amqp_get_rpc_reply(state_), "deleting the owner's exchange");
}

Result<void> Connection::limitPrefetch(Channel channel, std::uint16_t messages) {
  askForReply();
  amqp_basic_qos(state_, number(channel), 0, messages, 0);
  return settle(channel, amqp_get_rpc_reply(state_), "limiting the prefetch");
}

Result<void> Connection::consume(Channel channel, const std::string& queue, bool exclusively) {
  askForReply();
  amqp_basic_consume(state_, number(channel), bytesOf(queue), amqp_empty_bytes, 0, 0, exclusively ? 1 : 0,
                     amqp_empty_table);
  return settle(channel, amqp_get_rpc_reply(state_), "consuming");
}

Result<void> Connection::selectConfirms(Channel channel) {
  askForReply();
  amqp_confirm_select(state_, number(channel));
  return settle(channel, amqp_get_rpc_reply(state_), "asking for confirms");
}

Result<void> Connection::selectTransactions(Channel channel) {
  askForReply();
  amqp_tx_select(state_, number(channel));
  return settle(channel, amqp_get_rpc_reply(state_), "asking for transactions");
}

Result<void> Connection::rollBack(Channel channel) {
  const timeval limit = ask(options_.confirmLimit);
  amqp_set_rpc_timeout(state_, &limit);
  amqp_tx_rollback(state_, number(channel));
  return settle(channel, amqp_get_rpc_reply(state_), "rolling back");
}

Result<void> Connection::acknowledge(std::uint64_t tag, bool multiple) {
  return sent(amqp_basic_ack(state_, number(Channel::work), tag, multiple ? 1 : 0), "acknowledging");
}

Result<void> Connection::reject(std::uint64_t tag) {
  return sent(amqp_basic_reject(state_, number(Channel::work), tag, 0), "rejecting");
}

Result<void> Connection::publish(const Route& route, const amqp_basic_properties_t& properties, const std::string& body,
                                 Channel channel) {
  return sent(amqp_basic_publish(state_, number(channel), bytesOf(route.exchange), bytesOf(route.routingKey),
                                 route.mandatory ? 1 : 0, 0, &properties, bytesOf(body)),
              "publishing");
}

Result<void> Connection::readArrived(const std::function<Result<void>(const amqp_frame_t&)>& take) {
  for (;;) {
    amqp_frame_t frame{};
    const timeval atOnce{};
    const int status = amqp_simple_wait_frame_noblock(state_, &frame, &atOnce);
    if (status == AMQP_STATUS_TIMEOUT) return {};
    if (status != AMQP_STATUS_OK) return errorOfStatus(status, "reading from the broker");
    Result<void> taken = take(frame);
    // With frames still queued, the library would search all of them at each call.
    if (amqp_frames_enqueued(state_) == 0) amqp_maybe_release_buffers(state_);
    if (!taken) return taken;
  }
}

namespace {

Error unusable(const char* what, const std::filesystem::path& file) {
  return {Errc::configurationRefused, std::string{what} + " \"" + escaped(file.string()) + "\" cannot be used"};
}

}  // namespace

Result<amqp_socket_t*> makeTlsSocket(amqp_connection_state_t state, const Tls& tls) {
  amqp_socket_t* socket = amqp_ssl_socket_new(state);
  if (socket == nullptr) return Error{Errc::unsupported, "TLS cannot be initialized"};
  amqp_ssl_socket_set_verify_peer(socket, 1);
  amqp_ssl_socket_set_verify_hostname(socket, 1);
  if (amqp_ssl_socket_set_ssl_versions(socket, AMQP_TLSv1_2, AMQP_TLSvLATEST) != AMQP_STATUS_OK)
    return Error{Errc::unsupported, "this OpenSSL has no TLS 1.2"};
  if (amqp_ssl_socket_set_cacert(socket, tls.authority.c_str()) != AMQP_STATUS_OK)
    return unusable("the authority's file", tls.authority);
  if (!tls.certificate.empty() &&
      amqp_ssl_socket_set_key(socket, tls.certificate.c_str(), tls.key.c_str()) != AMQP_STATUS_OK)
    return unusable("the certificate or its key", tls.certificate);
  return socket;
}

}  // namespace tenure::rabbitmq
