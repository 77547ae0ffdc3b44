// What operators see of messages that wait or are in work: on every store that they see, and on every queue that can be
// looked into.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/backends.hpp"
#include "support/results.hpp"
#include "support/terms.hpp"

namespace tenure::test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

class StoreLook : public testing::TestWithParam<Backend> {
 protected:
  void SetUp() override { ASSERT_THAT(leader_.store->claim(term_), succeeds()); }
  void commit(const std::function<void(IFencedTransaction&)>& writes) {
    const auto transaction = leader_.store->begin(term_).value();
    writes(*transaction);
    ASSERT_THAT(transaction->commit(), succeeds());
  }

  std::unique_ptr<BackendWorld> world_ = GetParam().make();
  std::unique_ptr<IStoreAdmin> admin_ = world_->storeAdmin();
  Replica leader_ = world_->open();
  const TestTerm term_{7};
};

INSTANTIATE_TEST_SUITE_P(Backends, StoreLook, testing::ValuesIn(operatedStores()),
                         [](const auto& each) { return each.param.name; });

TEST_P(StoreLook, TellsWhatIsInWorkOfEachConsumer) {
  EXPECT_THAT(admin_->inWork().value(), IsEmpty());
  const ConsumerName odd{"a lane/\x1f\x31"};
  commit([&](IFencedTransaction& transaction) {
    EXPECT_THAT(transaction.recordInWork({"ledger"}, 0, {.ids = {{"a"}, {"b"}}, .more = true}), succeeds());
    EXPECT_THAT(transaction.recordInWork(odd, 3, {.ids = {{"c"}}}), succeeds());
  });

  const std::vector<InWorkRecord> records = admin_->inWork().value();

  ASSERT_THAT(records, SizeIs(2));
  EXPECT_EQ(records[0].consumer, odd);
  EXPECT_EQ(records[0].lane, 3U);
  EXPECT_EQ(records[0].inWork, (InWork{.ids = {{"c"}}, .recordedBy = records[0].inWork.recordedBy}));
  EXPECT_EQ(records[1].consumer, ConsumerName{"ledger"});
  EXPECT_THAT(records[1].inWork.ids, ElementsAre(MessageId{"a"}, MessageId{"b"}));
  EXPECT_TRUE(records[1].inWork.more);
}

TEST_P(StoreLook, TellsWhichGroupsWaitForANumber) {
  EXPECT_THAT(admin_->openGroups().value(), IsEmpty());
  const GroupTurn turn{.position = 3, .since = WallTime{std::chrono::milliseconds{1700000000456}}};
  KeptMessage kept{.number = 5};
  kept.message.group = GroupId{"first \xff"};
  commit([&](IFencedTransaction& transaction) {
    for (const char* consumer : {"ledger", "audit"}) EXPECT_THAT(transaction.keep({consumer}, kept), succeeds());
    EXPECT_THAT(transaction.recordTurn({"ledger"}, kept.message.group, turn), succeeds());
    EXPECT_THAT(transaction.recordTurn({"ledger"}, GroupId{"closed"}, turn), succeeds());
  });

  const std::vector<ConsumersGroup> groups = admin_->openGroups().value();

  ASSERT_THAT(groups, SizeIs(2));
  EXPECT_EQ(groups[0].consumer, ConsumerName{"audit"});
  EXPECT_EQ(groups[1].consumer, ConsumerName{"ledger"});
  EXPECT_EQ(groups[1].group.group, kept.message.group);
  EXPECT_EQ(groups[1].group.turn, turn);
  EXPECT_THAT(groups[1].group.kept, ElementsAre(testing::Key(5)));
}

TEST_P(StoreLook, WhatIsKeptBehindItsGroupsTurnIsNoGap) {
  commit([&](IFencedTransaction& transaction) {
    for (const std::int64_t number : {2, 5}) {
      KeptMessage kept{.number = number};
      kept.message.group = GroupId{"moved"};
      EXPECT_THAT(transaction.keep({"ledger"}, kept), succeeds());
    }
    EXPECT_THAT(transaction.recordTurn({"ledger"}, GroupId{"moved"}, {.position = 3}), succeeds());
    KeptMessage past{.number = 7};
    past.message.group = GroupId{"past"};
    EXPECT_THAT(transaction.keep({"ledger"}, past), succeeds());
    EXPECT_THAT(transaction.recordTurn({"ledger"}, GroupId{"past"}, {.position = 7}), succeeds());
  });

  const std::vector<ConsumersGroup> groups = admin_->openGroups().value();

  ASSERT_THAT(groups, SizeIs(1));
  EXPECT_EQ(groups[0].group.group, GroupId{"moved"});
  EXPECT_THAT(groups[0].group.kept, ElementsAre(testing::Key(5)));
}

class QueueLook : public testing::TestWithParam<Backend> {
 protected:
  std::vector<Message> peek(std::size_t limit) {
    std::vector<Message> messages;
    EXPECT_THAT(admin_->peek(limit, [&](const Message& message) { messages.push_back(message); }), succeeds());
    return messages;
  }

  std::unique_ptr<BackendWorld> world_ = GetParam().make();
  std::unique_ptr<IDatabaseAdmin> admin_ = world_->admin();
};

INSTANTIATE_TEST_SUITE_P(Backends, QueueLook, testing::ValuesIn(databaseBackends()),
                         [](const auto& each) { return each.param.name; });

TEST_P(QueueLook, ShowsTheFirstThatWaitAndTakesNone) {
  std::vector<NewMessage> messages;
  for (int i = 1; i <= 40; ++i)
    messages.push_back(
        {{"m-" + std::to_string(i)}, {"g"}, std::string(static_cast<std::size_t>(i), 'b'), {{"h", "v"}}});
  ASSERT_THAT(world_->sink()->append(messages), succeeds());

  const std::vector<Message> first = peek(33);

  ASSERT_THAT(first, SizeIs(33));
  EXPECT_EQ(first[0].id.value, "m-1");
  EXPECT_EQ(first[32].id.value, "m-33");
  EXPECT_EQ(first[32].body.size(), 33U);
  EXPECT_EQ(first[32].group.value, "g");
  EXPECT_THAT(first[32].headers, ElementsAre(std::pair<std::string, std::string>{"h", "v"}));
  EXPECT_NE(first[32].enqueuedAt, WallTime{});
  EXPECT_THAT(peek(100), SizeIs(40));
  EXPECT_EQ(admin_->stats().value().waiting, 40);
}

}  // namespace
}  // namespace tenure::test
