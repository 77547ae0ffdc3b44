/// Takes hold of somebody else's ZooKeeper session from outside, to move it or to end it.
#pragma once

#include <cstdint>

#include "support/loopback.hpp"

namespace tenure::test {

/// Attaches to the session through the server on this port, and holds it there; invalid when the server did not let us.
/// What its client then sends through another server is refused with SESSIONMOVED.
Descriptor attachToSession(std::uint16_t port, std::int64_t session);

/// Attaches to the session through the server on this port and closes it; false when the server did not let us.
bool closeSession(std::uint16_t port, std::int64_t session);

}  // namespace tenure::test
