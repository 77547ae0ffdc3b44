/// Two loops that take turns on the same server, in one run, so that both see the same disk and the same neighbours.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace tenure::bench {

/// Seconds of the wall and of this process's processors, from a message on that is not among the first.
class Stopwatch {
 public:
  struct Time {
    double wall = 0;
    double processor = 0;
  };

  /// `skip` messages are for warming up; it stops after `count`.
  Stopwatch(std::size_t skip, std::size_t count) : skip_(skip), count_(count) {}
  void committed(std::size_t messages);
  bool isOver() const noexcept { return seen_ >= count_; }
  /// A message.
  Time time() const;

 private:
  static Time now();
  const std::size_t skip_;
  const std::size_t count_;
  std::size_t seen_ = 0;
  std::size_t from_ = 0;
  Time began_;
  Time ended_;
};

/// One loop, with its own queue.
struct Runner {
  std::function<void(std::size_t)> fill;
  /// Consumes what was filled in.
  std::function<void(Stopwatch&, std::size_t)> consume;
};

struct Plan {
  std::size_t messages = 0;  // a round
  std::size_t warmUp = 0;    // of them
  int rounds = 1;
};

/// Medians over the rounds.
struct Figures {
  double oursASecond = 0;
  double theirsASecond = 0;
  double wallRatio = 0;       // ours by theirs, both as rates: 1 is as fast
  double processorRatio = 0;  // 1 is as little work
};

Figures race(const Runner& ours, const Runner& theirs, const Plan& plan);

}  // namespace tenure::bench
