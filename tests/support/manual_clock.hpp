/// Time that moves only when somebody waits for it, or the test says so. For code that blocks its thread.
#pragma once

#include <algorithm>
#include <atomic>

#include "tenure/values.hpp"

namespace tenure::test {

class ManualClock final : public IClock {
 public:
  BootTime now() const noexcept override { return BootTime{Duration{now_.load()}}; }
  WallTime wallNow() const noexcept override {
    return WallTime{std::chrono::hours{500'000} +
                    std::chrono::floor<std::chrono::milliseconds>(now().time_since_epoch())};
  }
  void waitUntil(BootTime deadline, const std::stop_token& stop) const override {
    if (!stop.stop_requested()) now_ = std::max(now_.load(), deadline.time_since_epoch().count());
  }
  void advance(Duration by) noexcept { now_ += by.count(); }

 private:
  mutable std::atomic<Duration::rep> now_{Duration{std::chrono::hours{1}}.count()};
};

}  // namespace tenure::test
