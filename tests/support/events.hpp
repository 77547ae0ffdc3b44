/// A sink that keeps every event, and lets a test wait for one instead of sleeping.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <vector>

#include "tenure/events.hpp"

namespace tenure::test {

class RecordedEvents final : public IEventSink {
 public:
  void on(const Event& event) noexcept override {
    const std::lock_guard lock(mutex_);
    events_.push_back(event);
    changed_.notify_all();
  }

  std::vector<Event> all() const {
    const std::lock_guard lock(mutex_);
    return events_;
  }

  template <class Body>
  std::vector<Body> of() const {
    std::vector<Body> bodies;
    for (const Event& event : all())
      if (const auto* body = event.body.as<Body>()) bodies.push_back(*body);
    return bodies;
  }

  /// True as soon as `count` events of that kind have been seen; false when `limit` passes first.
  template <class Body>
  bool waitFor(std::size_t count = 1, std::chrono::milliseconds limit = std::chrono::seconds{30}) const {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, limit, [&] {
      std::size_t seen = 0;
      for (const Event& event : events_) seen += event.body.is<Body>() ? 1 : 0;
      return seen >= count;
    });
  }

 private:
  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  std::vector<Event> events_;
};

}  // namespace tenure::test
