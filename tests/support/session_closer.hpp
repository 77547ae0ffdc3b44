/// Takes hold of somebody else's ZooKeeper session from outside, to move it or to end it.
#pragma once

#include <cstdint>

#include "support/loopback.hpp"

namespace tenure::test {

/// Attaches to the session through the server at this endpoint, and holds it there; invalid when the server did not let
/// us. What its client then sends through another server is refused with SESSIONMOVED.
Descriptor attachToSession(const Endpoint& server, std::int64_t session);

/// Attaches to the session through the server at this endpoint and closes it; false when the server did not let us.
bool closeSession(const Endpoint& server, std::int64_t session);

}  // namespace tenure::test
