// Fence rows that an accident has changed. The conformance suite asks every store; these are the cases only SQL can
// make.
#include <gmock/gmock.h>

#include "backends/sqlite/fence_rows.hpp"
#include "support/results.hpp"
#include "support/sqlite_world.hpp"
#include "support/terms.hpp"

namespace tenure::sqlite {
namespace {

using test::failsWith;
using test::SqliteWorld;
using test::succeeds;
using testing::HasSubstr;

/// A file whose fence an accident has changed, and what a term makes of it.
class Row33 : public testing::TestWithParam<std::pair<const char*, const char*>> {};

// Without its constraints a table takes anything.
constexpr const char* looseFence =
    "CREATE TABLE copy AS SELECT * FROM tenure_fence; DROP TABLE tenure_fence; ALTER TABLE copy RENAME TO "
    "tenure_fence;";

INSTANTIATE_TEST_SUITE_P(Accidents, Row33,
                         testing::Values(std::pair{"DeletedRow", "DELETE FROM tenure_fence"},
                                         std::pair{"DuplicatedRow",
                                                   "INSERT INTO tenure_fence SELECT * FROM tenure_fence"},
                                         std::pair{"NegativeToken", "UPDATE tenure_fence SET token = -7"},
                                         std::pair{"NullToken", "UPDATE tenure_fence SET token = NULL"},
                                         std::pair{"TextToken", "UPDATE tenure_fence SET token = 'seven'"},
                                         std::pair{"NullCandidate", "UPDATE tenure_fence SET candidate = NULL"},
                                         std::pair{"NegativeSequence", "UPDATE tenure_fence SET seq = -1"},
                                         std::pair{"MissingTable", "DROP TABLE tenure_fence"}),
                         [](const auto& each) { return std::string(each.param.first); });

TEST_P(Row33, IsFoundByTheNextClaimAndNotRepaired) {
  const SqliteWorld world;
  Database leader(world.options(), noEvents());
  ASSERT_THAT(leader.store().claim(test::TestTerm(7)), succeeds());
  leader.store().release();
  world.meddle(std::string(looseFence) + GetParam().second);

  for (const std::int64_t token : {8, 9}) {
    Database next(world.options(), noEvents());
    const Result<void> claimed = next.store().claim(test::TestTerm(token));
    EXPECT_THAT(claimed, failsWith(Errc::fenceLost));
    EXPECT_EQ(claimed.error().message().find('\n'), std::string::npos) << "one clear line";
  }
}

TEST(FenceFile, Row33AMissingTableOfAnotherKindIsNamed) {
  const SqliteWorld world;
  { Database(world.options(), noEvents()).store().claim(test::TestTerm(7)).value(); }
  world.meddle("DROP TABLE tenure_key");

  Database next(world.options(), noEvents());
  const Result<void> claimed = next.store().claim(test::TestTerm(8));

  EXPECT_THAT(claimed, failsWith(Errc::storeFailed));
  EXPECT_THAT(claimed.error().detail, HasSubstr("tenure_key"));
}

}  // namespace
}  // namespace tenure::sqlite
