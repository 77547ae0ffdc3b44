/// A message's properties on the wire, and ours: message_id, timestamp, and the headers with the group among them.
#pragma once

#include <amqp.h>
#include <amqp_framing.h>

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "backends/rabbitmq/fields.hpp"
#include "backends/rabbitmq/publication.hpp"
#include "tenure/message.hpp"
#include "tenure/rabbitmq.hpp"
#include "tenure/spi/store.hpp"

namespace tenure::rabbitmq {

/// What a producer published beside the body.
struct Properties {
  std::string messageId;                   // empty when there is none
  std::optional<std::uint64_t> timestamp;  // seconds since 1970, as AMQP has it
  Headers named;                           // the other properties, by the names of propertyHeaders
  Headers headers;                         // strings as they are, all others as text (fields.hpp)
  /// The kinds (AMQP's letters) of the publisher's headers that are no strings, by the header's name.
  std::map<std::string, char, std::less<>> kinds;
  /// Of those headers, the names of the broker's: they tell of a delivery and not of the message.
  std::set<std::string, std::less<>> ofTheBroker;
};

Properties readProperties(const amqp_basic_properties_t& properties);

/// A message as the broker delivered it.
struct Delivered {
  std::uint64_t tag = 0;
  std::string exchange;
  std::string routingKey;
  Properties properties;
  std::uint64_t bodyBytes = 0;
  std::string body;     // empty when it is over the limit
  BodyDigest unread{};  // of the body that is over the limit
};

/// As the consumer gets it. `arrived` stands in where the producer set no time. A message
/// whose body is over the limit comes without it; Message::lacks says so.
Message messageFrom(Delivered delivery, const Options& options, WallTime arrived);

/// The properties under which a message of ours is published; borrows from the message and from how it is published.
class OutgoingProperties {
 public:
  OutgoingProperties(const NewMessage& message, const Publication& how, const std::string& groupHeader, WallTime now);
  OutgoingProperties(const OutgoingProperties&) = delete;
  OutgoingProperties& operator=(const OutgoingProperties&) = delete;
  const amqp_basic_properties_t& get() const noexcept { return properties_; }

 private:
  void addOptional(const Publication& how);

  FieldWriter fields_;
  std::vector<amqp_table_entry_t> entries_;
  std::string expiration_;  // in milliseconds
  amqp_basic_properties_t properties_{};
};

}  // namespace tenure::rabbitmq
