/// One thread of a simulated process: a fiber, and what it waits for. Where it would block it leaves the fiber, and
/// comes back when the moment has come and its process moves.
#pragma once

#include "base/loop.hpp"
#include "testing/world/fiber.hpp"

namespace tenure::test {

class ProcessLoop;

class Strand {
 public:
  explicit Strand(ProcessLoop& process) : process_(process) {}

  /// Begins it, as soon as the process moves.
  void run(Task work);
  bool underWay() const noexcept { return fiber_.underWay() || workDue_; }
  bool running() const noexcept { return fiber_.running(); }

  // From inside.

  /// Away until `there` has passed, does `operation` where it belongs, and is back after `back`.
  ///   here   it happens in the process itself: not while that stands still, and not after its death
  void call(Duration there, Duration back, bool here, const Task& operation);
  void wait(Duration atMost, const std::stop_token& stop);

  // From outside.

  /// For people: what it is about.
  const char* describe() const noexcept;

  /// The process moves again.
  void thaw();
  /// The process is dead. `landing`: a request under way to a server arrives there nevertheless, and only then is the
  /// fiber taken down.
  void die(bool landing);

 private:
  struct Call {
    TimerId timer = 0;
    bool here = true;
    bool arrived = false;
  };

  void wake();
  void takeDown();

  ProcessLoop& process_;
  Fiber fiber_;
  Call call_;
  bool wakeDue_ = false;  // it would go on if the process did
  Task operationDue_;     // its operation was due meanwhile
  Task workDue_;          // was to begin meanwhile
};

}  // namespace tenure::test
