// The rules of every store, on the least that a driver does: lost replies, somebody faster, a server that was replaced.
#include "storage/fenced_session.hpp"

#include <gmock/gmock.h>

#include "storage/key_value/key_value_store.hpp"
#include "storage/store_admin.hpp"
#include "support/events.hpp"
#include "support/memory_values.hpp"
#include "support/results.hpp"
#include "support/terms.hpp"

namespace tenure::storage {
namespace {

using test::failsWith;
using test::MemoryDriver;
using test::MemoryValues;
using test::succeeds;
using test::TestTerm;
using testing::ElementsAre;
using testing::IsEmpty;
using Fault = MemoryValues::Fault;

const ConsumerName books{"ledger"};
const WallTime at{std::chrono::milliseconds{1'790'000'000'000}};

Message messageWith(const std::string& id) {
  Message message;
  message.id = MessageId{id};
  message.body = "body";
  return message;
}

class FencedSessions : public testing::Test {
 protected:
  std::unique_ptr<IStoreDriver> driver() {
    return std::make_unique<KeyValueStore>(std::make_unique<MemoryDriver>(values_));
  }
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

  std::shared_ptr<MemoryValues> values_ = std::make_shared<MemoryValues>();
  test::RecordedEvents events_;
  TestTerm term_{7};
};

// --- lost replies

TEST_F(FencedSessions, ACommitThatLandedWithoutAReplyIsFoundOut) {
  const auto session = leader(term_);
  values_->faults = {Fault::lostAfter};
  ASSERT_THAT(put(*session, "v"), failsWith(Errc::outcomeUnknown));
  EXPECT_THAT(session->begin(term_), failsWith(Errc::outcomeUnknown)) << "nothing begins before it is resolved";

  EXPECT_EQ(session->resolve(term_).value(), CommitFate::committed);

  EXPECT_EQ(get(*session), "v");
  EXPECT_THAT(put(*session, "w"), succeeds());
}

TEST_F(FencedSessions, ACommitThatWasLostIsTakenOffItsNumber) {
  const auto session = leader(term_);
  values_->faults = {Fault::lostBefore};
  ASSERT_THAT(put(*session, "v"), failsWith(Errc::outcomeUnknown));

  EXPECT_EQ(session->resolve(term_).value(), CommitFate::notCommitted);

  EXPECT_EQ(get(*session), std::nullopt);
  EXPECT_THAT(put(*session, "w"), succeeds());
}

TEST_F(FencedSessions, AResolvingWhoseOwnReplyIsLostIsRepeated) {
  const auto session = leader(term_);
  values_->faults = {Fault::lostBefore, Fault::lostAfter};
  ASSERT_THAT(put(*session, "v"), failsWith(Errc::outcomeUnknown));
  ASSERT_THAT(session->resolve(term_), failsWith(Errc::outcomeUnknown));

  EXPECT_EQ(session->resolve(term_).value(), CommitFate::notCommitted);

  EXPECT_THAT(put(*session, "w"), succeeds());
}

TEST_F(FencedSessions, ANewerTermsCommitIsNotTakenForTheLostOne) {
  const auto session = leader(term_);
  values_->faults = {Fault::lostBefore};
  ASSERT_THAT(put(*session, "v"), failsWith(Errc::outcomeUnknown));
  const TestTerm newer(8);
  leader(newer);

  EXPECT_THAT(session->resolve(term_), failsWith(Errc::staleTerm));
}

// --- somebody else was faster

TEST_F(FencedSessions, AKeyThatSomebodyElseHasMadeSinceTheLookUndoesTheBatch) {
  const auto session = leader(term_);
  const std::vector<Message> expected{messageWith("a"), messageWith("b")};
  session->expect(expected);
  ASSERT_THAT(session->known(books, {expected.data(), 1}).value(), ElementsAre(Admission::fresh));
  auto transaction = session->begin(term_).value();
  ASSERT_EQ(admit(*transaction, "a").value(), Admission::fresh);
  ASSERT_EQ(admit(*transaction, "b").value(), Admission::fresh);
  values_->values[{spi::Table::key, std::string("ledger\0b", 8)}] = "0;16:0123456789abcdef5;0;";

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
  values_->values.erase({spi::Table::key, std::string("ledger\0a", 8)});

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

TEST_F(FencedSessions, AReleaseBetweenTheReadingAndTheWritingOfAnAttemptUndoesTheCommit) {
  const auto session = leader(term_);
  AttemptRecord record{MessageId{"m"}, 1, "no", at, at, AttemptState::blocked};
  auto first = session->begin(term_).value();
  ASSERT_THAT(first->recordAttempt(books, record), succeeds());
  ASSERT_THAT(first->commit(), succeeds());
  auto second = session->begin(term_).value();
  ASSERT_THAT(second->recordAttempt(books, record), succeeds());
  values_->beforeNextBatch = [&] { EXPECT_THAT(StoreAdmin(driver(), false).release(books, record.id), succeeds()); };

  EXPECT_THAT(second->commit(), failsWith(Errc::transactionConflict));
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
  values_->faults = {Fault::unavailable};
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
  session->expect(expected);
  const std::size_t before = values_->reads;
  auto transaction = session->begin(term_).value();

  for (const Message& message : expected) EXPECT_EQ(admit(*transaction, message.id.value).value(), Admission::fresh);
  ASSERT_THAT(transaction->commit(), succeeds());

  EXPECT_EQ(values_->reads - before, 1U);
}

TEST_F(FencedSessions, TheLookForTheNextBatchRidesOnTheCommit) {
  const auto session = leader(term_);
  const std::vector<Message> first{messageWith("a")};
  const std::vector<Message> second{messageWith("b")};
  session->expect(first);
  auto one = session->begin(term_).value();
  ASSERT_EQ(admit(*one, "a").value(), Admission::fresh);
  session->expect(second);
  ASSERT_THAT(one->commit(), succeeds());
  const std::size_t before = values_->reads;

  auto two = session->begin(term_).value();
  EXPECT_EQ(admit(*two, "b").value(), Admission::fresh);
  EXPECT_THAT(two->commit(), succeeds());

  EXPECT_EQ(values_->reads, before);
}

TEST_F(FencedSessions, WhereLooksAreDearWhatIsExpectedIsTakenForNewOnceNothingCameTwiceForAWhile) {
  values_->limits.readsAreDear = true;
  const auto session = leader(term_);
  const auto handle = [&](const std::string& id) {
    const std::vector<Message> expected{messageWith(id)};
    session->expect(expected);
    auto transaction = session->begin(term_).value();
    const Admission admission = admit(*transaction, id).value();
    EXPECT_THAT(transaction->commit(), succeeds());
    return admission;
  };
  for (int i = 0; i < 256; ++i) ASSERT_EQ(handle("m" + std::to_string(i)), Admission::fresh);
  const std::size_t before = values_->reads;

  EXPECT_EQ(handle("next"), Admission::fresh);

  EXPECT_EQ(values_->reads, before) << "it was not looked at";
  const std::vector<Message> again{messageWith("next")};
  session->expect(again);
  auto wrong = session->begin(term_).value();
  EXPECT_EQ(admit(*wrong, "next").value(), Admission::fresh);
  EXPECT_THAT(wrong->commit(), failsWith(Errc::transactionConflict));
  EXPECT_EQ(admit(*session->begin(term_).value(), "next").value(), Admission::duplicate);
}

TEST_F(FencedSessions, WhoeverWasAskedAboutBeforehandWasLookedAtToo) {
  values_->limits.readsAreDear = true;
  const auto session = leader(term_);
  const auto handle = [&](const std::string& id) {
    const std::vector<Message> expected{messageWith(id)};
    session->expect(expected);
    EXPECT_THAT(session->known(books, expected).value(), ElementsAre(Admission::fresh));
    auto transaction = session->begin(term_).value();
    EXPECT_EQ(admit(*transaction, id).value(), Admission::fresh);
    EXPECT_THAT(transaction->commit(), succeeds());
  };
  for (int i = 0; i < 256; ++i) handle("m" + std::to_string(i));
  const std::size_t before = values_->reads;

  handle("next");

  EXPECT_EQ(values_->reads, before);
}

// --- what fits into one commit

TEST_F(FencedSessions, ATransactionIsFullByWhatItsWritesCostBesideTheirRows) {
  values_->limits.batchBytes = 1200;
  values_->limits.bytesAWrite = 200;
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
  values_->limits.batchBytes = 1200;
  values_->limits.bytesAWrite = 200;
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
  values_->server = "second";

  EXPECT_THAT(put(*session, "w"), succeeds());

  EXPECT_EQ(get(*session), "w");
  EXPECT_EQ(events_.of<Warned>().size(), 1U);
}

TEST_F(FencedSessions, EachChangeHasANumberOfItsOwnThoughTheServerIsClaimedAnewBetweenBeginAndCommit) {
  const auto session = leader(term_);
  auto transaction = session->begin(term_).value();
  ASSERT_THAT(transaction->put("k", "v"), succeeds());
  values_->server = "second";

  ASSERT_THAT(transaction->commit(), succeeds());

  const auto fences = driver()->fences().value();
  ASSERT_EQ(fences.size(), 1U);
  EXPECT_EQ(fences.front().row.sequence, 2) << "the claim, the claim anew, the commit";
}

TEST_F(FencedSessions, AServerThatHasLostOurLastChangeEndsTheTerm) {
  const auto session = leader(term_);
  const auto before = values_->values;
  ASSERT_THAT(put(*session, "v"), succeeds());
  values_->values = before;
  values_->server = "second";

  EXPECT_THAT(put(*session, "w"), failsWith(Errc::fenceLost));
}

TEST_F(FencedSessions, APlaceThatWasEmptiedIsNotClaimedAsANewOne) {
  const auto session = leader(term_);
  values_->values.clear();
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
  const spi::Name name{spi::Table::key, std::string("ledger\0a", 8)};
  values_->beforeNextBatch = [&] { values_->values[name] = "0;16:0123456789abcdef7;1790000000000;"; };

  EXPECT_THAT(session->prune(term_, {.consumer = books, .before = WallTime::max(), .atMost = 10}),
              failsWith(Errc::transactionConflict));

  EXPECT_TRUE(values_->values.contains(name));
}

TEST_F(FencedSessions, ADamagedRecordIsToldByItsName) {
  const auto session = leader(term_);
  values_->values[{spi::Table::key, std::string("ledger\0a", 8)}] = "nonsense";

  const auto admission = admit(*session->begin(term_).value(), "a");

  ASSERT_THAT(admission, failsWith(Errc::storeFailed));
  EXPECT_THAT(admission.error().detail, testing::HasSubstr("is damaged"));
}

}  // namespace
}  // namespace tenure::storage
