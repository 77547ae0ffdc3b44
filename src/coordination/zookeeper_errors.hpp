/// The C client's return codes as Tenure's errors. Private to the room.
#pragma once

#include <string_view>

#include "tenure/result.hpp"

namespace tenure::zookeeper {

/// What a request would have changed: decides what a lost reply means.
enum class Effect { reads, writes };

/// `rc` is not ZOK. The detail names the path and the server's word for the failure.
Error errorOf(int rc, Effect effect, std::string_view path);

/// Refused before anything was sent.
Error notConnected(std::string_view path);

}  // namespace tenure::zookeeper
