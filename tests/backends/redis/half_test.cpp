// A batch is applied whole or not at all, whatever a stranger or an operator has done to a key that it writes.
#include <algorithm>
#include <cctype>
#include <fstream>
#include <sstream>

#include "scene.hpp"

namespace tenure::test {
namespace {

using testing::HasSubstr;

std::string upper(std::string text) {
  std::ranges::transform(text, text.begin(), [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  return text;
}

class Half : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_THAT(leader_.claim(), succeeds());
    ASSERT_THAT(sent("before"), succeeds());
  }
  Result<void> sent(const std::string& id) {
    const auto transaction = leader_.begin();
    const Result<Admission> admitted =
        transaction->admit(ledger, MessageId{"of " + id}, digestOf("b"), MessageFate::done);
    if (!admitted) return admitted.error();
    if (Result<void> put = transaction->put("last", id); !put) return put;
    if (Result<void> enqueued = transaction->enqueue(newMessage(id), "other"); !enqueued) return enqueued;
    return transaction->commit();
  }
  /// Whether anything of what sent("after") writes is there.
  bool isApplied() const {
    return server_.ask({"HGET", "tenure:{orders}:state", "last"}) != "before" ||
           server_.ask({"EXISTS", "tenure:{orders}:id:" + std::string("ledger\0of after", 15)}) != "0";
  }

  RedisServer server_;
  Leader leader_{server_.options(), TestTerm(7)};
};

// shows: messages/redis-applies-batch
TEST_F(Half, ABatchToAQueueThatAStrangerWroteToIsNotAppliedAndTheErrorNamesTheQueue) {
  server_.ask({"XADD", "tenure:{other}:messages", "*", "id", "a stranger's"});

  const Result<void> refused = sent("after");

  ASSERT_THAT(refused, failsWith(Errc::commitRefused));
  EXPECT_THAT(refused.error().detail, HasSubstr("tenure:{other}:messages"));
  EXPECT_FALSE(isApplied());
}

TEST_F(Half, ABatchToAQueueWhoseStrangersEntryIsDeletedAgainIsNotApplied) {
  const std::string id = server_.ask({"XADD", "tenure:{other}:messages", "*", "id", "a stranger's"});
  server_.ask({"XDEL", "tenure:{other}:messages", id});

  EXPECT_THAT(sent("after"), failsWith(Errc::commitRefused));

  EXPECT_FALSE(isApplied());
}

// shows: messages/redis-applies-batch
TEST_F(Half, ABatchToAQueueWithADamagedCounterIsNotApplied) {
  for (const std::string damaged : {"many", "", "-1", "007", "1.5", "9007199254740992"}) {
    server_.ask({"HSET", "tenure:{other}:queue", "last", damaged});

    const Result<void> refused = sent("after");

    ASSERT_THAT(refused, failsWith(Errc::commitRefused)) << damaged;
    EXPECT_THAT(refused.error().detail, HasSubstr("tenure:{other}:queue"));
    EXPECT_FALSE(isApplied()) << damaged;
  }
}

TEST_F(Half, ABatchWhoseKeysCannotBeCountedIsNotApplied) {
  const std::string hour = server_.ask({"HKEYS", "tenure:{orders}:key-count"});
  server_.ask({"HSET", "tenure:{orders}:key-count", hour, "many"});

  EXPECT_THAT(sent("after"), failsWith(Errc::storeFailed));

  EXPECT_FALSE(isApplied());
}

TEST_F(Half, AProducerIsToldOfADamagedQueueAndStoresNothing) {
  const auto sink = redis::openSink(server_.options("other")).value();
  server_.ask({"XADD", "tenure:{other}:messages", "*", "id", "a stranger's"});
  const std::string before = server_.ask({"HGET", "tenure:{other}:queue", "last"});

  const Result<void> refused = sink->append(std::vector{newMessage("m")});

  ASSERT_THAT(refused, failsWith(Errc::storeFailed));
  EXPECT_THAT(refused.error().detail, HasSubstr("tenure:{other}:queue"));
  EXPECT_EQ(server_.ask({"HGET", "tenure:{other}:queue", "last"}), before);
}

TEST_F(Half, AQueueWhoseKeyHoldsAnotherTypeIsToldToProducersAndLeadersAlike) {
  const auto sink = redis::openSink(server_.options("other")).value();
  Leader leader(server_.options("other"), TestTerm(7));
  server_.ask({"SET", "tenure:{other}:queue", "a stranger's"});

  const Result<void> refused = sink->append(std::vector{newMessage("m")});
  const Result<void> attached = leader.source().attach(leader.term());

  ASSERT_THAT(refused, failsWith(Errc::storeFailed));
  EXPECT_THAT(refused.error().detail, HasSubstr("tenure:{other}:queue"));
  ASSERT_THAT(attached, failsWith(Errc::storeFailed));
  EXPECT_THAT(attached.error().detail, HasSubstr("tenure:{other}:queue"));
}

TEST_F(Half, AMessageIsNotBlamedForAQueueThatItsBatchSendsNothingTo) {
  ASSERT_THAT(redis::openSink(server_.options()).value()->append(std::vector{newMessage("m")}), succeeds());
  ASSERT_THAT(leader_.source().attach(leader_.term()), succeeds());
  const std::vector<Message> messages = leader_.source().fetch(1, BootTime::min(), {}).value();
  const auto transaction = leader_.begin();
  ASSERT_THAT(transaction->acknowledge(messages), succeeds());
  server_.ask({"DEL", "tenure:{orders}:messages"});
  server_.ask({"SET", "tenure:{orders}:messages", "a stranger's"});

  EXPECT_THAT(transaction->commit(), failsWith(Errc::storeFailed));
}

// shows: messages/redis-applies-batch
TEST_F(Half, ALetterThatItsQueueDoesNotTakeStaysOne) {
  const auto transaction = leader_.begin();
  Message message;
  message.id = MessageId{"dead"};
  ASSERT_THAT(transaction->deadLetter(ledger, letterOf(message)), succeeds());
  ASSERT_THAT(transaction->commit(), succeeds());
  server_.ask({"XADD", "tenure:{orders}:messages", "*", "id", "a stranger's"});
  const auto admin = redis::openAdmin(server_.options());

  EXPECT_THAT(admin->requeueDeadLetters({}), failsWith(Errc::commitRefused));

  EXPECT_EQ(admin->deadLetters().value().size(), 1U);
}

TEST_F(Half, TheClockByWhichKeysExpireIsTheServers) {
  const auto clock = leader_.store().clock().value();

  ASSERT_TRUE(clock);
  EXPECT_LT(std::chrono::abs(*clock - systemClock().wallNow()), std::chrono::minutes{1});
}

class Rights : public testing::Test {
 protected:
  redis::Options as(const std::string& rights) {
    std::vector<std::string> command{"ACL", "SETUSER", "shop", "reset", "on", ">secret"};
    std::istringstream words(rights);
    for (std::string word; words >> word;) command.push_back(word);
    server_.ask(command);
    std::ofstream(server_.folder() / "password") << "secret\n";
    redis::Options options = server_.options();
    options.user = "shop";
    options.passwordFile = server_.folder() / "password";
    return options;
  }
  static inline const std::string documented =
      "-@all +info +config|get +select +evalsha +eval +script|load +@read +@write +type +time";

  RedisServer server_;
};

TEST_F(Rights, TheDocumentedOnesKeepAConnectionThatWasSilent) {
  Leader leader(as("~tenure:{orders}:* " + documented), TestTerm(7));
  ASSERT_THAT(leader.claim(), succeeds());
  const std::set<std::string> opened = connectionsTo(server_);
  const BootTime began = BootClock::now();
  ASSERT_TRUE(eventually([&] { return BootClock::now() > began + std::chrono::milliseconds{1'100}; }));

  EXPECT_THAT(leader.put("k", "1"), succeeds());

  EXPECT_EQ(connectionsTo(server_), opened);
}

// shows: messages/rights-asked-claim
TEST_F(Rights, TheDocumentedOnesSufficeForASendToAQueueThatTheyName) {
  Leader leader(as("~tenure:{orders}:* ~tenure:{other}:* " + documented), TestTerm(7));
  ASSERT_THAT(leader.claim(), succeeds());
  const auto transaction = leader.begin();

  EXPECT_THAT(transaction->enqueue(newMessage("m"), "other"), succeeds());
  EXPECT_THAT(transaction->commit(), succeeds());

  EXPECT_EQ(server_.ask({"XLEN", "tenure:{other}:messages"}), "1");
}

// shows: messages/rights-asked-claim
TEST_F(Rights, ASendToAQueueThatTheyDoNotNameIsRefusedWhenItIsCalled) {
  Leader leader(as("~tenure:{orders}:* " + documented), TestTerm(7));
  ASSERT_THAT(leader.claim(), succeeds());
  const auto transaction = leader.begin();

  const Result<void> refused = transaction->enqueue(newMessage("m"), "other");

  ASSERT_THAT(refused, failsWith(Errc::permissionDenied));
  EXPECT_THAT(refused.error().detail, HasSubstr("other"));
  EXPECT_THAT(transaction->put("k", "v"), succeeds());
  EXPECT_THAT(transaction->commit(), succeeds()) << "the transaction goes on";
}

// shows: messages/rights-asked-claim
TEST_F(Rights, AClaimIsRefusedForWhatItsTermCouldNotWrite) {
  for (const std::string command : {"xadd", "hset", "zadd", "del", "hincrby", "zrem"}) {
    const Result<void> refused = Leader(as("~tenure:{orders}:* " + documented + " -" + command), TestTerm(7)).claim();

    ASSERT_THAT(refused, failsWith(Errc::permissionDenied)) << command;
    EXPECT_THAT(refused.error().detail, HasSubstr(upper(command))) << command;
  }
}

// shows: messages/redis-applies-batch
TEST_F(Rights, WhereOneIsTakenAwayInTheMiddleOfABatchTheTermEndsAndTheMessageIsHandledAgain) {
  const std::string rights = "~tenure:{orders}:* ~tenure:{other}:* " + documented;
  for (const std::string command : {"xadd", "set", "hincrby", "hset", "xdel"}) {
    server_.ask({"FLUSHALL"});
    const redis::Options options = as(rights);
    const auto commit = [](Leader& leader) -> Result<void> {
      const auto transaction = leader.begin();
      const Result<Admission> admitted = transaction->admit(ledger, MessageId{"m"}, digestOf("b"), MessageFate::done);
      if (!admitted) return admitted.error();
      if (*admitted != Admission::fresh) return {};
      EXPECT_THAT(transaction->enqueue(newMessage("sent"), "other"), succeeds());
      EXPECT_THAT(transaction->put("k", "v"), succeeds());
      return transaction->commit();
    };
    Leader leader(options, TestTerm(7));
    ASSERT_THAT(leader.claim(), succeeds());
    ASSERT_THAT(leader.put("k", "before"), succeeds());
    ASSERT_THAT(leader.begin()->enqueue(newMessage("tried"), "other"), succeeds());
    server_.ask({"ACL", "SETUSER", "shop", "-" + command});

    const Result<void> halved = commit(leader);
    if (halved) continue;  // a batch without that command
    EXPECT_THAT(halved, failsWith(Errc::outcomeUnknown)) << command;
    EXPECT_THAT(leader.resolve(), failsWith(Errc::permissionDenied)) << command;

    server_.ask({"ACL", "SETUSER", "shop", "+" + command});
    Leader next(options, TestTerm(8));
    ASSERT_THAT(next.claim(), succeeds()) << command;
    EXPECT_THAT(commit(next), succeeds()) << command;
    EXPECT_NE(server_.ask({"EXISTS", "tenure:{other}:messages"}), "0") << "lost without " << command;
    EXPECT_EQ(server_.ask({"HGET", "tenure:{orders}:state", "k"}), "v") << "lost without " << command;
  }
}

TEST_F(Rights, AClaimIsRefusedWithoutTheTimeByWhichKeysExpire) {
  const Result<void> refused = Leader(as("~tenure:{orders}:* " + documented + " -time"), TestTerm(7)).claim();

  ASSERT_THAT(refused, failsWith(Errc::permissionDenied));
  EXPECT_THAT(refused.error().detail, HasSubstr("TIME"));
}

}  // namespace
}  // namespace tenure::test
