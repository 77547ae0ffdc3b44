// The consume log of a store on ZooKeeper: folders that come and go.
#include <gmock/gmock.h>

#include "backends/zookeeper/session_thread.hpp"
#include "support/results.hpp"
#include "support/terms.hpp"
#include "support/zookeeper_store_world.hpp"

namespace tenure::zookeeper {
namespace {

using test::succeeds;
using test::TestTerm;
using testing::ElementsAre;
using testing::SizeIs;

const ConsumerName mail{"mail"};
const WallTime noon{std::chrono::milliseconds{1'790'000'000'000}};

LoggedAttempt attemptAt(const std::string& id, WallTime at = noon) {
  return {MessageId{id}, 1, AttemptEnd::failed, "no\nstock \xff", at, at};
}

class ZooKeeperLog : public testing::Test {
 protected:
  /// A leader with a claim.
  std::unique_ptr<IFencedStore> leader(const Term& term) {
    auto store = openStore(world_.options(), noEvents());
    EXPECT_THAT(store->claim(term), succeeds());
    return store;
  }
  static void log(IFencedStore& store, const Term& term, const std::string& id) {
    const auto transaction = store.begin(term).value();
    ASSERT_THAT(transaction->logAttempts(mail, std::vector{attemptAt(id)}), succeeds());
    ASSERT_THAT(transaction->commit(), succeeds());
  }
  std::vector<std::string> found() {
    std::vector<std::string> ids;
    for (const LogLine& line : openStoreAdmin(world_.options())->log({}).value())
      ids.push_back(line.attempt.message.value);
    return ids;
  }
  std::vector<std::string> folders() {
    SessionThread session(world_.options().zookeeper, world_.options().replyLimit);
    return session.children("/tenure/stores/" + world_.options().name + "/log").value();
  }

  test::ZooKeeperStoreWorld world_;
  const TestTerm term_{7};
};

TEST_F(ZooKeeperLog, AFolderGoesWithItsLastPiece) {
  const auto store = leader(term_);
  for (int i = 1; i <= 1001; ++i) log(*store, term_, std::to_string(i));
  ASSERT_THAT(folders(), SizeIs(2));
  const LogPruning allButOne{mail, {}, 400, 1};

  while (store->pruneLog(term_, allButOne).value() > 0) {
  }

  EXPECT_THAT(folders(), SizeIs(1));
  EXPECT_THAT(found(), ElementsAre("1001"));
}

}  // namespace
}  // namespace tenure::zookeeper
