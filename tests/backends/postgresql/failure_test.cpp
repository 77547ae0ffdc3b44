#include <gtest/gtest.h>

#include "backends/postgresql/session/refusal.hpp"

namespace tenure::postgresql {
namespace {

TEST(Failure, MeansWhatItsStateSays) {
  EXPECT_EQ(meaningOf("08006"), Errc::unavailable);
  EXPECT_EQ(meaningOf("57P01"), Errc::unavailable) << "terminated by an administrator";
  EXPECT_EQ(meaningOf("25P03"), Errc::heldTooLong) << "silent for too long";
  EXPECT_EQ(meaningOf("57014"), Errc::timedOut);
  EXPECT_EQ(meaningOf("55P03"), Errc::storeBusy);
  EXPECT_EQ(meaningOf("40P01"), Errc::storeBusy);
  EXPECT_EQ(meaningOf("53100"), Errc::storeFull);
  EXPECT_EQ(meaningOf("53300"), Errc::unavailable);
  EXPECT_EQ(meaningOf("53200"), Errc::storeBusy);
  EXPECT_EQ(meaningOf("28P01"), Errc::authenticationFailed);
  EXPECT_EQ(meaningOf("42501"), Errc::permissionDenied);
  EXPECT_EQ(meaningOf("22021"), Errc::invalidArgument);
  EXPECT_EQ(meaningOf("23505"), Errc::storeFailed);
  EXPECT_EQ(meaningOf("42P01"), Errc::storeFailed);
  EXPECT_EQ(meaningOf(""), Errc::storeFailed);
}

TEST(Failure, EndsTheTransactionOnlyWhereNoStatementIsToBlame) {
  for (const char* state : {"57P01", "55P03", "40P01", "40001", "53100"})
    EXPECT_TRUE(endsTransaction(meaningOf(state))) << state;
  for (const char* state : {"23505", "22012", "42601", "57014", "42501", "22021"})
    EXPECT_FALSE(endsTransaction(meaningOf(state))) << state;
}

}  // namespace
}  // namespace tenure::postgresql
