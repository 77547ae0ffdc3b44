/// Which hosts cannot be reached now. While one cannot, one call at a time tries it, and other messages wait without a
/// call. Only failures to connect open it: an answer, whatever it is, shows that the host is there. Pure.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <map>
#include <mutex>
#include <optional>
#include <string>

#include "tenure/values.hpp"

namespace tenure::webhook {

/// Threads: any.
class Breaker {
 public:
  struct Word {
    std::optional<Duration> wait{};  // nullopt: a call may begin; else how long its message waits
    bool isProbe = false;            // while the host cannot be reached
  };
  /// A call that may begin has to end with reached(), failed() or gaveUp().
  Word ask(const std::string& origin, BootTime now) {
    const std::lock_guard lock(mutex_);
    const auto found = hosts_.find(origin);
    if (found == hosts_.end() || found->second.failures < opensAfter) return {};
    Host& host = found->second;
    if (now < host.next) return {.wait = std::max<Duration>(host.next - now, leastWait)};
    host.isProbed = true;
    host.next = now + longestProbe;
    return {.isProbe = true};
  }
  void reached(const std::string& origin) {
    const std::lock_guard lock(mutex_);
    hosts_.erase(origin);
  }
  void failed(const std::string& origin, bool wasProbe, BootTime now) {
    const std::lock_guard lock(mutex_);
    Host& host = hosts_[origin];
    if (host.isProbed && !wasProbe) return;
    host.isProbed = false;
    ++host.failures;
    host.next = now + std::min<Duration>(firstWait * (1U << std::min<std::size_t>(host.failures, 6)), longestWait);
  }
  /// The call was cut before its end.
  void gaveUp(const std::string& origin, bool wasProbe) {
    if (!wasProbe) return;
    const std::lock_guard lock(mutex_);
    if (const auto found = hosts_.find(origin); found != hosts_.end())
      found->second = {.failures = found->second.failures};
  }

 private:
  struct Host {
    std::size_t failures = 0;  // to connect, in a row
    bool isProbed = false;     // by a call under way
    BootTime next{};
  };

  static constexpr std::size_t opensAfter = 3;
  static constexpr std::chrono::milliseconds firstWait{250};
  static constexpr std::chrono::milliseconds leastWait{100};
  static constexpr std::chrono::seconds longestWait{10};
  static constexpr std::chrono::seconds longestProbe{10};

  std::mutex mutex_;
  std::map<std::string, Host> hosts_;  // those that failed last
};

}  // namespace tenure::webhook
