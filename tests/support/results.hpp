/// How GoogleTest shows and matches a Result.
#pragma once

#include <gmock/gmock.h>

#include <ostream>

#include "tenure/result.hpp"

namespace tenure {

template <class T>
void PrintTo(const Result<T>& result, std::ostream* out) {
  *out << (result ? std::string("a value") : result.error().message());
}

namespace test {

/// EXPECT_THAT(result, failsWith(Errc::notFound))
MATCHER_P(failsWith, code, std::string(negation ? "does not fail" : "fails") + " with " + Error(code).message()) {
  return !arg && arg.error().is(code);
}

/// EXPECT_THAT(result, succeeds())
MATCHER(succeeds, negation ? "fails" : "succeeds") { return arg.has_value(); }

}  // namespace test
}  // namespace tenure
