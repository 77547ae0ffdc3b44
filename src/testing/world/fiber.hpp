/// A stack of its own for code that blocks: the career's phases run on it, and where they would wait for a server or
/// for time they leave it, and come back when the simulated moment has come. One thread, no parallelism: the
/// caller of resume() goes on when the fiber suspends.
#pragma once

#include <ucontext.h>

#include <cstddef>
#include <functional>

namespace tenure::test {

/// Thrown through a fiber whose process has died, so that its stack is taken down in order.
struct Killed {};

class Fiber {
 public:
  Fiber();
  /// Nothing may be under way.
  ~Fiber();
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;

  /// Begins `work`; returns when it is done or suspends. Nothing else may be under way.
  void begin(std::function<void()> work);
  /// Goes on with what is under way; returns when it is done or suspends again.
  void resume();
  bool underWay() const noexcept { return static_cast<bool>(work_); }
  bool running() const noexcept { return running_; }

  /// From inside: returns to the caller of resume().
  void suspend();

 private:
  static void entry(unsigned int high, unsigned int low);
  void serve();
  void enter();
  void leave();

  std::function<void()> work_;
  bool running_ = false;
  bool started_ = false;
  void* stack_;
  ucontext_t inside_{};
  ucontext_t outside_{};
  // What the address sanitizer wants to know of the stacks.
  void* fakeInside_ = nullptr;
  void* fakeOutside_ = nullptr;
  const void* outsideBottom_ = nullptr;
  std::size_t outsideSize_ = 0;
};

}  // namespace tenure::test
