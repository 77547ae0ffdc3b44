#include "backends/rabbitmq/incoming.hpp"

#include <amqp_framing.h>

#include "backends/rabbitmq/bytes.hpp"
#include "backends/rabbitmq/errors.hpp"
#include "base/text.hpp"

namespace tenure::rabbitmq {
namespace {

template <class Decoded>
const Decoded& as(const amqp_method_t& method) noexcept {
  return *static_cast<const Decoded*>(method.decoded);
}

Delivered deliveryOf(const amqp_basic_deliver_t& deliver) {
  Delivered delivery;
  delivery.tag = deliver.delivery_tag;
  delivery.exchange = viewOf(deliver.exchange);
  delivery.routingKey = viewOf(deliver.routing_key);
  return delivery;
}

Returned returnOf(const amqp_basic_return_t& returned) {
  Returned made;
  made.reason = escaped(viewOf(returned.reply_text));
  made.exchange = viewOf(returned.exchange);
  made.routingKey = viewOf(returned.routing_key);
  return made;
}

/// Of all frames so far.
BodyDigest chained(const BodyDigest& before, std::string_view part) {
  std::string both(part);
  for (const std::byte byte : before) both += static_cast<char>(byte);
  return digestOf(both);
}

}  // namespace

std::optional<Incoming> FrameReader::on(const amqp_frame_t& frame) {
  switch (frame.frame_type) {
    case AMQP_FRAME_METHOD: return onMethod(frame.payload.method);
    case AMQP_FRAME_HEADER:
      return onHeader(frame.payload.properties.body_size,
                      *static_cast<const amqp_basic_properties_t*>(frame.payload.properties.decoded));
    case AMQP_FRAME_BODY: return onBody(viewOf(frame.payload.body_fragment));
    default: return std::nullopt;  // a heartbeat
  }
}

std::optional<Incoming> FrameReader::onMethod(const amqp_method_t& method) {
  switch (method.id) {
    case AMQP_BASIC_DELIVER_METHOD: content_ = deliveryOf(as<amqp_basic_deliver_t>(method)); return std::nullopt;
    case AMQP_BASIC_RETURN_METHOD: content_ = returnOf(as<amqp_basic_return_t>(method)); return std::nullopt;
    case AMQP_BASIC_ACK_METHOD: {
      const auto& ack = as<amqp_basic_ack_t>(method);
      return Confirmed{ack.delivery_tag, ack.multiple != 0, true};
    }
    case AMQP_BASIC_NACK_METHOD: {
      const auto& nack = as<amqp_basic_nack_t>(method);
      return Confirmed{nack.delivery_tag, nack.multiple != 0, false};
    }
    case AMQP_BASIC_CANCEL_METHOD:
      return Ended{{Errc::unavailable, "the broker ended the consumption: the queue was deleted, or moved"}};
    case AMQP_CHANNEL_CLOSE_METHOD: {
      const auto& close = as<amqp_channel_close_t>(method);
      return Ended{errorOfClose(close.reply_code, viewOf(close.reply_text))};
    }
    case AMQP_CONNECTION_CLOSE_METHOD: {
      const auto& close = as<amqp_connection_close_t>(method);
      return Ended{errorOfClose(close.reply_code, viewOf(close.reply_text))};
    }
    case AMQP_CONNECTION_BLOCKED_METHOD: return Blocked{escaped(viewOf(as<amqp_connection_blocked_t>(method).reason))};
    case AMQP_CONNECTION_UNBLOCKED_METHOD: return Unblocked{};
    default: return std::nullopt;
  }
}

std::optional<Incoming> FrameReader::onHeader(std::uint64_t bodyBytes, const amqp_basic_properties_t& properties) {
  if (!content_) return std::nullopt;
  bytesToCome_ = bodyBytes;
  if (auto* delivery = std::get_if<Delivered>(&*content_)) {
    delivery->properties = readProperties(properties);
    delivery->bodyBytes = bodyBytes;
    if (bodyBytes <= largestBody_) delivery->body.reserve(bodyBytes);
  } else if ((properties._flags & AMQP_BASIC_MESSAGE_ID_FLAG) != 0) {
    std::get<Returned>(*content_).messageId = viewOf(properties.message_id);
  }
  return bytesToCome_ == 0 ? whole() : std::nullopt;
}

std::optional<Incoming> FrameReader::onBody(std::string_view part) {
  if (!content_) return std::nullopt;
  if (auto* delivery = std::get_if<Delivered>(&*content_)) {
    if (delivery->bodyBytes <= largestBody_)
      delivery->body += part;
    else
      delivery->unread = chained(delivery->unread, part);
  }
  bytesToCome_ -= std::min<std::uint64_t>(bytesToCome_, part.size());
  return bytesToCome_ == 0 ? whole() : std::nullopt;
}

std::optional<Incoming> FrameReader::whole() {
  std::optional<Incoming> incoming;
  std::visit([&](auto& content) { incoming.emplace(std::move(content)); }, *content_);
  content_.reset();
  return incoming;
}

}  // namespace tenure::rabbitmq
