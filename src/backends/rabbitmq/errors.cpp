#include "backends/rabbitmq/errors.hpp"

#include <amqp_framing.h>

#include "backends/rabbitmq/bytes.hpp"
#include "base/text.hpp"

namespace tenure::rabbitmq {
namespace {

bool has(std::string_view text, std::string_view part) noexcept { return text.find(part) != std::string_view::npos; }

Errc refusedAccess(std::string_view text) noexcept {
  if (has(text, "Login was refused") || has(text, "refused using authentication")) return Errc::authenticationFailed;
  return has(text, "in exclusive use") ? Errc::storeBusy : Errc::permissionDenied;
}

Errc failedPrecondition(std::string_view text) noexcept {
  return has(text, "timed out") || has(text, "unknown delivery tag") ? Errc::unavailable : Errc::configurationRefused;
}

Errc notAllowed(std::string_view text) noexcept {
  if (has(text, "not found")) return Errc::notFound;
  return has(text, "access to vhost") ? Errc::permissionDenied : Errc::configurationRefused;
}

Errc codeOfClose(int code, std::string_view text) noexcept {
  switch (code) {
    case AMQP_CONTENT_TOO_LARGE: return Errc::payloadTooLarge;
    case AMQP_ACCESS_REFUSED: return refusedAccess(text);
    case AMQP_NOT_FOUND: return Errc::notFound;
    case AMQP_RESOURCE_LOCKED: return Errc::storeBusy;
    case AMQP_PRECONDITION_FAILED: return failedPrecondition(text);
    case AMQP_NOT_ALLOWED: return notAllowed(text);
    case AMQP_NOT_IMPLEMENTED: return Errc::unsupported;
    default: return Errc::unavailable;
  }
}

}  // namespace

Error errorOfStatus(int status, std::string_view doing) {
  const std::string detail = std::string{doing} + ": " + amqp_error_string2(status);
  switch (status) {
    case AMQP_STATUS_HEARTBEAT_TIMEOUT:
    case AMQP_STATUS_TIMEOUT: return {Errc::timedOut, detail};
    case AMQP_STATUS_SSL_PEER_VERIFY_FAILED:
    case AMQP_STATUS_SSL_HOSTNAME_VERIFY_FAILED: return {Errc::authenticationFailed, detail};
    case AMQP_STATUS_TABLE_TOO_BIG: return {Errc::payloadTooLarge, detail};
    case AMQP_STATUS_BROKER_UNSUPPORTED_SASL_METHOD:
    case AMQP_STATUS_INCOMPATIBLE_AMQP_VERSION: return {Errc::unsupported, detail};
    default: return {Errc::unavailable, detail};
  }
}

Error errorOfClose(int code, std::string_view text) {
  std::string detail = "the broker says: " + escaped(text, 300);
  if (has(text, "delivery acknowledgement") && has(text, "timed out"))
    detail += "; a handler took longer than the broker's consumer_timeout, or prefetch is too large for that time";
  return {codeOfClose(code, text), std::move(detail)};
}

std::string heldBack(const std::string& reason) { return "the broker holds publishers back: " + reason; }

Result<void> resultOf(const amqp_rpc_reply_t& reply, std::string_view doing) {
  if (reply.reply_type == AMQP_RESPONSE_NORMAL) return {};
  if (reply.reply_type == AMQP_RESPONSE_LIBRARY_EXCEPTION) return errorOfStatus(reply.library_error, doing);
  if (reply.reply_type == AMQP_RESPONSE_SERVER_EXCEPTION && reply.reply.id == AMQP_CHANNEL_CLOSE_METHOD) {
    const auto& close = *static_cast<const amqp_channel_close_t*>(reply.reply.decoded);
    return errorOfClose(close.reply_code, viewOf(close.reply_text));
  }
  if (reply.reply_type == AMQP_RESPONSE_SERVER_EXCEPTION && reply.reply.id == AMQP_CONNECTION_CLOSE_METHOD) {
    const auto& close = *static_cast<const amqp_connection_close_t*>(reply.reply.decoded);
    return errorOfClose(close.reply_code, viewOf(close.reply_text));
  }
  return Error{Errc::unavailable, std::string{doing} + ": the broker's answer is not one that AMQP knows"};
}

}  // namespace tenure::rabbitmq
