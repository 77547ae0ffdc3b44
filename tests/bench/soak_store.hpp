/// The same on a server: a Consumer in this process, whose queue is filled again and again, each time later than keys
/// are kept. Its memory must be flat, and what it leaves on the server bounded (soak_ground.hpp): idempotency keys are
/// pruned, or expire, and nothing else stays.
#pragma once

#include <string>

namespace tenure::bench {

/// What the process should exit with; 64 for a backend that is not known.
int soakStore(const std::string& backend, std::size_t messages);

}  // namespace tenure::bench
