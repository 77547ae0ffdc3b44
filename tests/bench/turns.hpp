/// Designs that take turns in one run, so that all of them see the same machine and the same neighbours.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "tenure/message.hpp"
#include "tenure/values.hpp"

namespace tenure::bench {

inline double secondsSince(BootTime start) { return std::chrono::duration<double>(BootClock::now() - start).count(); }

inline double quantile(std::vector<double> values, double part) {
  const auto place = static_cast<std::ptrdiff_t>(part * static_cast<double>(values.size() - 1));
  std::ranges::nth_element(values, values.begin() + place);
  return values[static_cast<std::size_t>(place)];
}
inline double median(std::vector<double> values) { return quantile(std::move(values), 0.5); }

inline void appendAll(std::span<const NewMessage> messages, std::size_t batch,
                      const std::function<void(std::span<const NewMessage>)>& append) {
  for (; !messages.empty(); messages = messages.subspan(std::min(batch, messages.size())))
    append(messages.first(std::min(batch, messages.size())));
}

/// Calls `run` with the number of each design, every other round from the last to the first.
inline void takeTurns(int rounds, std::size_t designs, const std::function<void(std::size_t)>& run) {
  for (int round = 0; round < rounds; ++round)
    for (std::size_t i = 0; i < designs; ++i) run(round % 2 == 0 ? i : designs - 1 - i);
}

/// One way to do a work, and how much of it was done a second in each round.
struct Design {
  std::string name;
  std::function<double()> run;
  std::vector<double> rates{};
};

/// Median of the ratios of each round.
inline double ratioOf(const Design& design, const Design& bare) {
  std::vector<double> ratios;
  for (std::size_t i = 0; i < design.rates.size(); ++i) ratios.push_back(design.rates[i] / bare.rates[i]);
  return median(ratios);
}

/// A line for each, with its ratio to the first.
inline void race(int rounds, std::vector<Design> designs) {
  takeTurns(rounds, designs.size(), [&](std::size_t i) { designs[i].rates.push_back(designs[i].run()); });
  for (const Design& design : designs)
    std::printf("%-44s %9.0f messages/s %6.2f of bare\n", design.name.c_str(), median(design.rates),
                ratioOf(design, designs.front()));
  std::fflush(stdout);
}

}  // namespace tenure::bench
