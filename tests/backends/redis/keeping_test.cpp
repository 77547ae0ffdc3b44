// What is kept, for how long, and that every byte of it is only a byte.
#include "scene.hpp"

namespace tenure::test {
namespace {

using testing::ElementsAre;

const std::vector<std::string> hostile{
    "\"]] redis.call('FLUSHALL') --", "a\r\n$3\r\nDEL\r\n", "{tag}", "%s%n", "KEYS[1]", "\xff\xfe", "ok"};

class Keeping : public testing::Test {
 protected:
  void SetUp() override { ASSERT_THAT(leader_.claim(), succeeds()); }
  Result<Admission> admit(Leader& leader, const std::string& id) {
    const auto transaction = leader.begin();
    Result<Admission> admission = transaction->admit(ledger, MessageId{id}, digestOf("b"), MessageFate::done);
    if (Result<void> committed = transaction->commit(); !committed) return committed.error();
    return admission;
  }
  std::string idKey(const std::string& id) const { return world_.key("id:ledger" + std::string(1, '\0') + id); }

  RedisWorld world_;
  Leader leader_{world_.options(), TestTerm(7)};
};

// shows: exactly-once/values-bound-parameters, security/message-says-read
TEST_F(Keeping, Row31NothingInANameOrABodyIsAnInstruction) {
  std::vector<NewMessage> messages;
  for (const std::string& text : hostile)
    messages.push_back({MessageId{text}, GroupId{text}, text + std::string(1, '\0') + text, {{"h", "\"]]"}}});
  ASSERT_THAT(redis::openSink(world_.options()).value()->append(messages), succeeds());
  ASSERT_THAT(leader_.source().attach(leader_.term()), succeeds());

  const std::vector<Message> arrived = leader_.source().fetch(100, BootTime::min(), {}).value();
  const auto transaction = leader_.begin();
  for (const Message& message : arrived) {
    const ConsumerName consumer{message.id.value};
    EXPECT_EQ(transaction->admit(consumer, message.id, digestOf(message.body), MessageFate::done).value(),
              Admission::fresh);
    EXPECT_THAT(transaction->put(message.id.value, message.body), succeeds());
    EXPECT_THAT(transaction->recordAttempt(consumer, {message.id, 1, message.body, {}, {}}), succeeds());
    EXPECT_THAT(transaction->recordInWork(consumer, 0, {.ids = {message.id}}), succeeds());
    EXPECT_THAT(transaction->deadLetter(consumer, letterOf(message, message.body)), succeeds());
  }
  ASSERT_THAT(transaction->commit(), succeeds());

  ASSERT_EQ(arrived.size(), hostile.size());
  const auto letters = redis::openAdmin(world_.options())->deadLetters(100).value();
  ASSERT_EQ(letters.size(), hostile.size());
  for (std::size_t i = 0; i < hostile.size(); ++i) {
    EXPECT_EQ(arrived[i].body, messages[i].body);
    EXPECT_EQ(leader_.get(hostile[i]).value(), messages[i].body);
    EXPECT_EQ(letters[i].message.body, messages[i].body);
    EXPECT_EQ(letters[i].reason, messages[i].body);
    const ConsumerState state = leader_.store().consumerState(ConsumerName{hostile[i]}).value();
    EXPECT_THAT(state.inWork.ids, ElementsAre(MessageId{hostile[i]}));
    ASSERT_EQ(state.attempts.size(), 1U);
    EXPECT_EQ(state.attempts[0].lastError, messages[i].body);
  }
}

TEST_F(Keeping, ConsumersWhoseNamesRunIntoTheirIdsAreToldApart) {
  const auto transaction = leader_.begin();

  EXPECT_EQ(transaction->admit(ConsumerName{"a:b"}, MessageId{"c"}, digestOf("1"), MessageFate::done).value(),
            Admission::fresh);
  EXPECT_EQ(transaction->admit(ConsumerName{"a"}, MessageId{"b:c"}, digestOf("2"), MessageFate::done).value(),
            Admission::fresh);
}

// shows: messages/redis-keys-expire
TEST_F(Keeping, AnIdIsForgottenAfterTheHorizonAndNothingElseEver) {
  ASSERT_EQ(admit(leader_, "m").value(), Admission::fresh);
  ASSERT_THAT(leader_.put("k", "v"), succeeds());

  const auto left = std::stoll(world_.server().ask({"PTTL", idKey("m")}));

  EXPECT_GT(left, std::chrono::milliseconds(std::chrono::hours{7 * 24 - 1}).count());
  for (const char* name : {"fence", "queue", "state"})
    EXPECT_EQ(world_.server().ask({"PTTL", world_.key(name)}), "-1") << name;
}

TEST_F(Keeping, WithoutAHorizonAnIdStays) {
  redis::Options options = world_.options();
  options.keepIdsFor = {};
  Leader keeping(options, TestTerm(8));
  ASSERT_THAT(keeping.claim(), succeeds());

  ASSERT_EQ(admit(keeping, "m").value(), Admission::fresh);

  EXPECT_EQ(world_.server().ask({"PTTL", idKey("m")}), "-1");
}

// shows: messages/redis-keys-expire
TEST_F(Keeping, KeysAreCountedUntilTheHourOfTheirExpiryIsOver) {
  for (const char* id : {"a", "b", "c", "a"}) ASSERT_THAT(admit(leader_, id), succeeds());
  redis::Options forEver = world_.options();
  forEver.keepIdsFor = {};
  Leader keeping(forEver, TestTerm(8));
  ASSERT_THAT(keeping.claim(), succeeds());
  ASSERT_THAT(admit(keeping, "d"), succeeds());
  world_.server().ask({"HINCRBY", world_.key("key-count"), "480000", "1000"});  // in 2024

  const Pruned counted = keeping.store().prune(keeping.term(), {}).value();

  EXPECT_EQ(counted.looked, 4U);
  EXPECT_EQ(counted.removed, 0U);
  EXPECT_EQ(world_.server().ask({"HEXISTS", world_.key("key-count"), "480000"}), "0") << "nobody needs it any more";
  EXPECT_THAT(leader_.store().prune(leader_.term(), {}), succeeds()) << "it changes nothing that a fence guards";
}

TEST_F(Keeping, AnIdThatChangedBetweenItsAdmissionAndTheCommitUndoesTheWholeTransaction) {
  ASSERT_EQ(admit(leader_, "known").value(), Admission::fresh);
  const auto appears = leader_.begin();
  ASSERT_THAT(appears->admit(ledger, MessageId{"a"}, digestOf("b"), MessageFate::done), succeeds());
  ASSERT_THAT(appears->admit(ledger, MessageId{"z"}, digestOf("b"), MessageFate::done), succeeds());
  world_.server().ask({"SET", idKey("z"), "d"});
  EXPECT_THAT(appears->commit(), failsWith(Errc::transactionConflict));
  EXPECT_EQ(world_.server().ask({"EXISTS", idKey("a")}), "0");

  const auto vanishes = leader_.begin();
  ASSERT_THAT(vanishes->admit(ledger, MessageId{"known"}, digestOf("b"), MessageFate::done), succeeds());
  ASSERT_THAT(vanishes->put("k", "v"), succeeds());
  world_.server().ask({"DEL", idKey("known")});
  EXPECT_THAT(vanishes->commit(), failsWith(Errc::transactionConflict));

  EXPECT_EQ(leader_.get("k").value(), std::nullopt);
}

TEST_F(Keeping, AKeyThatIsNotOursStopsACommitBeforeItsFirstWrite) {
  world_.server().ask({"SET", world_.key("in-work"), "a stranger's"});
  const auto transaction = leader_.begin();
  ASSERT_THAT(transaction->put("k", "v"), succeeds());
  ASSERT_THAT(transaction->recordInWork(ledger, 0, {}), succeeds());

  EXPECT_THAT(transaction->commit(), failsWith(Errc::storeFailed));

  EXPECT_EQ(world_.server().ask({"EXISTS", world_.key("state")}), "0");
}

TEST_F(Keeping, Row14TokensAndGenerationsBeyondADoubleAreComparedToTheLastDigit) {
  TermIdentity identity = identityWith(std::numeric_limits<std::int64_t>::max() - 1);
  identity.generation = (std::int64_t{1} << 53) + 1;
  Leader large(world_.options(), TestTerm(identity));
  ASSERT_THAT(large.claim(), succeeds());
  ASSERT_THAT(large.put("k", "v"), succeeds());
  TermIdentity larger = identity;
  larger.token.value += 1;
  larger.candidate = CandidateUuid{"another"};

  EXPECT_THAT(Leader(world_.options(), TestTerm(larger)).claim(), succeeds());

  EXPECT_THAT(large.put("k", "w"), failsWith(Errc::staleTerm));
  EXPECT_EQ(redis::openAdmin(world_.options())->fenceRows().value().at(0).token, larger.token);
}

TEST_F(Keeping, ATransactionOverTheLimitIsRefusedBeforeItIsSent) {
  const auto transaction = leader_.begin();
  const std::string mebibyte(1U << 20U, 'x');
  for (int i = 0; i < 256; ++i) ASSERT_THAT(transaction->put(std::to_string(i), mebibyte), succeeds());

  EXPECT_THAT(transaction->commit(), failsWith(Errc::payloadTooLarge));

  EXPECT_THAT(leader_.put("k", "v"), succeeds());
}

TEST_F(Keeping, ATransactionAcknowledgesMoreThanACommandHasArguments) {
  const auto sink = redis::openSink(world_.options()).value();
  ASSERT_THAT(sink->append(std::vector{newMessage("first"), newMessage("last")}), succeeds());
  ASSERT_THAT(leader_.source().attach(leader_.term()), succeeds());
  std::vector<Message> messages = leader_.source().fetch(2, BootTime::min(), {}).value();
  messages.resize((1U << 20U) + 1);  // those between were acknowledged before
  std::swap(messages[1], messages.back());

  const auto transaction = leader_.begin();
  ASSERT_THAT(transaction->acknowledge(messages), succeeds());
  EXPECT_THAT(transaction->commit(), succeeds());

  EXPECT_EQ(world_.server().ask({"XLEN", world_.key("messages")}), "0");
}

TEST_F(Keeping, LargeMessagesComeInPagesThatFitIntoMemory) {
  const auto sink = redis::openSink(world_.options()).value();
  for (int i = 0; i < 40; ++i)
    ASSERT_THAT(sink->append(std::vector{newMessage(std::to_string(i), std::string(maxBodyBytes, 'x'))}), succeeds());
  ASSERT_THAT(leader_.source().attach(leader_.term()), succeeds());

  std::size_t fetched = 0;
  for (std::vector<Message> some; fetched < 40; fetched += some.size()) {
    some = leader_.source().fetch(1'000, BootTime::min(), {}).value();
    ASSERT_FALSE(some.empty());
    EXPECT_LE(some.size(), 24U);
    EXPECT_EQ(some.front().id.value, std::to_string(fetched));
  }
}

}  // namespace
}  // namespace tenure::test
