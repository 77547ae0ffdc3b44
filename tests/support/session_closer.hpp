/// Ends somebody else's ZooKeeper session from outside.
#pragma once

#include <cstdint>

namespace tenure::test {

/// Attaches to the session through the server on this port and closes it; false when the server did not let us.
bool closeSession(std::uint16_t port, std::int64_t session);

}  // namespace tenure::test
