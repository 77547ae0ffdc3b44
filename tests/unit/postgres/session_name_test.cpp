#include "backends/postgres/session_name.hpp"

#include <gtest/gtest.h>

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

TEST(SessionName, TellsTheTermOfAStoresSessionAlone) {
  const ElectionName orders{"orders"};

  EXPECT_EQ(termOfSession("orders/17", orders), (TermOrder{1, 17}));
  EXPECT_EQ(termOfSession("orders/2.17", orders), (TermOrder{2, 17}));
  for (const char* other : {"orders/17/source", "orders/", "orders", "orders2/17", "invoices/17", "orders/x",
                            "orders/-", "orders/1.", "orders/.1", "orders/1.2.3", "psql", ""})
    EXPECT_EQ(termOfSession(other, orders), std::nullopt) << other;
}

TEST(SessionName, FitsIntoWhatTheServerKeepsAndStaysUnique) {
  const std::string longest(64, 'e');
  const std::string sibling = std::string(63, 'e') + "f";
  for (const std::string& election : {longest, sibling}) {
    const TermIdentity term = termOf(election, largest, largest);
    EXPECT_LE(sourceSession(term).size(), 63U);
    EXPECT_EQ(termOfSession(storeSession(term), term.election), orderOf(term));
  }

  EXPECT_NE(sessionPrefix(ElectionName{longest}), sessionPrefix(ElectionName{sibling}));
}

TEST(SessionName, OrdersTermsByGenerationFirst) {
  EXPECT_LT(orderOf(termOf("e", 1, 900)), orderOf(termOf("e", 2, 3)));
  EXPECT_LT(orderOf(termOf("e", 1, 3)), orderOf(termOf("e", 1, 4)));
}

}  // namespace
}  // namespace tenure::postgresql
