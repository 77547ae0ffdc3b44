// The transaction: what it keeps, what it undoes, and what a stale one can do (nothing).
#include "conformance/store/store_suite.hpp"
#include "support/announce.hpp"

namespace tenure::test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

/// What a store cannot hold whole is cut, and says so.
// shows: messages/dead-letter-cut
TEST_P(StoreSuite, ADeadLetterOfTheLargestBodyIsTaken) {
  const Leader leader = leaderWith(7);
  auto transaction = begin(leader);
  DeadLetter letter;
  letter.message = messageWith("large", std::string(maxBodyBytes, 'x'));
  letter.reason = "why";
  ASSERT_THAT(transaction->admit(consumer, letter.message.id, digestOf(letter.message.body), MessageFate::dead),
              succeeds());
  ASSERT_THAT(transaction->deadLetter(consumer, letter), succeeds());

  ASSERT_THAT(transaction->commit(), succeeds());

  const auto admin = world_->storeAdmin();
  if (!admin) return;
  const std::vector<DeadLetter> letters = admin->deadLetters().value();
  ASSERT_EQ(letters.size(), 1U);
  const Message& kept = letters[0].message;
  const bool isWhole = kept.body.size() == maxBodyBytes;
  EXPECT_EQ(kept.lacks.empty(), isWhole);
  EXPECT_GT(kept.body.size(), maxBodyBytes / 2);
}

TEST_P(StoreSuite, StateIsReadInItsOwnTransactionAndAfterTheCommit) {
  const Leader leader = leaderWith(7);
  auto transaction = begin(leader);

  ASSERT_THAT(transaction->put("position", "41"), succeeds());
  ASSERT_THAT(transaction->put("position", "42"), succeeds());
  EXPECT_EQ(transaction->get("position").value(), "42");
  ASSERT_THAT(transaction->commit(), succeeds());

  EXPECT_EQ(get(leader, "position"), "42");
}

TEST_P(StoreSuite, StateIsAbsentBeforeItIsPutAndAfterItIsErased) {
  const Leader leader = leaderWith(7);
  EXPECT_EQ(get(leader, "k"), std::nullopt);
  ASSERT_THAT(put(leader, "k", ""), succeeds());
  EXPECT_EQ(get(leader, "k"), "");

  auto transaction = begin(leader);
  ASSERT_THAT(transaction->erase("k"), succeeds());
  ASSERT_THAT(transaction->commit(), succeeds());

  EXPECT_EQ(get(leader, "k"), std::nullopt);
}

TEST_P(StoreSuite, StateKeepsEveryByte) {
  const Leader leader = leaderWith(7);
  std::string bytes;
  for (int byte = 0; byte < 256; ++byte) bytes.push_back(static_cast<char>(byte));

  ASSERT_THAT(put(leader, "k'; DROP TABLE x; --", bytes), succeeds());

  EXPECT_EQ(get(leader, "k'; DROP TABLE x; --"), bytes);
}

TEST_P(StoreSuite, StateHasLimits) {
  const Leader leader = leaderWith(7);
  auto transaction = begin(leader);

  EXPECT_THAT(transaction->put("", "v"), failsWith(Errc::invalidArgument));
  EXPECT_THAT(transaction->put(std::string(256, 'k'), "v"), failsWith(Errc::invalidArgument));
  EXPECT_THAT(transaction->put("k", std::string((1U << 20U) + 1, 'v')), failsWith(Errc::payloadTooLarge));
}

TEST_P(StoreSuite, NothingOfARolledBackTransactionIsThere) {
  const Leader leader = leaderWith(7);
  auto transaction = begin(leader);
  ASSERT_THAT(transaction->put("k", "v"), succeeds());
  ASSERT_THAT(transaction->admit(consumer, MessageId{"m"}, digestOf("body"), MessageFate::done), succeeds());

  transaction->rollback();

  EXPECT_EQ(get(leader, "k"), std::nullopt);
  EXPECT_EQ(admit(leader, "m").value(), Admission::fresh);
}

TEST_P(StoreSuite, ATransactionThatGoesOutOfScopeIsRolledBack) {
  const Leader leader = leaderWith(7);

  { ASSERT_THAT(begin(leader)->put("k", "v"), succeeds()); }

  EXPECT_EQ(get(leader, "k"), std::nullopt);
}

// shows: S2
TEST_P(StoreSuite, AnIdIsAdmittedOnce) {
  const Leader leader = leaderWith(7);

  EXPECT_EQ(admit(leader, "m").value(), Admission::fresh);
  EXPECT_EQ(admit(leader, "m").value(), Admission::duplicate);
  EXPECT_EQ(admit(leader, "other").value(), Admission::fresh);
}

TEST_P(StoreSuite, AnIdThatDiedIsADuplicateToo) {
  const Leader leader = leaderWith(7);

  EXPECT_EQ(admit(leader, "m", "body", MessageFate::dead).value(), Admission::fresh);

  EXPECT_EQ(admit(leader, "m").value(), Admission::duplicate);
}

TEST_P(StoreSuite, Row30TheSameIdWithAnotherBodyIsReused) {
  const Leader leader = leaderWith(7);
  EXPECT_EQ(admit(leader, "m", "one body").value(), Admission::fresh);

  EXPECT_EQ(admit(leader, "m", "another").value(), Admission::reused);

  EXPECT_EQ(admit(leader, "m", "one body").value(), Admission::duplicate);
}

// shows: messages/keys-carry-consumer
TEST_P(StoreSuite, ConsumersHaveIdsOfTheirOwn) {
  const Leader leader = leaderWith(7);
  EXPECT_EQ(admit(leader, "m").value(), Admission::fresh);

  const auto other = begin(leader)->admit(ConsumerName{"audit"}, MessageId{"m"}, digestOf("body"), MessageFate::done);

  EXPECT_EQ(other.value(), Admission::fresh);
}

TEST_P(StoreSuite, AnIdOutlivesItsTerm) {
  ASSERT_EQ(admit(leaderWith(7), "m").value(), Admission::fresh);

  EXPECT_EQ(admit(leaderWith(8), "m").value(), Admission::duplicate);
}

TEST_P(StoreSuite, KnownHintsAtWhatAdmitWillSay) {
  const Leader leader = leaderWith(7);
  ASSERT_EQ(admit(leader, "seen").value(), Admission::fresh);
  const std::vector<Message> messages{messageWith("seen"), messageWith("new"), messageWith("seen", "another body")};

  EXPECT_THAT(leader.store->known(consumer, messages).value(),
              ElementsAre(Admission::duplicate, Admission::fresh, Admission::reused));
}

TEST_P(StoreSuite, AMarkUndoesOneMessageAndKeepsTheOthers) {
  const Leader leader = leaderWith(7);
  auto transaction = begin(leader);
  for (const std::string id : {"good", "bad", "fine"}) {
    ASSERT_THAT(transaction->mark(), succeeds());
    ASSERT_THAT(transaction->admit(consumer, MessageId{id}, digestOf("body"), MessageFate::done), succeeds());
    ASSERT_THAT(transaction->put(id, "done"), succeeds());
    if (id == "bad") {
      ASSERT_THAT(transaction->rollbackToMark(), succeeds());
    }
  }
  ASSERT_THAT(transaction->commit(), succeeds());

  EXPECT_EQ(get(leader, "good"), "done");
  EXPECT_EQ(get(leader, "bad"), std::nullopt);
  EXPECT_EQ(get(leader, "fine"), "done");
  EXPECT_EQ(admit(leader, "bad").value(), Admission::fresh);
}

TEST_P(StoreSuite, AMarkCanBeReturnedToTwice) {
  const Leader leader = leaderWith(7);
  auto transaction = begin(leader);
  ASSERT_THAT(transaction->put("before", "v"), succeeds());
  ASSERT_THAT(transaction->mark(), succeeds());
  ASSERT_THAT(transaction->put("after", "v"), succeeds());
  ASSERT_THAT(transaction->rollbackToMark(), succeeds());
  ASSERT_THAT(transaction->put("after", "v"), succeeds());

  ASSERT_THAT(transaction->rollbackToMark(), succeeds());
  ASSERT_THAT(transaction->commit(), succeeds());

  EXPECT_EQ(get(leader, "before"), "v");
  EXPECT_EQ(get(leader, "after"), std::nullopt);
}

TEST_P(StoreSuite, WhatWasPutErasedAndPutAgainIsUndoneAsIfItHadNotBeen) {
  const Leader leader = leaderWith(7);
  ASSERT_THAT(put(leader, "old", "v"), succeeds());
  const auto transaction = begin(leader);
  ASSERT_THAT(transaction->mark(), succeeds());
  for (const std::string key : {"old", "new"}) {
    ASSERT_THAT(transaction->put(key, "w"), succeeds());
    ASSERT_THAT(transaction->erase(key), succeeds());
    ASSERT_THAT(transaction->put(key, "x"), succeeds());
    ASSERT_THAT(transaction->erase(key), succeeds());
  }

  ASSERT_THAT(transaction->rollbackToMark(), succeeds());
  ASSERT_THAT(transaction->commit(), succeeds());

  EXPECT_EQ(get(leader, "old"), "v");
  EXPECT_EQ(get(leader, "new"), std::nullopt);
}

TEST_P(StoreSuite, AKeyThatWasUndoneWithItsMarkIsAdmittedAgain) {
  const Leader leader = leaderWith(7);
  const auto transaction = begin(leader);
  const auto admitAgain = [&] {
    return transaction->admit(consumer, MessageId{"m"}, digestOf("body"), MessageFate::done).value();
  };
  ASSERT_THAT(transaction->mark(), succeeds());
  ASSERT_EQ(admitAgain(), Admission::fresh);
  ASSERT_THAT(transaction->put("k", "of m"), succeeds());

  ASSERT_THAT(transaction->rollbackToMark(), succeeds());

  EXPECT_EQ(admitAgain(), Admission::fresh);
  ASSERT_THAT(transaction->commit(), succeeds());
  EXPECT_EQ(admit(leader, "m").value(), Admission::duplicate);
  EXPECT_EQ(get(leader, "k"), std::nullopt);
}

TEST_P(StoreSuite, AMarkWithoutAWriteHoldsNothing) {
  const Leader leader = leaderWith(7);
  auto transaction = begin(leader);
  ASSERT_THAT(transaction->mark(), succeeds());

  EXPECT_THAT(transaction->rollbackToMark(), succeeds());

  leaderWith(8);
  EXPECT_THAT(transaction->commit(), succeeds());
}

TEST_P(StoreSuite, WhatATermHasInWorkIsFoundByTheNext) {
  const Leader first = leaderWith(7);
  const InWork all{.ids = {{"a"}, {"b\n"}}, .more = true};
  const InWork lanes{.ids = {{"\x1fsuspects of 3"}}, .suspectsOf = FencingToken{3}, .isNarrowedDown = true};
  auto transaction = begin(first);
  ASSERT_THAT(transaction->recordInWork(consumer, 0, all), succeeds());
  ASSERT_THAT(transaction->recordInWork(consumer, 2, lanes), succeeds());
  ASSERT_THAT(transaction->commit(), succeeds());

  const Leader second = leaderWith(8);
  const auto byTheFirst = [](InWork inWork) {
    inWork.recordedBy = FencingToken{7};
    return inWork;
  };
  EXPECT_EQ(second.store->consumerState(consumer).value().inWork, byTheFirst(all));
  EXPECT_EQ(second.store->inWorkOf(consumer, 2).value(), byTheFirst(lanes));
  EXPECT_EQ(second.store->inWorkOf(consumer, 1).value(), InWork{}) << "another lane";
  EXPECT_THAT(second.store->consumerState({std::string(consumer.value) + "\x1f\x32"}).value().inWork.ids, IsEmpty())
      << "another consumer";
}

TEST_P(StoreSuite, WorkThatWasClearedIsNotFound) {
  const Leader first = leaderWith(7);
  auto transaction = begin(first);
  ASSERT_THAT(transaction->recordInWork(consumer, 0, {.ids = {{"a"}}, .more = true}), succeeds());
  ASSERT_THAT(transaction->recordInWork(consumer, 0, {}), succeeds());
  ASSERT_THAT(transaction->commit(), succeeds());

  const ConsumerState state = leaderWith(8).store->consumerState(consumer).value();

  EXPECT_THAT(state.inWork.ids, IsEmpty());
  EXPECT_FALSE(state.inWork.more);
}

TEST_P(StoreSuite, BeforeTheFirstTermNothingWasInWork) {
  const ConsumerState state = leaderWith(7).store->consumerState(consumer).value();

  EXPECT_THAT(state.inWork.ids, IsEmpty());
  EXPECT_FALSE(state.inWork.more);
}

TEST_P(StoreSuite, ATermThatLeftNoRecordMayHaveHadAnythingInWork) {
  const Leader first = leaderWith(7);
  auto transaction = begin(first);
  ASSERT_THAT(transaction->recordInWork(consumer, 0, {}), succeeds());
  ASSERT_THAT(transaction->commit(), succeeds());
  leaderWith(8);  // and ends before its first commit

  EXPECT_TRUE(leaderWith(9).store->consumerState(consumer).value().inWork.more);
}

TEST_P(StoreSuite, AttemptsOutliveTheirTermUntilTheyAreCleared) {
  const Leader first = leaderWith(7);
  const WallTime at{std::chrono::milliseconds{1'790'000'000'123}};
  const AttemptRecord record{.id = MessageId{"m"},
                             .attempts = 3,
                             .lastError = "no such order",
                             .firstAt = at,
                             .lastAt = at + std::chrono::seconds{5},
                             .begunBy = FencingToken{5},
                             .processDied = true,
                             .postponements = {.times = 4, .since = at + std::chrono::seconds{1}}};
  auto transaction = begin(first);
  ASSERT_THAT(transaction->recordAttempt(consumer, {record.id, 2, "once", at, at}), succeeds());
  ASSERT_THAT(transaction->recordAttempt(consumer, record), succeeds());
  ASSERT_THAT(transaction->recordAttempt(consumer, {MessageId{"cured"}, 1, "once", at, at}), succeeds());
  ASSERT_THAT(transaction->clearAttempt(consumer, MessageId{"cured"}), succeeds());
  ASSERT_THAT(transaction->commit(), succeeds());

  const ConsumerState state = leaderWith(8).store->consumerState(consumer).value();

  ASSERT_EQ(state.attempts.size(), 1U);
  EXPECT_TRUE(state.attempts[0] == record);
}

TEST_P(StoreSuite, WhatIsKeptOfAConsumerItselfOutlivesItsTerm) {
  const Leader first = leaderWith(7);
  const WallTime at{std::chrono::milliseconds{1'790'000'000'123}};
  const RecoveryWindow window{.unrecordedWindow = 512, .lanes = 4, .window = 9000};
  const DeadLetterStreakRecord streak{.deaths = 20,
                                      .lastReason = "no such order \xff",
                                      .firstAt = at,
                                      .lastAt = at + std::chrono::seconds{5},
                                      .state = DeadLetterStreakRecord::State::stopped};
  const ClockLook look{.isStores = true,
                       .wall = at,
                       .bootId = "0b0f-17",
                       .sinceBoot = std::chrono::hours{99},
                       .trustedFrom = at + std::chrono::hours{1}};
  auto transaction = begin(first);
  ASSERT_THAT(transaction->recordFact(consumer, RecoveryWindow{.unrecordedWindow = 1}), succeeds());
  for (const ConsumerFact& fact : {ConsumerFact(window), ConsumerFact(streak), ConsumerFact(look)})
    ASSERT_THAT(transaction->recordFact(consumer, fact), succeeds());
  ASSERT_THAT(transaction->recordFact(ConsumerName{"another"}, ClockLook{}), succeeds());
  ASSERT_THAT(transaction->commit(), succeeds());

  const Leader second = leaderWith(8);
  const ConsumerFacts facts = second.store->consumerState(consumer).value().facts;
  const ConsumerFacts others = second.store->consumerState(ConsumerName{"another"}).value().facts;
  const ConsumerFacts nobodys = second.store->consumerState(ConsumerName{"nobody"}).value().facts;

  EXPECT_TRUE(facts.window == window);
  EXPECT_TRUE(facts.streak == streak);
  EXPECT_TRUE(facts.clock == look);
  EXPECT_FALSE(others.window || others.streak);
  EXPECT_TRUE(others.clock == ClockLook{});
  EXPECT_FALSE(nobodys.window || nobodys.streak || nobodys.clock);
}

TEST_P(StoreSuite, AStreakWithoutDeathsIsForgotten) {
  const Leader leader = leaderWith(7);
  const auto record = [&](int deaths) {
    auto transaction = begin(leader);
    ASSERT_THAT(transaction->recordFact(consumer, DeadLetterStreakRecord{.deaths = deaths}), succeeds());
    ASSERT_THAT(transaction->commit(), succeeds());
  };
  record(3);
  EXPECT_EQ(leader.store->consumerState(consumer).value().facts.streak->deaths, 3);

  record(0);

  EXPECT_FALSE(leader.store->consumerState(consumer).value().facts.streak);
  record(0);
}

TEST_P(StoreSuite, WhatIsRecordedOfAConsumerIsFencedAndUndone) {
  const Leader first = leaderWith(7);
  auto transaction = begin(first);
  ASSERT_THAT(transaction->recordFact(consumer, RecoveryWindow{.unrecordedWindow = 9}), succeeds());
  transaction->rollback();
  transaction = begin(first);
  const Result<void> written = transaction->recordFact(consumer, RecoveryWindow{.unrecordedWindow = 7});
  const Leader second = leaderWith(8);

  EXPECT_THAT(written ? transaction->commit() : written, failsWith(Errc::staleTerm));

  EXPECT_FALSE(second.store->consumerState(consumer).value().facts.window);
}

// --- groups that follow numbers

KeptMessage kept(std::int64_t number, const std::string& group) {
  Message message;
  message.id = MessageId{group + "-" + std::to_string(number)};
  message.group = GroupId{group};
  message.body = std::string("body\0of ", 8) + message.id.value;
  message.headers = {{"trace", "t"}, {std::string(numberHeader), std::to_string(number)}, {"bytes", "\xff\x01"}};
  message.enqueuedAt = WallTime{1700000000123ms};
  message.position = 40 + number;
  return {.number = number, .message = std::move(message)};
}

NumberedGroup::Mark markOf(const KeptMessage& message) {
  return {message.message.id, digestOf(message.message.body), message.isPast};
}

// shows: numbers/comes-early-kept
TEST_P(StoreSuite, WhereAGroupStandsAndWhatIsKeptOfItAreFoundByTheNextTerm) {
  const Leader first = leaderWith(7);
  const GroupId early{"early"};
  const GroupTurn turn{.position = 3, .since = WallTime{1700000000456ms}};
  KeptMessage past = kept(10, "early");
  past.isPast = true;
  past.message.body.clear();
  auto transaction = begin(first);
  ASSERT_THAT(transaction->recordTurn(consumer, early, {}), succeeds());
  ASSERT_THAT(transaction->recordTurn(consumer, early, turn), succeeds());
  ASSERT_THAT(transaction->recordTurn(consumer, GroupId{"done"}, {.position = 9}), succeeds());
  for (const KeptMessage& each : {kept(5, "early"), kept(9, "early"), past, kept(2, "new")})
    ASSERT_THAT(transaction->keep(consumer, each), succeeds());
  ASSERT_THAT(transaction->keep({"another"}, kept(5, "early")), succeeds());
  EXPECT_EQ(transaction->turnOf(consumer, early).value(), turn) << "as it has left it";
  EXPECT_EQ(transaction->kept(consumer, early, 5).value(), kept(5, "early"));
  ASSERT_THAT(transaction->commit(), succeeds());

  const Leader second = leaderWith(8);
  const std::vector<NumberedGroup> open = second.store->openGroups(consumer).value();
  const auto next = begin(second);

  EXPECT_THAT(open,
              testing::UnorderedElementsAre(
                  NumberedGroup{
                      early, turn, {{5, markOf(kept(5, "early"))}, {9, markOf(kept(9, "early"))}, {10, markOf(past)}}},
                  NumberedGroup{GroupId{"new"}, {}, {{2, markOf(kept(2, "new"))}}}));
  EXPECT_EQ(next->turnOf(consumer, GroupId{"done"}).value(), GroupTurn{.position = 9});
  EXPECT_EQ(next->turnOf(consumer, GroupId{"nobody"}).value(), GroupTurn{});
  EXPECT_EQ(next->turnOf({"another"}, early).value(), GroupTurn{});
  EXPECT_EQ(next->kept(consumer, early, 9).value(), kept(9, "early"));
  EXPECT_EQ(next->kept(consumer, early, 10).value(), past);
  EXPECT_EQ(next->kept(consumer, early, 6).value(), std::nullopt);
}

TEST_P(StoreSuite, WhatIsKeptNoMoreIsGoneForItsConsumerAlone) {
  const Leader leader = leaderWith(7);
  auto transaction = begin(leader);
  for (const ConsumerName& each : {consumer, ConsumerName{"another"}})
    ASSERT_THAT(transaction->keep(each, kept(5, "g")), succeeds());
  ASSERT_THAT(transaction->commit(), succeeds());

  transaction = begin(leader);
  ASSERT_THAT(transaction->dropKept(consumer, GroupId{"g"}, 5), succeeds());
  ASSERT_THAT(transaction->dropKept(consumer, GroupId{"g"}, 6), succeeds()) << "was never there";
  EXPECT_EQ(transaction->kept(consumer, GroupId{"g"}, 5).value(), std::nullopt);
  ASSERT_THAT(transaction->commit(), succeeds());

  EXPECT_THAT(leader.store->openGroups(consumer).value(), IsEmpty());
  EXPECT_THAT(leader.store->openGroups({"another"}).value(), testing::SizeIs(1));
}

TEST_P(StoreSuite, ManyKeptMessagesAreFoundPageByPage) {
  constexpr std::int64_t last = 150;  // more than a page
  const Leader leader = leaderWith(7);
  auto transaction = begin(leader);
  for (std::int64_t number = 2; number <= last; ++number)
    ASSERT_THAT(transaction->keep(consumer, kept(number, number % 2 == 0 ? "even" : "odd")), succeeds());
  ASSERT_THAT(transaction->commit(), succeeds());

  const std::vector<NumberedGroup> open = leader.store->openGroups(consumer).value();

  ASSERT_THAT(open, testing::SizeIs(2));
  EXPECT_THAT(open[0].kept, testing::SizeIs(75));
  EXPECT_THAT(open[1].kept, testing::SizeIs(74));
}

TEST_P(StoreSuite, WhatIsRecordedOfAGroupIsFencedAndUndone) {
  const Leader first = leaderWith(7);
  auto transaction = begin(first);
  ASSERT_THAT(transaction->mark(), succeeds());
  ASSERT_THAT(transaction->keep(consumer, kept(2, "g")), succeeds());
  ASSERT_THAT(transaction->recordTurn(consumer, GroupId{"g"}, {.position = 4}), succeeds());
  ASSERT_THAT(transaction->rollbackToMark(), succeeds());
  EXPECT_EQ(transaction->turnOf(consumer, GroupId{"g"}).value(), GroupTurn{});
  ASSERT_THAT(transaction->commit(), succeeds());
  transaction = begin(first);
  const Result<void> written = transaction->keep(consumer, kept(2, "g"));
  const Leader second = leaderWith(8);

  EXPECT_THAT(written ? transaction->commit() : written, failsWith(Errc::staleTerm));

  EXPECT_THAT(second.store->openGroups(consumer).value(), IsEmpty());
}

// --- what became of a commit

TEST_P(StoreSuite, ACommitWhoseReplyCameIsResolvedAsSuch) {
  const Leader leader = leaderWith(7);
  ASSERT_THAT(put(leader, "k", "v"), succeeds());

  EXPECT_EQ(leader.store->resolve(leader.term).value(), CommitFate::notCommitted)
      << "nothing after the last known commit";
  EXPECT_THAT(put(leader, "k", "w"), succeeds());
}

TEST_P(StoreSuite, AnUnknownOutcomeUnderANewerTermIsStale) {
  const Leader first = leaderWith(7);
  leaderWith(8);

  EXPECT_THAT(first.store->resolve(first.term), failsWith(Errc::staleTerm));
}

// shows: readme/store-checks-token
TEST_P(StoreSuite, AFencedWriteIsHeardOfAtTheCommitAtTheLatest) {
  const Leader first = leaderWith(7);
  leaderWith(8);
  auto transaction = begin(first);

  const Result<void> written = transaction->put("k", "v");

  EXPECT_THAT(written ? transaction->commit() : written, failsWith(Errc::staleTerm));
}

TEST_P(StoreSuite, WhoeverAsksAfterAFencedStepHearsOfTheFenceToo) {
  const Leader first = leaderWith(7);
  leaderWith(8);
  auto transaction = begin(first);
  ASSERT_THAT(transaction->mark(), succeeds());

  const bool swallowed = transaction->put("k", "v") && transaction->get("other");

  EXPECT_FALSE(swallowed);
  EXPECT_THAT(transaction->status(), failsWith(Errc::staleTerm));
  EXPECT_THAT(transaction->recordAttempt(consumer, {}), failsWith(Errc::staleTerm));
}

TEST_P(StoreSuite, AnExpectedMessageIsAdmittedAsAnyOther) {
  ASSERT_EQ(admit(leaderWith(7), "seen").value(), Admission::fresh);
  const Leader leader = leaderWith(8);
  const std::vector<Message> messages{messageWith("new"), messageWith("seen"), messageWith("seen", "another body")};
  test::announce(*leader.store, messages);
  ASSERT_THAT(leader.store->known(consumer, {messages.data(), 1}).value(), ElementsAre(Admission::fresh));
  auto transaction = begin(leader);
  std::vector<Admission> admissions;

  for (const std::string id : {"new", "seen", "new"})
    admissions.push_back(transaction->admit(consumer, MessageId{id}, digestOf("body"), MessageFate::done).value());

  EXPECT_THAT(admissions, ElementsAre(Admission::fresh, Admission::duplicate, Admission::duplicate));
  ASSERT_THAT(transaction->commit(), succeeds());
  EXPECT_EQ(admit(leader, "new").value(), Admission::duplicate);
}

TEST_P(StoreSuite, WhatIsForeseenIsNotTrusted) {
  const Leader leader = leaderWith(7);
  const std::vector<Message> messages{messageWith("m")};
  test::announce(*leader.store, messages);
  ASSERT_THAT(leader.store->known(consumer, messages).value(), ElementsAre(Admission::fresh));
  auto early = begin(leader);
  ASSERT_THAT(early->admit(consumer, MessageId{"m"}, digestOf("body"), MessageFate::done), succeeds());
  ASSERT_THAT(early->commit(), succeeds());

  EXPECT_THAT(leader.store->known(consumer, messages).value(), ElementsAre(Admission::duplicate));
  EXPECT_EQ(admit(leader, "m").value(), Admission::duplicate);
}

// shows: exactly-once/transaction-effect-fence
TEST_P(StoreSuite, SqlSharesTheTransactionWhereThereIsSql) {
  const Leader leader = leaderWith(7);
  auto transaction = begin(leader);
  ISqlStatements* sql = transaction->sql();
  ASSERT_EQ(sql != nullptr, GetParam().hasSql);
  if (sql == nullptr) return;

  ASSERT_THAT(sql->execute("CREATE TABLE ledger(id TEXT, amount INTEGER)"), succeeds());
  const std::vector<SqlParameter> values{{":id", std::string("a'b")}, {":amount", std::int64_t{5}}, {":unused", {}}};
  ASSERT_THAT(sql->write("INSERT INTO ledger VALUES(:id, :amount)", values), succeeds());
  const auto rows = sql->execute("SELECT id, amount FROM ledger");
  ASSERT_THAT(rows, succeeds());

  EXPECT_THAT(*rows, ElementsAre(ElementsAre(SqlValue{std::string("a'b")}, SqlValue{std::int64_t{5}})));
}

}  // namespace
}  // namespace tenure::test
