/// A benchmark that is asked for help prints its page, and does not begin to measure.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <string_view>

namespace tenure::bench {

inline void helpIfAsked(int argc, char** argv, const char* page) {
  for (int i = 1; i < argc; ++i)
    if (const std::string_view word = argv[i]; word == "--help" || word == "-h") {
      std::printf("%s\n", page);
      std::exit(0);
    }
}

}  // namespace tenure::bench
