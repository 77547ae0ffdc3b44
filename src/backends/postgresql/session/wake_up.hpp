/// Sleeps until something arrives on a session's socket, a deadline passes, or a stop is asked for: an idle consumer
/// costs nothing and a NOTIFY wakes it at once.
#pragma once

#include <stop_token>

#include "tenure/values.hpp"

namespace tenure::postgresql {

class WakeUp {
 public:
  WakeUp();
  ~WakeUp();
  WakeUp(const WakeUp&) = delete;
  WakeUp& operator=(const WakeUp&) = delete;

  void wait(int socket, Duration atMost, const std::stop_token& stop);

 private:
  int stopEvent_;
};

}  // namespace tenure::postgresql
