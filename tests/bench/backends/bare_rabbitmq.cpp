#include "bench/backends/bare_rabbitmq.hpp"

#include <amqp_tcp_socket.h>

#include "base/assert.hpp"
#include "support/rabbitmq_server.hpp"

namespace tenure::bench {
namespace {

constexpr amqp_channel_t channel = 1;

std::string textOf(amqp_bytes_t bytes) { return {static_cast<const char*>(bytes.bytes), bytes.len}; }

/// Text headers; the group is one of them.
std::string groupOf(const amqp_table_t& headers, const std::string& name) {
  for (int i = 0; i < headers.num_entries; ++i)
    if (textOf(headers.entries[i].key) == name) return textOf(headers.entries[i].value.value.bytes);
  return {};
}

}  // namespace

BareRabbit::BareRabbit(const rabbitmq::Options& options, bool singleActive) : connection_(amqp_new_connection()) {
  amqp_socket_t* socket = amqp_tcp_socket_new(connection_);
  TENURE_ASSERT(amqp_socket_open(socket, options.host.c_str(), options.port) == AMQP_STATUS_OK);
  const auto entered = amqp_login(connection_, options.virtualHost.c_str(), 0, AMQP_DEFAULT_FRAME_SIZE, 0,
                                  AMQP_SASL_METHOD_PLAIN, options.user.c_str(), test::RabbitServer::password);
  TENURE_ASSERT(entered.reply_type == AMQP_RESPONSE_NORMAL);
  amqp_channel_open(connection_, channel);
  amqp_table_entry_t guard{};
  guard.key = amqp_cstring_bytes("x-single-active-consumer");
  guard.value.kind = AMQP_FIELD_KIND_BOOLEAN;
  guard.value.value.boolean = 1;
  const amqp_table_t arguments{singleActive ? 1 : 0, &guard};
  const amqp_bytes_t queue = amqp_cstring_bytes(options.queue.c_str());
  TENURE_ASSERT(amqp_queue_declare(connection_, channel, queue, 0, 1, 0, 0, arguments) != nullptr);
  amqp_basic_qos(connection_, channel, 0, options.prefetch, 0);
  amqp_basic_consume(connection_, channel, queue, amqp_empty_bytes, 0, 0, singleActive ? 0 : 1, amqp_empty_table);
  TENURE_ASSERT(amqp_get_rpc_reply(connection_).reply_type == AMQP_RESPONSE_NORMAL);
}

BareRabbit::~BareRabbit() {
  amqp_connection_close(connection_, AMQP_REPLY_SUCCESS);
  amqp_destroy_connection(connection_);
}

std::vector<Row> BareRabbit::fetch(std::size_t max) {
  std::vector<Row> rows;
  while (rows.size() < max) {
    amqp_envelope_t envelope;
    const timeval now{0, 0};
    amqp_maybe_release_buffers(connection_);
    const auto reply = amqp_consume_message(connection_, &envelope, rows.empty() ? nullptr : &now, 0);
    if (reply.reply_type != AMQP_RESPONSE_NORMAL) {
      TENURE_ASSERT(reply.library_error == AMQP_STATUS_TIMEOUT);
      break;
    }
    const amqp_basic_properties_t& properties = envelope.message.properties;
    rows.push_back({static_cast<std::int64_t>(envelope.delivery_tag),
                    textOf(properties.message_id),
                    groupOf(properties.headers, "x-group"),
                    textOf(envelope.message.body),
                    {},
                    static_cast<std::int64_t>(properties.timestamp) * 1000});
    amqp_destroy_envelope(&envelope);
  }
  return rows;
}

void BareRabbit::acknowledge(const Row& last) {
  TENURE_ASSERT(amqp_basic_ack(connection_, channel, static_cast<std::uint64_t>(last.position), 1) == AMQP_STATUS_OK);
}

}  // namespace tenure::bench
