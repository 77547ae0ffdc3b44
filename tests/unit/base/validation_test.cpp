#include "base/validation.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tenure/values.hpp"

namespace tenure {
namespace {

using namespace std::chrono_literals;

TEST(Validation, CollectsEveryComplaintWithKeyValueAndReason) {
  Complaints complaints;

  complaints.require(false, "limits.drain", -1ms, "must not be negative");
  complaints.require(true, "limits.grace", 1ms, "must be positive");
  complaints.require(false, "id", "a\nb", "must be printable");

  EXPECT_EQ(complaints.message(), "limits.drain = -1ms: must not be negative\nid = a\\nb: must be printable");
}

TEST(Validation, RefusesWithTheFirstAndTheLastComplaintInOneError) {
  Complaints complaints;
  complaints.require(false, "first", 1, "is wrong");
  complaints.require(false, "last", 2, "is wrong too");

  try {
    complaints.throwIfAny();
    FAIL() << "nothing was thrown";
  } catch (const std::system_error& error) {
    EXPECT_EQ(error.code(), make_error_code(Errc::configurationRefused));
    EXPECT_THAT(error.what(), testing::AllOf(testing::HasSubstr("first = 1"), testing::HasSubstr("last = 2")));
  }
}

TEST(Validation, IsSilentWhenEverythingHolds) {
  Complaints complaints;
  complaints.require(parseElectionName("orders"), "election", "orders");

  EXPECT_TRUE(complaints.empty());
  EXPECT_NO_THROW(complaints.throwIfAny());
}

}  // namespace
}  // namespace tenure
