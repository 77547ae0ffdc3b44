/// What a plan is drawn with. A fork has a stream of its own: what one part draws does not reshuffle the others.
#pragma once

#include <chrono>
#include <initializer_list>

#include "base/random.hpp"
#include "tenure/values.hpp"

namespace tenure::simulation {

class Draw {
 public:
  explicit Draw(std::uint64_t seed) : random_(seed) {}

  bool oneIn(std::uint64_t n) { return random_.below(n) == 0; }
  int number(int least, int most) {
    return least + static_cast<int>(random_.below(static_cast<std::uint64_t>(most - least + 1)));
  }
  Duration time(Duration least, Duration most) {
    return least +
           Duration{static_cast<Duration::rep>(random_.fraction() * static_cast<double>((most - least).count()))};
  }
  template <class T>
  T of(std::initializer_list<T> choices) {
    return choices.begin()[random_.below(choices.size())];
  }
  Draw fork() { return Draw(random_.next()); }
  std::uint64_t seed() { return random_.next() | 1U; }

 private:
  Random random_;
};

inline std::chrono::milliseconds milliseconds(Duration duration) {
  return std::chrono::duration_cast<std::chrono::milliseconds>(duration);
}

}  // namespace tenure::simulation
