// The consume log of a store on ZooKeeper: pieces, how they are counted, and folders that come and go.
#include <gmock/gmock.h>

#include "backends/zookeeper/log_pieces.hpp"
#include "backends/zookeeper/paths.hpp"
#include "backends/zookeeper/session_thread.hpp"
#include "support/results.hpp"
#include "support/terms.hpp"
#include "support/zookeeper_store_world.hpp"

namespace tenure::zookeeper {
namespace {

using test::failsWith;
using test::identityWith;
using test::succeeds;
using test::TestTerm;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

const ConsumerName mail{"mail"};
const ConsumerName audit{"au,dit"};
const WallTime noon{std::chrono::milliseconds{1'790'000'000'000}};

LoggedAttempt attemptAt(const std::string& id, WallTime at = noon) {
  return {MessageId{id}, 1, AttemptEnd::failed, "no\nstock \xff", at, at};
}

TEST(LogPieces, HoldLinesWhateverIsInThem) {
  const LogEntry entry = logEntry(mail, FencingToken{7}, std::vector{attemptAt("a b\n"), attemptAt("c")});

  const std::vector<LogLine> lines = logLinesFrom(mail, entry.text).value();

  ASSERT_THAT(lines, SizeIs(2));
  EXPECT_EQ(lines[0].attempt.message.value, "a b\n");
  EXPECT_EQ(lines[0].attempt.error, "no\nstock \xff");
  EXPECT_EQ(lines[1].attempt.message.value, "c");
  EXPECT_EQ(logLinesFrom(mail, withoutLines(entry.text, 1)).value().at(0).attempt.message.value, "c");
  EXPECT_THAT(withoutLines(entry.text, 2), IsEmpty());
  EXPECT_THAT(withoutLines(entry.text, 3), IsEmpty());
}

TEST(LogPieces, ThatAreDamagedAreNoLines) {
  for (const char* text : {"a", "a ", "a 1%202", "\n", "a 1%202%203%204%205"})
    EXPECT_THAT(logLinesFrom(mail, text), failsWith(Errc::storeFailed)) << text;
}

TEST(LogPieces, AreOneForEachConsumer) {
  const auto entry = [](const ConsumerName& consumer, const std::string& id) {
    return logEntry(consumer, FencingToken{7}, std::vector{attemptAt(id)});
  };

  const auto merged = mergedByConsumer({entry(mail, "a"), entry(audit, "b"), entry(mail, "c")});

  ASSERT_THAT(merged, SizeIs(2));
  EXPECT_EQ(merged[0].lines, 2U);
  EXPECT_EQ(merged[0].text, entry(mail, "a").text + entry(mail, "c").text);
  EXPECT_EQ(merged[1].consumer, audit);
}

TEST(LogPieces, AreFoundByTheirNames) {
  const Paths paths("/tenure", "orders");
  const LogPiece piece{1001, 3, audit};

  const std::string path = paths.logPiece(piece);
  const auto found = Paths::pieceFrom(path.substr(path.rfind('/') + 1));

  ASSERT_TRUE(found);
  EXPECT_EQ(found->number, 1001);
  EXPECT_EQ(found->lines, 3U);
  EXPECT_EQ(found->consumer, audit);
  EXPECT_TRUE(path.starts_with(paths.logFolder(1) + "/"));
  EXPECT_TRUE(piece.isFirstOfFolder());
  for (const char* name : {"", ",", "00000000000000000001", "00000000000000000001,0,mail", "1,1,mail"})
    EXPECT_FALSE(Paths::pieceFrom(name)) << name;
}

TEST(LogIndex, CountsLinesByConsumerAndPiecesByFolder) {
  LogIndex index;
  for (const LogPiece& piece : {LogPiece{1, 5, mail}, LogPiece{2, 1, audit}, LogPiece{3, 2, mail}}) index.add(piece);

  EXPECT_EQ(index.linesOf(mail), 7U);
  EXPECT_THAT(index.oldest(mail, 5), SizeIs(1));
  EXPECT_THAT(index.oldest(mail, 6), SizeIs(2));

  index.shorten({1, 5, mail}, 2);
  EXPECT_EQ(index.linesOf(mail), 4U);
  EXPECT_EQ(index.piecesIn(0), 3U);
  index.shorten({1, 2, mail}, 0);
  EXPECT_EQ(index.linesOf(mail), 2U);
  EXPECT_EQ(index.piecesIn(0), 2U);
  EXPECT_EQ(index.linesOf(audit), 1U);
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
  for (int i = 0; i < LogPiece::aFolder + 2; ++i) log(*store, term_, std::to_string(i));
  ASSERT_THAT(folders(), SizeIs(2));
  const LogPruning allButOne{mail, {}, 400, 1};

  while (store->pruneLog(term_, allButOne).value() > 0) {
  }

  EXPECT_THAT(folders(), SizeIs(1));
  EXPECT_THAT(found(), ElementsAre("1001"));
}

TEST_F(ZooKeeperLog, ASuccessorCountsWhatItFinds) {
  {
    const auto store = leader(term_);
    for (const char* id : {"a", "b", "c"}) log(*store, term_, id);
  }
  const TestTerm next{8};
  const auto store = leader(next);
  log(*store, next, "d");

  EXPECT_EQ(store->pruneLog(next, {mail, {}, 10, 2}).value(), 2U);
  log(*store, next, "e");
  EXPECT_EQ(store->pruneLog(next, {mail, {}, 10, 2}).value(), 1U);

  EXPECT_THAT(found(), ElementsAre("d", "e"));
}

TEST_F(ZooKeeperLog, WhatAStrangerRemovedIsLookedAtAnew) {
  const auto store = leader(term_);
  log(*store, term_, "a");
  log(*store, term_, "b");
  ASSERT_EQ(store->pruneLog(term_, {mail, {}, 10, 5}).value(), 0U);
  SessionThread session(world_.options().zookeeper, world_.options().replyLimit);
  const Paths paths("/tenure", world_.options().name);
  ASSERT_THAT(session.multi({RemoveOp{paths.logPiece({1, 1, mail})}}), succeeds());

  EXPECT_THAT(store->pruneLog(term_, {mail, noon + std::chrono::hours{1}, 10}), failsWith(Errc::undone));
  EXPECT_EQ(store->pruneLog(term_, {mail, noon + std::chrono::hours{1}, 10}).value(), 1U);
}

TEST_F(ZooKeeperLog, GoesOnAfterTheFenceWasLost) {
  log(*leader(term_), term_, "a");
  world_.dropFence("orders");
  FenceRow lost;
  lost.election = ElectionName{"orders"};
  const TermIdentity next = identityWith(8);
  ASSERT_THAT(openStoreAdmin(world_.options())->rebaseFence(lost, next.ensemble, 1, next.electionPath), succeeds());
  const TestTerm term(next);

  log(*leader(term), term, "b");

  EXPECT_THAT(found(), ElementsAre("a", "b"));
}

}  // namespace
}  // namespace tenure::zookeeper
