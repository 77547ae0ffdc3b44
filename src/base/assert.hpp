/// Bugs are assertions, in every build: stop, do not limp on.
#pragma once

namespace tenure {
[[noreturn]] void assertionFailed(const char* expression, const char* file, int line) noexcept;
}

#define TENURE_ASSERT(expression) \
  ((expression) ? static_cast<void>(0) : ::tenure::assertionFailed(#expression, __FILE__, __LINE__))
