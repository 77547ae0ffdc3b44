#include "base/assert.hpp"

#include <cstdio>
#include <cstdlib>

namespace tenure {

void assertionFailed(const char* expression, const char* file, int line) noexcept {
  std::fprintf(stderr, "tenure: assertion failed: %s (%s:%d)\n", expression, file, line);
  std::abort();
}

}  // namespace tenure
