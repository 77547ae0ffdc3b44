#include "backends/postgres/failure.hpp"

#include <gtest/gtest.h>

#include "backends/postgres/connecting.hpp"

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

TEST(Refusal, IsToldApartByLibpqsSentence) {
  EXPECT_EQ(meaningOfRefusal("connection to server at \"h\" failed: Connection refused"), Errc::unavailable);
  EXPECT_EQ(meaningOfRefusal("FATAL: the database system is starting up"), Errc::unavailable);
  EXPECT_EQ(meaningOfRefusal("FATAL: password authentication failed for user \"u\""), Errc::authenticationFailed);
  EXPECT_EQ(meaningOfRefusal("FATAL: role \"u\" does not exist"), Errc::authenticationFailed);
  EXPECT_EQ(meaningOfRefusal("FATAL: no pg_hba.conf entry for host"), Errc::authenticationFailed);
  EXPECT_EQ(meaningOfRefusal("FATAL: database \"d\" does not exist"), Errc::notFound);
  EXPECT_EQ(meaningOfRefusal("SSL error: certificate verify failed"), Errc::configurationRefused);
  EXPECT_EQ(meaningOfRefusal("server does not support SSL, but SSL was required"), Errc::configurationRefused);
}

}  // namespace
}  // namespace tenure::postgresql
