/// TLS through rabbitmq-c and OpenSSL: the broker's certificate and its name are verified, always.
#pragma once

#include <amqp.h>

#include "tenure/rabbitmq.hpp"
#include "tenure/result.hpp"

namespace tenure::rabbitmq {

/// Owned by the connection. Errors: configurationRefused, when a file cannot be used.
Result<amqp_socket_t*> makeTlsSocket(amqp_connection_state_t state, const Tls& tls);

}  // namespace tenure::rabbitmq
