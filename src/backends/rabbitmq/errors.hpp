/// What rabbitmq-c and the broker say when something fails, in our words. Pure.
#pragma once

#include <amqp.h>

#include <string>
#include <string_view>

#include "tenure/result.hpp"

namespace tenure::rabbitmq {

/// A status of rabbitmq-c; `doing` names what failed.
Error errorOfStatus(int status, std::string_view doing);
/// The code and text with which the broker closed a channel or the connection.
Error errorOfClose(int code, std::string_view text);
/// What a producer is told of a broker that blocks it, and why.
std::string heldBack(const std::string& reason);
/// The answer to a request. Also an error when it is one that only closed the channel.
Result<void> resultOf(const amqp_rpc_reply_t& reply, std::string_view doing);

}  // namespace tenure::rabbitmq
