/// One AMQP connection, every call of rabbitmq-c in one place. It may wait, each time no longer than the options say;
/// heartbeats go out only while it is called. Threads: one at a time.
///
/// A request that the broker refuses closes its channel, not the connection: the channel may be opened again.
#pragma once

#include <amqp.h>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <variant>

#include "backends/rabbitmq/properties.hpp"
#include "base/answer_timer.hpp"
#include "tenure/rabbitmq.hpp"
#include "tenure/result.hpp"

namespace tenure::rabbitmq {

// TLS through rabbitmq-c and OpenSSL: the broker's certificate and its name are verified, always.

/// Owned by the connection. Errors: configurationRefused, when a file cannot be used.
Result<amqp_socket_t*> makeTlsSocket(amqp_connection_state_t state, const Tls& tls);

enum class Channel : std::uint16_t { work = 1, side = 2 };  // side: for questions that may be refused

/// Of a queue.
using QueueArgument = std::variant<bool, std::int64_t, std::string>;
using QueueArguments = std::map<std::string, QueueArgument>;

struct QueueCounts {
  std::int64_t ready = 0;  // without those in a consumer's hands
  std::int64_t consumers = 0;
};

/// Where a message is published to.
struct Route {
  std::string exchange;  // empty: the default exchange
  std::string routingKey;
  bool mandatory = true;  // what no queue takes comes back
};

class Connection {
 public:
  /// Logged in, with the work channel open. `purpose` is what the broker's operator reads.
  static Result<std::unique_ptr<Connection>> open(const Options& options, const std::string& purpose,
                                                  AnswerTimer* timer = nullptr);
  /// "host:port", of a list the one that is connected.
  std::string server() const;
  ~Connection();  // drops it without a word, unless it was closed
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  /// From now on each request goes by this timer, which is borrowed; nullptr: by the options' limits alone.
  void limitAnswers(AnswerTimer* timer) noexcept { timer_ = timer; }

  Result<void> openChannel(Channel channel);
  Result<void> closeChannel(Channel channel);
  /// Waits until the broker has closed it, and with it the channels.
  Result<void> close();

  // --- requests that wait for their reply

  Result<QueueCounts> inspect(Channel channel, const std::string& queue);
  Result<void> declareQueue(Channel channel, const Options& options);
  /// Asks for a durable queue with these arguments; where there is one of that name, the broker compares and refuses,
  /// naming the first that is another. A caller that must make none adds one that no queue can have.
  Result<void> compareQueue(Channel channel, const std::string& queue, const QueueArguments& arguments);
  /// A durable exchange to which no client can publish.
  Result<void> declareExchange(Channel channel, const std::string& name, const std::string& alternate);
  /// Never succeeds and never makes one: asks for an alternate that no exchange can have, and the broker refuses,
  /// naming that of the exchange which is there.
  Result<void> compareExchange(Channel channel, const std::string& name);
  Result<void> deleteExchange(Channel channel, const std::string& name);
  Result<void> limitPrefetch(Channel channel, std::uint16_t messages);
  Result<void> consume(Channel channel, const std::string& queue, bool exclusively);
  Result<void> selectConfirms(Channel channel);
  /// Messages published on this channel wait for a commit, which we have none of, and are checked all the same.
  Result<void> selectTransactions(Channel channel);
  /// A broker that blocks publishers answers when it takes messages again: waits as long as for a confirm.
  Result<void> rollBack(Channel channel);

  // --- what has no reply; on the work channel, unless it says otherwise

  Result<void> acknowledge(std::uint64_t tag, bool multiple);
  Result<void> reject(std::uint64_t tag);  // not to come again
  Result<void> publish(const Route& route, const amqp_basic_properties_t& properties, const std::string& body,
                       Channel channel = Channel::work);

  /// Hands what has arrived to `take`, frame by frame, without waiting. Sends a heartbeat when one is due.
  Result<void> readArrived(const std::function<Result<void>(const amqp_frame_t&)>& take);

  int descriptor() const noexcept;
  /// What the broker tells of itself under that name, such as "version"; empty where it does not.
  std::string serverProperty(std::string_view name) const;
  /// As the broker agreed to it.
  std::chrono::seconds heartbeat() const noexcept;

 private:
  static Result<std::unique_ptr<Connection>> openOne(const Options& server, const std::string& purpose,
                                                     AnswerTimer* timer);
  explicit Connection(const Options& options);
  Result<void> connect();
  Result<void> login(const std::string& purpose);
  timeval ask(std::chrono::milliseconds limit);
  void askForReply();
  void heard(const amqp_rpc_reply_t& reply);
  void endSilence(std::chrono::milliseconds limit) noexcept;
  Result<void> settle(Channel channel, const amqp_rpc_reply_t& reply, const char* doing);

  const Options options_;
  amqp_connection_state_t state_;
  AnswerTimer* timer_ = nullptr;
  bool connected_ = false;
};

}  // namespace tenure::rabbitmq
