/// How one message is published: what its headers say (messages/headers.hpp) goes before the options. Pure.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "tenure/message.hpp"
#include "tenure/rabbitmq.hpp"
#include "tenure/result.hpp"

namespace tenure::rabbitmq {

/// What RabbitMQ takes.
inline constexpr std::chrono::milliseconds longestExpiration{0xFFFF'FFFF};

struct Publication {
  std::string exchange;    // empty: the default exchange
  std::string routingKey;  // of the default exchange: the queue's name
  bool mandatory = true;
  bool persistent = true;
  std::optional<std::uint8_t> priority{};
  std::optional<std::chrono::milliseconds> expiration{};
  std::string contentType{};
  std::string contentEncoding{};
  std::string correlationId{};
  std::string replyTo{};
  std::string type{};
  std::string appId{};
  std::optional<std::uint64_t> timestamp{};  // seconds since 1970; nullopt: now
};

/// Errors: invalidArgument  a header cannot be read; the detail names message and header, and says what is expected
Result<Publication> publicationOf(const NewMessage& message, const Options& options);

/// Whether a header of that name is for the sink, and is not published.
bool isForTheSink(std::string_view header) noexcept;

/// `exchange "orders"`, or `the default exchange`
std::string exchangeInWords(const std::string& exchange);

}  // namespace tenure::rabbitmq
