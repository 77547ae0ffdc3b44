#include "backends/rabbitmq/tls_socket.hpp"

#include <amqp_ssl_socket.h>

#include "base/text.hpp"

namespace tenure::rabbitmq {
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
