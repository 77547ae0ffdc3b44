/// How tests read what an inspection found.
#pragma once

#include <gmock/gmock.h>

#include <ostream>
#include <string>

#include "tenure/spi/admin.hpp"

namespace tenure {

inline void PrintTo(const Finding& finding, std::ostream* out) {
  *out << toString(finding.severity) << " " << finding.name << ": " << finding.value << " (" << finding.expected << ")";
}

namespace test {

/// EXPECT_THAT(findings, finds(Severity::refusal, "fsync", HasSubstr("off")))
template <class Value>
auto finds(Severity severity, const std::string& name, Value value) {
  return testing::Contains(testing::AllOf(testing::Field("severity", &Finding::severity, severity),
                                          testing::Field("name", &Finding::name, name),
                                          testing::Field("value", &Finding::value, value)));
}

/// … and what it says was expected.
template <class Value, class Expected>
auto finds(Severity severity, const std::string& name, Value value, Expected expected) {
  return testing::Contains(testing::AllOf(
      testing::Field("severity", &Finding::severity, severity), testing::Field("name", &Finding::name, name),
      testing::Field("value", &Finding::value, value), testing::Field("expected", &Finding::expected, expected)));
}

/// EXPECT_THAT(findings, testing::Each(isNo(Severity::refusal)))
inline auto isNo(Severity severity) { return testing::Field("severity", &Finding::severity, testing::Ne(severity)); }
inline auto isFact() { return testing::Field("severity", &Finding::severity, Severity::fact); }

}  // namespace test
}  // namespace tenure
