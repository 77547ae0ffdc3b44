/// How tests read what an inspection found.
#pragma once

#include <gmock/gmock.h>

#include <ostream>
#include <string>

#include "tenure/spi/admin.hpp"

namespace tenure {

inline void PrintTo(const Finding& finding, std::ostream* out) {
  *out << toString(finding.gravity) << " " << finding.name << ": " << finding.value << " (" << finding.expected << ")";
}

namespace test {

/// EXPECT_THAT(findings, finds(Gravity::refusal, "fsync", HasSubstr("off")))
template <class Value>
auto finds(Gravity gravity, const std::string& name, Value value) {
  return testing::Contains(testing::AllOf(testing::Field("gravity", &Finding::gravity, gravity),
                                          testing::Field("name", &Finding::name, name),
                                          testing::Field("value", &Finding::value, value)));
}

/// … and what it says was expected.
template <class Value, class Expected>
auto finds(Gravity gravity, const std::string& name, Value value, Expected expected) {
  return testing::Contains(testing::AllOf(
      testing::Field("gravity", &Finding::gravity, gravity), testing::Field("name", &Finding::name, name),
      testing::Field("value", &Finding::value, value), testing::Field("expected", &Finding::expected, expected)));
}

/// EXPECT_THAT(findings, testing::Each(isNo(Gravity::refusal)))
inline auto isNo(Gravity gravity) { return testing::Field("gravity", &Finding::gravity, testing::Ne(gravity)); }
inline auto isFact() { return testing::Field("gravity", &Finding::gravity, Gravity::fact); }

}  // namespace test
}  // namespace tenure
