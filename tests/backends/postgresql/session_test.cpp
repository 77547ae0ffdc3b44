// A session that was lost to its client alone, and lives on at the server with everything it holds.
#include "backends/postgresql/store/session.hpp"

#include <fcntl.h>
#include <unistd.h>

#include "backends/postgresql/rows/fence_rows.hpp"
#include "leading.hpp"
#include "support/loopback.hpp"

namespace tenure::postgresql {
namespace {

using test::PostgresWorld;
using test::succeeds;

/// The client finds its connection at an end; the server hears nothing of it while the result lives.
test::Descriptor sever(const Connection& connection) {
  test::Descriptor kept(dup(connection.socket()));
  const test::Descriptor nothing(open("/dev/null", O_RDWR | O_CLOEXEC));
  EXPECT_GE(dup2(nothing.get(), connection.socket()), 0);
  return kept;
}

TEST(Session, ThatIsLostIsEndedAtTheServerBeforeTheNextOneActs) {
  PostgresWorld world;
  Leader leader(world.options(), 7);
  ASSERT_THAT(leader.claim(), succeeds());
  leader.store().release();
  const TermIdentity& term = leader.term->identity();
  const storage::Fence claimed{storage::rowOf(term, 0, {}), world.ask("SELECT change FROM tenure_fence")};
  storage::Fence next = claimed;
  ++next.row.sequence;
  Session session(world.options());
  const auto first = session.get(term).value();
  ASSERT_TRUE(first->exchange(passFence(claimed, next)));
  const std::string process = std::to_string(first->serverProcess());
  const test::Descriptor kept = sever(*first);
  ASSERT_FALSE(first->run("SELECT 1"));
  ASSERT_TRUE(first->isLost());
  ASSERT_EQ(world.ask("SELECT count(*) FROM pg_stat_activity WHERE pid = " + process), "1");

  const auto second = session.get(term).value();

  EXPECT_EQ(world.ask("SELECT count(*) FROM pg_stat_activity WHERE pid = " + process), "0");
  EXPECT_TRUE(second->exchange(passFence(claimed, next))) << "nobody holds the row, and nothing was committed";
}

TEST(Session, IsKeptWhileItIsSoundAndReplacedForAnotherTerm) {
  PostgresWorld world;
  Session session(world.options());
  const auto first = session.get(test::identityWith(7)).value();

  EXPECT_EQ(session.get(test::identityWith(7)).value(), first);

  EXPECT_NE(session.get(test::identityWith(8)).value(), first);
}

}  // namespace
}  // namespace tenure::postgresql
