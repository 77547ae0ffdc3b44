#include <gtest/gtest.h>

#include "backends/postgresql/store/session.hpp"
#include "support/terms.hpp"

namespace tenure::postgresql {
namespace {

TermIdentity termOf(const std::string& election, std::int64_t generation, std::int64_t token) {
  TermIdentity term = test::identityWith(token, election);
  term.generation = generation;
  return term;
}

constexpr std::int64_t largest = std::numeric_limits<std::int64_t>::max();

TEST(SessionName, SaysElectionAndToken) {
  EXPECT_EQ(storeSession(termOf("orders", 1, 17)), "orders/17");
  EXPECT_EQ(storeSession(termOf("orders", 2, 17)), "orders/2.17");
  EXPECT_EQ(sourceSession(termOf("orders", 1, 17)), "orders/17/source");
}

TEST(SessionName, FitsIntoWhatTheServerKeepsAndStaysUnique) {
  const std::string longest(64, 'e');
  const std::string sibling = std::string(63, 'e') + "f";
  for (const std::string& election : {longest, sibling}) {
    const TermIdentity term = termOf(election, largest, largest);
    EXPECT_LE(sourceSession(term).size(), 63U);
  }

  EXPECT_NE(sessionPrefix(ElectionName{longest}), sessionPrefix(ElectionName{sibling}));
}

}  // namespace
}  // namespace tenure::postgresql
