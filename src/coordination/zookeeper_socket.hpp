/// Sockets of the ZooKeeper client that no program inherits.
///
/// The client opens its sockets without close-on-exec, and a fcntl() afterwards comes too late for a program that
/// another thread starts in between: it would hold our connection open for as long as it runs, also after our death.
/// So socket() is defined here once more: for all calls the C library's, but with the flag while a thread says so.
#pragma once

#include <string_view>

#include "tenure/result.hpp"

namespace tenure::zookeeper {

// The C client's return codes as Tenure's errors. Private to the room.

/// What a request would have changed: decides what a lost reply means.
enum class Effect { reads, writes };

/// `rc` is not ZOK. The detail names the path and the server's word for the failure.
Error errorOf(int rc, Effect effect, std::string_view path);

/// Refused before anything was sent.
Error notConnected(std::string_view path);

/// While it lives, this thread's sockets are close-on-exec from the start.
class ClosedOnExec {
 public:
  ClosedOnExec() noexcept;
  ~ClosedOnExec();
  ClosedOnExec(const ClosedOnExec&) = delete;
  ClosedOnExec& operator=(const ClosedOnExec&) = delete;
};

}  // namespace tenure::zookeeper
