// The rules of every store, on the least that a driver does: lost replies, somebody faster, a server that was replaced.
#include "storage/fenced_session.hpp"

#include <gmock/gmock.h>

#include "storage/operators/store_admin.hpp"
#include "storage/records.hpp"
#include "support/announce.hpp"
#include "support/events.hpp"
#include "support/results.hpp"
#include "support/terms.hpp"
#include "tenure/spi/source.hpp"
#include "testing/memory/memory_driver.hpp"

namespace tenure::storage {
namespace {

using memory::Operation;
using test::failsWith;
using test::succeeds;
using test::TestTerm;
using testing::ElementsAre;

const ConsumerName books{"ledger"};
const WallTime at{std::chrono::milliseconds{1'790'000'000'000}};

Message messageWith(const std::string& id) {
  Message message;
  message.id = MessageId{id};
  message.body = "body";
  return message;
}

/// A leader with two lanes that commit beside each other.
struct TwoLanes {
  TwoLanes(memory::State& state, IEventSink& events, const Term& term)
      : main(std::make_unique<memory::Driver>(state, systemClock(), true), events) {
    EXPECT_THAT(main.claim(term), succeeds());
    one = main.openLane(1);
    two = main.openLane(2);
    for (IFencedStore* lane : {one.get(), two.get()}) EXPECT_THAT(lane->claim(term), succeeds());
  }
  FencedSession main;
  std::unique_ptr<IFencedStore> one;
  std::unique_ptr<IFencedStore> two;
};

class FencedSessions : public testing::Test {
 protected:
  FencedSessions() { state_.limits.looksAreDear = false; }
  std::unique_ptr<IStoreDriver> driver() { return std::make_unique<memory::Driver>(state_); }
  std::unique_ptr<FencedSession> session() { return std::make_unique<FencedSession>(driver(), events_); }
  std::unique_ptr<FencedSession> leader(const Term& term) {
    auto leading = session();
    EXPECT_THAT(leading->claim(term), succeeds());
    return leading;
  }

  Result<void> put(FencedSession& session, const std::string& value) {
    auto transaction = session.begin(term_).value();
    if (Result<void> written = transaction->put("k", value); !written) return written;
    return transaction->commit();
  }
  std::optional<std::string> get(FencedSession& session) { return session.begin(term_).value()->get("k").value(); }
  Result<Admission> admit(IFencedTransaction& transaction, const std::string& id) {
    return transaction.admit(books, MessageId{id}, digestOf("body"), MessageFate::done);
  }

  /// An operator's, or a stranger's.
  void write(WriteSet& writes) { ASSERT_EQ(driver()->commit({.writes = &writes})->outcome, Outcome::committed); }
  void makeKey(const std::string& id, FencingToken token) {
    WriteSet writes;
    writes.put(Table::key, keyRow(books, MessageId{id}, MessageFate::done, digestOf("another"), token, at));
    write(writes);
  }
  void forgetKey(const std::string& id) {
    WriteSet writes;
    writes.remove(Table::key, keyNamed(books, MessageId{id}));
    write(writes);
  }

  memory::State state_;
  test::RecordedEvents events_;
  TestTerm term_{7};
};

// --- lost replies

TEST_F(FencedSessions, ACommitThatLandedWithoutAReplyIsFoundOut) {
  const auto session = leader(term_);
  state_.lostReply = true;
  ASSERT_THAT(put(*session, "v"), failsWith(Errc::outcomeUnknown));
  EXPECT_THAT(session->begin(term_), failsWith(Errc::outcomeUnknown)) << "nothing begins before it is resolved";

  EXPECT_EQ(session->resolve(term_).value(), CommitFate::committed);

  EXPECT_EQ(get(*session), "v");
  EXPECT_THAT(put(*session, "w"), succeeds());
}

TEST_F(FencedSessions, ACommitThatWasLostIsTakenOffItsNumber) {
  const auto session = leader(term_);
  state_.lostReply = false;
  ASSERT_THAT(put(*session, "v"), failsWith(Errc::outcomeUnknown));

  EXPECT_EQ(session->resolve(term_).value(), CommitFate::notCommitted);

  EXPECT_EQ(get(*session), std::nullopt);
  EXPECT_THAT(put(*session, "w"), succeeds());
}

TEST_F(FencedSessions, AResolvingWhoseOwnReplyIsLostIsRepeated) {
  const auto session = leader(term_);
  state_.lostReply = false;
  ASSERT_THAT(put(*session, "v"), failsWith(Errc::outcomeUnknown));
  state_.lostReply = true;
  ASSERT_THAT(session->resolve(term_), failsWith(Errc::outcomeUnknown));

  EXPECT_EQ(session->resolve(term_).value(), CommitFate::notCommitted);

  EXPECT_THAT(put(*session, "w"), succeeds());
}

TEST_F(FencedSessions, ANewerTermsCommitIsNotTakenForTheLostOne) {
  const auto session = leader(term_);
  state_.lostReply = false;
  ASSERT_THAT(put(*session, "v"), failsWith(Errc::outcomeUnknown));
  const TestTerm newer(8);
  leader(newer);

  EXPECT_THAT(session->resolve(term_), failsWith(Errc::staleTerm));
}

// --- somebody else was faster

TEST_F(FencedSessions, AKeyThatSomebodyElseHasMadeSinceTheLookUndoesTheBatch) {
  const auto session = leader(term_);
  const std::vector<Message> expected{messageWith("a"), messageWith("b")};
  test::announce(*session, expected);
  ASSERT_THAT(session->known(books, {expected.data(), 1}).value(), ElementsAre(Admission::fresh));
  auto transaction = session->begin(term_).value();
  ASSERT_EQ(admit(*transaction, "a").value(), Admission::fresh);
  ASSERT_EQ(admit(*transaction, "b").value(), Admission::fresh);
  makeKey("b", FencingToken{5});

  EXPECT_THAT(transaction->commit(), failsWith(Errc::transactionConflict));

  auto again = session->begin(term_).value();
  EXPECT_EQ(admit(*again, "a").value(), Admission::fresh) << "nothing of the batch was kept";
  EXPECT_EQ(admit(*again, "b").value(), Admission::reused);
  EXPECT_THAT(again->commit(), succeeds());
}

TEST_F(FencedSessions, ADuplicateWhoseKeyIsForgottenBeforeTheCommitIsNotDropped) {
  const auto session = leader(term_);
  auto first = session->begin(term_).value();
  ASSERT_EQ(admit(*first, "a").value(), Admission::fresh);
  ASSERT_THAT(first->commit(), succeeds());
  auto second = session->begin(term_).value();
  ASSERT_EQ(admit(*second, "a").value(), Admission::duplicate);
  forgetKey("a");

  EXPECT_THAT(second->commit(), failsWith(Errc::transactionConflict));

  EXPECT_EQ(admit(*session->begin(term_).value(), "a").value(), Admission::fresh);
}

TEST_F(FencedSessions, WhatAnOperatorReleasesStaysSoWhateverIsRecordedMeanwhile) {
  const auto session = leader(term_);
  AttemptRecord record{MessageId{"m"}, 1, "no", at, at, AttemptState::blocked};
  auto first = session->begin(term_).value();
  ASSERT_THAT(first->recordAttempt(books, record), succeeds());
  ASSERT_THAT(first->commit(), succeeds());
  auto second = session->begin(term_).value();
  record.attempts = 2;
  ASSERT_THAT(second->recordAttempt(books, record), succeeds());
  ASSERT_THAT(StoreAdmin(driver(), false).release(books, record.id), succeeds());
  ASSERT_THAT(second->commit(), succeeds());

  const ConsumerState state = session->consumerState(books).value();

  ASSERT_EQ(state.attempts.size(), 1U);
  EXPECT_EQ(state.attempts.front().attempts, 2);
  EXPECT_EQ(state.attempts.front().state, AttemptState::released);
}

TEST_F(FencedSessions, WhoeverIsFencedHearsOfTheFenceWhateverElseHasChanged) {
  const auto session = leader(term_);
  auto transaction = session->begin(term_).value();
  ASSERT_EQ(admit(*transaction, "a").value(), Admission::fresh);
  const TestTerm newer(8);
  const auto successor = leader(newer);
  auto other = successor->begin(newer).value();
  ASSERT_EQ(admit(*other, "a").value(), Admission::fresh);
  ASSERT_THAT(other->commit(), succeeds());

  EXPECT_THAT(transaction->commit(), failsWith(Errc::staleTerm));
}

TEST_F(FencedSessions, DeadLettersAreNumberedOnWhateverElseWasUndone) {
  const auto session = leader(term_);
  DeadLetter letter;
  letter.message = messageWith("dead");
  const auto deadLetter = [&] {
    auto transaction = session->begin(term_).value();
    EXPECT_THAT(transaction->deadLetter(books, letter), succeeds());
    return transaction->commit();
  };
  ASSERT_THAT(deadLetter(), succeeds());
  state_.faults[Operation::commit] = {Errc::unavailable, 1};
  ASSERT_THAT(deadLetter(), failsWith(Errc::unavailable));
  ASSERT_THAT(deadLetter(), succeeds());

  const auto letters = StoreAdmin(driver(), false).deadLetters(9, {}).value();

  ASSERT_EQ(letters.size(), 2U);
  EXPECT_EQ(letters[0].number, 1);
  EXPECT_EQ(letters[1].number, 2);
}

// --- looks

TEST_F(FencedSessions, OneLookServesAllThatAreExpected) {
  const auto session = leader(term_);
  std::vector<Message> expected;
  for (int i = 0; i < 100; ++i) expected.push_back(messageWith(std::to_string(i)));
  test::announce(*session, expected);
  const std::size_t before = state_.reads;
  auto transaction = session->begin(term_).value();

  for (const Message& message : expected) EXPECT_EQ(admit(*transaction, message.id.value).value(), Admission::fresh);
  ASSERT_THAT(transaction->commit(), succeeds());

  EXPECT_EQ(state_.reads - before, 1U);
}

TEST_F(FencedSessions, TheLookForTheNextBatchRidesOnTheCommit) {
  const auto session = leader(term_);
  const std::vector<Message> first{messageWith("a")};
  const std::vector<Message> second{messageWith("b")};
  test::announce(*session, first);
  auto one = session->begin(term_).value();
  ASSERT_EQ(admit(*one, "a").value(), Admission::fresh);
  test::announce(*session, second);
  ASSERT_THAT(one->commit(), succeeds());
  const std::size_t before = state_.reads;

  auto two = session->begin(term_).value();
  EXPECT_EQ(admit(*two, "b").value(), Admission::fresh);
  EXPECT_THAT(two->commit(), succeeds());

  EXPECT_EQ(state_.reads, before);
}

TEST_F(FencedSessions, WhereLooksAreDearWhatIsExpectedIsTakenForNewOnceNothingCameTwiceForAWhile) {
  state_.limits.looksAreDear = true;
  const auto session = leader(term_);
  const auto handle = [&](const std::string& id) {
    const std::vector<Message> expected{messageWith(id)};
    test::announce(*session, expected);
    auto transaction = session->begin(term_).value();
    const Admission admission = admit(*transaction, id).value();
    EXPECT_THAT(transaction->commit(), succeeds());
    return admission;
  };
  for (int i = 0; i < 256; ++i) ASSERT_EQ(handle("m" + std::to_string(i)), Admission::fresh);
  const std::size_t before = state_.reads;

  EXPECT_EQ(handle("next"), Admission::fresh);

  EXPECT_EQ(state_.reads, before) << "it was not looked at";
  const std::vector<Message> again{messageWith("next")};
  test::announce(*session, again);
  auto wrong = session->begin(term_).value();
  EXPECT_EQ(admit(*wrong, "next").value(), Admission::fresh);
  EXPECT_THAT(wrong->commit(), failsWith(Errc::transactionConflict));
  EXPECT_EQ(admit(*session->begin(term_).value(), "next").value(), Admission::duplicate);
}

TEST_F(FencedSessions, WhoeverWasAskedAboutBeforehandWasLookedAtToo) {
  state_.limits.looksAreDear = true;
  const auto session = leader(term_);
  const auto handle = [&](const std::string& id) {
    const std::vector<Message> expected{messageWith(id)};
    test::announce(*session, expected);
    EXPECT_THAT(session->known(books, expected).value(), ElementsAre(Admission::fresh));
    auto transaction = session->begin(term_).value();
    EXPECT_EQ(admit(*transaction, id).value(), Admission::fresh);
    EXPECT_THAT(transaction->commit(), succeeds());
  };
  for (int i = 0; i < 256; ++i) handle("m" + std::to_string(i));
  const std::size_t before = state_.reads;

  handle("next");

  EXPECT_EQ(state_.reads, before);
}

// --- what fits into one commit

TEST_F(FencedSessions, ATransactionIsFullByWhatItsWritesCostBesideTheirRows) {
  state_.limits.commitBytes = 1200;
  state_.limits.bytesAWrite = 200;
  const auto session = leader(term_);
  auto transaction = session->begin(term_).value();
  for (const char* id : {"a", "b"}) ASSERT_THAT(admit(*transaction, id), succeeds());
  EXPECT_FALSE(transaction->isFull());

  ASSERT_THAT(admit(*transaction, "c"), succeeds());
  EXPECT_TRUE(transaction->isFull());

  for (const char* id : {"d", "e"}) ASSERT_THAT(admit(*transaction, id), succeeds());
  EXPECT_THAT(transaction->commit(), failsWith(Errc::payloadTooLarge));
}

TEST_F(FencedSessions, AStepOfForgettingGoesNoFurtherThanACommitDoes) {
  state_.limits.commitBytes = 1200;
  state_.limits.bytesAWrite = 200;
  const auto session = leader(term_);
  for (const char* id : {"a", "b", "c", "d"}) {
    auto transaction = session->begin(term_).value();
    ASSERT_THAT(admit(*transaction, id), succeeds());
    ASSERT_THAT(transaction->commit(), succeeds());
  }

  const Pruned first = session->prune(term_, {.consumer = books, .before = WallTime::max(), .atMost = 10}).value();
  const Pruned second =
      session->prune(term_, {.consumer = books, .before = WallTime::max(), .after = first.last, .atMost = 10}).value();

  EXPECT_EQ(first.removed, 3U);
  EXPECT_EQ(first.last, "c");
  EXPECT_EQ(second.removed, 1U);
  EXPECT_EQ(second.last, "");
}

// --- servers that come back as others

TEST_F(FencedSessions, AServerThatWasRestartedWithOurLastChangeIsClaimedAnew) {
  const auto session = leader(term_);
  ASSERT_THAT(put(*session, "v"), succeeds());
  state_.server = "second";

  EXPECT_THAT(put(*session, "w"), succeeds());

  EXPECT_EQ(get(*session), "w");
  EXPECT_EQ(events_.of<Warned>().size(), 1U);
}

TEST_F(FencedSessions, EachChangeHasANumberOfItsOwnThoughTheServerIsClaimedAnewBetweenBeginAndCommit) {
  const auto session = leader(term_);
  auto transaction = session->begin(term_).value();
  ASSERT_THAT(transaction->put("k", "v"), succeeds());
  state_.server = "second";

  ASSERT_THAT(transaction->commit(), succeeds());

  const auto fences = driver()->fences().value();
  ASSERT_EQ(fences.size(), 1U);
  EXPECT_EQ(fences.front().row.sequence, 2) << "the claim, the claim anew, the commit";
}

TEST_F(FencedSessions, TheLostReplyOfAClaimMadeAnewIsNoClone) {
  for (const bool lands : {true, false}) {
    const auto session = leader(term_);
    state_.server += "another";
    state_.lostClaim = lands;
    ASSERT_THAT(put(*session, "v"), failsWith(Errc::unavailable));
    state_.server += "a third";
    state_.lostClaim = lands;
    ASSERT_THAT(put(*session, "v"), failsWith(Errc::unavailable)) << "and once more";

    EXPECT_THAT(put(*session, "w"), succeeds()) << lands;
  }
}

TEST_F(FencedSessions, ResolvingKnowsWhatALostClaimMadeAnewHasWritten) {
  const auto session = leader(term_);
  state_.server = "second";
  state_.lostClaim = true;
  ASSERT_THAT(put(*session, "v"), failsWith(Errc::unavailable));

  EXPECT_EQ(session->resolve(term_).value(), CommitFate::notCommitted);

  EXPECT_THAT(put(*session, "w"), succeeds());
}

TEST_F(FencedSessions, ANewerTermsClaimIsNotTakenForTheLostOneOfAClaimMadeAnew) {
  const auto session = leader(term_);
  state_.server = "second";
  state_.lostClaim = false;
  ASSERT_THAT(put(*session, "v"), failsWith(Errc::unavailable));
  const auto newer = leader(TestTerm(8));

  EXPECT_THAT(put(*session, "w"), failsWith(Errc::staleTerm));
}

// shows: lanes/lanes-handlers-read
TEST_F(FencedSessions, WhatALaneHasReadIsExpectedAtItsCommit) {
  const TwoLanes lanes(state_, events_, term_);
  auto first = lanes.one->begin(term_).value();
  auto second = lanes.two->begin(term_).value();
  for (const auto& transaction : {first.get(), second.get()}) {
    ASSERT_EQ(transaction->get("a").value(), std::nullopt);
    ASSERT_EQ(transaction->get("b").value(), std::nullopt);
  }
  ASSERT_THAT(first->put("a", "of one"), succeeds());
  ASSERT_THAT(second->put("b", "of two"), succeeds());

  EXPECT_THAT(first->commit(), succeeds());
  EXPECT_THAT(second->commit(), failsWith(Errc::transactionConflict)) << "it rests on there being no a";
}

TEST_F(FencedSessions, WhatALaneWritesWithoutReadingItRestsOnNothing) {
  const TwoLanes lanes(state_, events_, term_);
  auto first = lanes.one->begin(term_).value();
  auto second = lanes.two->begin(term_).value();
  ASSERT_THAT(first->put("a", "of one"), succeeds());
  ASSERT_EQ(first->get("a").value(), "of one");
  ASSERT_THAT(second->put("a", "of two"), succeeds());

  EXPECT_THAT(first->commit(), succeeds());
  EXPECT_THAT(second->commit(), succeeds());
}

// shows: messages/dead-letter-cut
TEST_F(FencedSessions, ALetterIsCutToWhatACommitTakesAndSaysSo) {
  state_.limits.commitBytes = 10'000;
  const auto session = leader(term_);
  auto transaction = session->begin(term_).value();
  DeadLetter letter{.message = messageWith("large"), .reason = "why"};
  letter.message.body = std::string(20'000, 'x');
  ASSERT_THAT(transaction->deadLetter(books, letter), succeeds());
  letter.message = messageWith("small");
  ASSERT_THAT(transaction->deadLetter(books, letter), succeeds());

  ASSERT_THAT(transaction->commit(), succeeds());

  StoreAdmin admin(driver(), true);
  const auto letters = admin.deadLetters(10, {}).value();
  ASSERT_EQ(letters.size(), 2U);
  EXPECT_GT(letters[0].message.body.size(), 3'000U);
  EXPECT_LT(letters[0].message.body.size(), 5'000U);
  EXPECT_THAT(letters[0].message.lacks, testing::HasSubstr("20000 bytes"));
  EXPECT_EQ(letters[1].message.body, "body");
  EXPECT_EQ(letters[1].message.lacks, "");
}

TEST_F(FencedSessions, AServerThatHasLostOurLastChangeEndsTheTerm) {
  const auto session = leader(term_);
  const memory::Kept before = state_.kept;
  ASSERT_THAT(put(*session, "v"), succeeds());
  state_.kept = before;
  state_.server = "second";

  EXPECT_THAT(put(*session, "w"), failsWith(Errc::fenceLost));
}

TEST_F(FencedSessions, APlaceThatWasEmptiedIsNotClaimedAsANewOne) {
  const auto session = leader(term_);
  state_.kept = {};
  const TestTerm later(8);

  EXPECT_THAT(session->claim(later), failsWith(Errc::fenceLost));
}

TEST_F(FencedSessions, AnotherElectionsPlaceIsRefused) {
  leader(term_);

  EXPECT_THAT(session()->claim(TestTerm(9, "invoices")), failsWith(Errc::queueOwned));
}

// --- forgetting

TEST_F(FencedSessions, AKeyThatIsMadeAnewWhileItIsForgottenStays) {
  const auto session = leader(term_);
  auto first = session->begin(term_).value();
  ASSERT_EQ(admit(*first, "a").value(), Admission::fresh);
  ASSERT_THAT(first->commit(), succeeds());
  state_.beforeNextCommit = [&] { makeKey("a", FencingToken{7}); };

  EXPECT_THAT(session->prune(term_, {.consumer = books, .before = WallTime::max(), .atMost = 10}),
              failsWith(Errc::transactionConflict));

  EXPECT_EQ(state_.kept.rows.size(), 1U);
}

}  // namespace
}  // namespace tenure::storage
