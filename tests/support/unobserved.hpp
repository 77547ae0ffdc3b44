/// For a session that nobody watches: only whether it is connected.
#pragma once

#include "coordination/coordination.hpp"

namespace tenure::test {

class Unobserved final : public ISessionObserver {
 public:
  void onConnected(const SessionInfo&) override { connected = true; }
  void onSuspended() override { connected = false; }
  void onExpired() override {}
  void onFatal(const Error&) override {}

  bool connected = false;
};

}  // namespace tenure::test
