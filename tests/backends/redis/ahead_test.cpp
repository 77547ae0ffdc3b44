// What travels ahead of its need: the messages that come next, and whether they have keys.
#include "scene.hpp"
#include "support/announce.hpp"

namespace tenure::test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class Ahead : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_THAT(leader_.claim(), succeeds());
    ASSERT_THAT(leader_.source().attach(leader_.term()), succeeds());
  }
  void produce(const std::vector<std::string>& ids) {
    std::vector<NewMessage> messages;
    for (const std::string& id : ids) messages.push_back(newMessage(id));
    ASSERT_THAT(redis::openSink(server_.options()).value()->append(messages), succeeds());
  }
  std::vector<std::string> look(std::size_t max) {
    std::vector<std::string> ids;
    for (const Message& message : leader_.source().fetch(max, BootClock::now(), {}).value())
      ids.push_back(message.id.value);
    return ids;
  }
  /// How often the server was asked that.
  std::size_t asked(const std::string& command) const {
    const std::string stats = server_.ask({"INFO", "commandstats"});
    const std::string line = "cmdstat_" + command + ":calls=";
    const std::size_t at = stats.find(line);
    return at == std::string::npos ? 0 : std::stoul(stats.substr(at + line.size()));
  }

  RedisServer server_;
  Leader leader_{server_.options(), TestTerm(7)};
};

TEST_F(Ahead, WhileThereIsPlentyTheNextMessagesAreAskedForBeforeTheyAreWanted) {
  produce({"1", "2", "3", "4"});
  EXPECT_THAT(look(2), ElementsAre("1", "2"));
  ASSERT_TRUE(eventually([&] { return asked("xread") == 2; }));
  server_.ask({"DEL", "tenure:{orders}:messages"});

  EXPECT_THAT(look(2), ElementsAre("3", "4"));
}

TEST_F(Ahead, WhatCameKeepsItsPlaceHoweverManyAreWanted) {
  std::vector<std::string> all(60);
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = std::to_string(i);
  produce(all);

  std::vector<std::string> seen;
  for (const std::size_t max : {5U, 1U, 1U, 3U, 12U, 2U, 7U, 1U, 20U, 4U, 1000U})
    for (std::string& id : look(max)) seen.push_back(std::move(id));

  EXPECT_EQ(seen, all);
}

TEST_F(Ahead, AConnectionThatIsLostMeanwhileCostsNoMessage) {
  produce({"1", "2", "3", "4"});
  EXPECT_THAT(look(2), ElementsAre("1", "2"));

  server_.ask({"CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes"});

  std::vector<std::string> rest;
  while (rest.size() < 2)
    for (std::string& id : look(2)) rest.push_back(std::move(id));
  EXPECT_THAT(rest, ElementsAre("3", "4"));
  EXPECT_THAT(look(2), IsEmpty());
}

TEST_F(Ahead, ACommitLooksForTheKeysOfThoseThatComeNext) {
  const auto messageWith = [](const std::string& id) {
    Message message;
    message.id.value = id;
    return message;
  };
  const std::vector<Message> first{messageWith("1")};
  const std::vector<Message> next{messageWith("2"), messageWith("1")};
  test::announce(leader_.store(), first);
  EXPECT_THAT(leader_.store().known(ledger, first).value(), ElementsAre(Admission::fresh));
  test::announce(leader_.store(), next);
  const auto transaction = leader_.begin();
  EXPECT_EQ(transaction->admit(ledger, first[0].id, digestOf(""), MessageFate::done).value(), Admission::fresh);
  ASSERT_THAT(transaction->commit(), succeeds());
  const std::size_t before = asked("mget");

  EXPECT_THAT(leader_.store().known(ledger, {&next[0], 1}).value(), ElementsAre(Admission::fresh));
  EXPECT_EQ(asked("mget"), before) << "it is known already";
  EXPECT_THAT(leader_.store().known(ledger, {&next[1], 1}).value(), ElementsAre(Admission::duplicate));
  EXPECT_EQ(asked("mget"), before + 1);
}

TEST_F(Ahead, ATransactionOfManyWritesIsOneCommit) {
  const auto transaction = leader_.begin();
  for (int i = 0; i < 9'000; ++i) ASSERT_THAT(transaction->put(std::to_string(i), "v"), succeeds());
  ASSERT_THAT(transaction->commit(), succeeds());

  EXPECT_EQ(server_.ask({"HLEN", "tenure:{orders}:state"}), "9000");
  const auto erasing = leader_.begin();
  for (int i = 0; i < 9'000; ++i) ASSERT_THAT(erasing->erase(std::to_string(i)), succeeds());
  ASSERT_THAT(erasing->commit(), succeeds());
  EXPECT_EQ(server_.ask({"EXISTS", "tenure:{orders}:state"}), "0");
}

}  // namespace
}  // namespace tenure::test
