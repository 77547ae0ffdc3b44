#include "storage/schema_steps.hpp"

#include <gmock/gmock.h>

#include <array>

#include "support/results.hpp"

namespace tenure::storage {
namespace {

using test::failsWith;
using testing::AllOf;
using testing::HasSubstr;
using testing::SizeIs;

constexpr std::array steps{SchemaStep{4, "four"}, SchemaStep{5, "five"}};

TEST(SchemaSteps, LeadFromAnyVersionToThisOne) {
  EXPECT_THAT(stepsFrom("a.db", 6, 6, steps).value(), SizeIs(0));
  EXPECT_EQ(stepsFrom("a.db", 5, 6, steps).value()[0].sql, "five");
  EXPECT_THAT(stepsFrom("a.db", 4, 6, steps).value(), SizeIs(2));
}

TEST(SchemaSteps, ThereAreNoneFromWhatIsNewerOrTooOld) {
  for (const std::int64_t version : {0, 3, 7}) {
    const auto none = stepsFrom("a.db", version, 6, steps);
    ASSERT_THAT(none, failsWith(Errc::configurationRefused)) << version;
    EXPECT_THAT(none.error().detail, HasSubstr("a.db has schema version " + std::to_string(version)));
  }
  EXPECT_THAT(stepsFrom("a.db", 7, 6, steps).error().detail, HasSubstr("newer"));
  EXPECT_THAT(olderSchema("a.db", 5, 6).detail, AllOf(HasSubstr("version 5"), HasSubstr("tenure schema apply")));
}

}  // namespace
}  // namespace tenure::storage
