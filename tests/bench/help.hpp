/// A benchmark that is asked for help prints its page, and does not begin to measure.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <string_view>

#include "base/text.hpp"

namespace tenure::bench {

inline void helpIfAsked(int argc, char** argv, const char* page) {
  for (int i = 1; i < argc; ++i)
    if (const std::string_view word = argv[i]; word == "--help" || word == "-h") {
      std::printf("%s\n", page);
      std::exit(0);
    }
}

/// The options of a benchmark, each with a number: `take(option, number)`.
inline void forEachNumber(int argc, char** argv, const std::function<void(const std::string&, std::int64_t)>& take) {
  for (int i = 1; i + 1 < argc; i += 2) take(argv[i], parseInteger(argv[i + 1]).value());
}

}  // namespace tenure::bench
