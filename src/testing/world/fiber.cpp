#include "testing/world/fiber.hpp"

#include <cstdint>
#include <utility>
#include <vector>

#include "base/assert.hpp"

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#define TENURE_FIBER_ASAN 1
#else
#define TENURE_FIBER_ASAN 0
#endif

namespace tenure::test {
namespace {

constexpr std::size_t stackSize = 1U << 20U;  // handlers of users run on it

/// Stacks are used again by the next seed: thousands of fibers come and go.
struct SpareStacks : std::vector<void*> {
  ~SpareStacks() {
    for (void* stack : *this) ::operator delete(stack);
  }
};

SpareStacks& spareStacks() {
  static SpareStacks spare;
  return spare;
}

void* takeStack() {
  auto& spare = spareStacks();
  if (spare.empty()) return ::operator new(stackSize);
  void* stack = spare.back();
  spare.pop_back();
  return stack;
}

}  // namespace

Fiber::Fiber() : stack_(takeStack()) {}

Fiber::~Fiber() {
  TENURE_ASSERT(!underWay());
#if TENURE_FIBER_ASAN
  // The outermost frames were never left; the next owner must not find what they poisoned.
  ASAN_UNPOISON_MEMORY_REGION(stack_, stackSize);
#endif
  spareStacks().push_back(stack_);
}

void Fiber::begin(std::function<void()> work) {
  TENURE_ASSERT(!underWay());
  work_ = std::move(work);
  if (!started_) {
    started_ = true;
    getcontext(&inside_);
    inside_.uc_stack.ss_sp = stack_;
    inside_.uc_stack.ss_size = stackSize;
    inside_.uc_link = nullptr;
    const auto self = reinterpret_cast<std::uintptr_t>(this);
    makecontext(&inside_, reinterpret_cast<void (*)()>(&Fiber::entry), 2, static_cast<unsigned int>(self >> 32U),
                static_cast<unsigned int>(self));
  }
  enter();
}

void Fiber::resume() {
  TENURE_ASSERT(underWay() && !running_);
  enter();
}

void Fiber::entry(unsigned int high, unsigned int low) {
  const std::uintptr_t self = (std::uintptr_t{high} << 32U) | low;
  reinterpret_cast<Fiber*>(self)->serve();
}

void Fiber::serve() {
#if TENURE_FIBER_ASAN
  __sanitizer_finish_switch_fiber(nullptr, &outsideBottom_, &outsideSize_);
#endif
  for (;;) {
    work_();
    work_ = nullptr;
    leave();
  }
}

void Fiber::suspend() {
  TENURE_ASSERT(running_);
  leave();
}

void Fiber::enter() {
  running_ = true;
#if TENURE_FIBER_ASAN
  __sanitizer_start_switch_fiber(&fakeOutside_, stack_, stackSize);
#endif
  swapcontext(&outside_, &inside_);
#if TENURE_FIBER_ASAN
  __sanitizer_finish_switch_fiber(fakeOutside_, nullptr, nullptr);
#endif
  running_ = false;
}

void Fiber::leave() {
#if TENURE_FIBER_ASAN
  __sanitizer_start_switch_fiber(&fakeInside_, outsideBottom_, outsideSize_);
#endif
  swapcontext(&inside_, &outside_);
#if TENURE_FIBER_ASAN
  __sanitizer_finish_switch_fiber(fakeInside_, &outsideBottom_, &outsideSize_);
#endif
}

}  // namespace tenure::test
