/// A control loop inside a test: runs until what is waited for has happened, or a generous limit has passed.
#pragma once

#include <gtest/gtest.h>

#include <boost/asio/io_context.hpp>
#include <chrono>
#include <functional>
#include <optional>

#include "base/asio_loop.hpp"
#include "tenure/result.hpp"

namespace tenure::test {

class ControlLoop {
 public:
  static constexpr std::chrono::milliseconds patience{30'000};

  AsioLoop& loop() noexcept { return loop_; }
  operator AsioLoop&() noexcept { return loop_; }

  /// True as soon as `condition` holds after some step of the loop; false when `limit` passes first.
  bool runUntil(const std::function<bool()>& condition, std::chrono::milliseconds limit = patience) {
    const auto until = std::chrono::steady_clock::now() + limit;
    while (!condition()) {
      if (std::chrono::steady_clock::now() >= until) return false;
      if (context_.stopped()) context_.restart();
      context_.run_one_until(std::min(until, std::chrono::steady_clock::now() + std::chrono::milliseconds{20}));
    }
    return true;
  }

  /// Lets the loop work through what is ready now, and nothing that has yet to come.
  void runReady() {
    if (context_.stopped()) context_.restart();
    context_.poll();
  }

  /// The result that `call` hands to its callback:
  ///   Result<Node> node = loop.await<Node>([&](auto done) { zookeeper.get("/a", {}, done); });
  template <class T>
  Result<T> await(const std::function<void(std::function<void(Result<T>)>)>& call) {
    const auto answer = std::make_shared<std::optional<Result<T>>>();
    call([answer](Result<T> result) {
      EXPECT_FALSE(answer->has_value()) << "called back twice";
      *answer = std::move(result);
    });
    if (!runUntil([&] { return answer->has_value(); }))
      return Error(Errc::timedOut, "no callback in the test's patience");
    return **answer;
  }

  /// True when `call` called its argument.
  bool awaitDone(const std::function<void(std::function<void()>)>& call) {
    const auto done = std::make_shared<bool>(false);
    call([done] { *done = true; });
    return runUntil([&] { return *done; });
  }

 private:
  boost::asio::io_context context_{1};
  AsioLoop loop_{context_};
};

}  // namespace tenure::test
