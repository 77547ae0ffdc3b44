/// Shuts a socket down as soon as a stop is asked for: a thread that waits on it finds the connection closed.
#pragma once

#include <sys/socket.h>

#include <functional>
#include <stop_token>
#include <utility>

#include "tenure/result.hpp"

namespace tenure::backends {

/// What failed after a stop failed of it.
inline Error unlessStopped(Error error, const std::stop_token& stop) {
  return stop.stop_requested() ? Error{Errc::cancelled, {}} : std::move(error);
}

class CutOff {
 public:
  /// The descriptor must stay open meanwhile.
  CutOff(int descriptor, const std::stop_token& stop)
      : callback_(stop, [descriptor] { ::shutdown(descriptor, SHUT_RDWR); }) {}

 private:
  std::stop_callback<std::function<void()>> callback_;
};

}  // namespace tenure::backends
