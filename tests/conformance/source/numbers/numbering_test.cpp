/// What a numbering sink promises, on every database that has one: 1, 2, 3, … within a group, whoever sends, whatever
/// fails.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <map>
#include <thread>

#include "support/postgres_server.hpp"
#include "support/results.hpp"
#include "support/sqlite_world.hpp"
#include "support/terms.hpp"

namespace tenure::test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class Numbering {
 public:
  virtual ~Numbering() = default;
  virtual Result<std::unique_ptr<IMessageSink>> sink() = 0;
  /// A store whose handlers send as the sink does.
  virtual std::shared_ptr<IFencedStore> store() = 0;
  virtual BackendWorld& world() = 0;
};

class SqliteNumbering final : public Numbering {
 public:
  Result<std::unique_ptr<IMessageSink>> sink() override {
    sqlite::Options options = world_.options();
    options.numbered = true;
    return sqlite::openSink(options);
  }
  std::shared_ptr<IFencedStore> store() override {
    sqlite::Options options = world_.options();
    options.numbered = true;
    const auto database = std::make_shared<sqlite::Database>(options, noEvents());
    return {database, &database->store()};
  }
  BackendWorld& world() override { return world_; }

 private:
  SqliteWorld world_;
};

class PostgresNumbering final : public Numbering {
 public:
  Result<std::unique_ptr<IMessageSink>> sink() override {
    postgresql::Options options = world_.options();
    options.numbered = true;
    return postgresql::openSink(options);
  }
  std::shared_ptr<IFencedStore> store() override {
    postgresql::Options options = world_.options();
    options.numbered = true;
    const auto database = std::make_shared<postgresql::Database>(options, noEvents());
    return {database, &database->store()};
  }
  BackendWorld& world() override { return world_; }

 private:
  PostgresWorld world_;
};

struct Numberer {
  std::string name;
  std::function<std::unique_ptr<Numbering>()> make;
  friend std::ostream& operator<<(std::ostream& out, const Numberer& numberer) { return out << numberer.name; }
};

NewMessage messageOf(const std::string& group, const std::string& id) {
  return {MessageId{id}, GroupId{group}, "body of " + id, {{"trace", id}}};
}

/// "group number id", or "group - id" without a number.
std::string told(const Message& message) {
  std::string number = "-";
  for (const auto& [name, value] : message.headers)
    if (name == numberHeader) number = value;
  return message.group.value + " " + number + " " + message.id.value;
}

class NumberingSuite : public testing::TestWithParam<Numberer> {
 protected:
  std::unique_ptr<IMessageSink> open() {
    std::unique_ptr<IMessageSink> sink;
    const auto opened = [&] {  // again, where its connection was ended at once
      auto tried = numbering_->sink();
      if (tried) sink = *std::move(tried);
      return sink != nullptr;
    };
    EXPECT_TRUE(eventually(opened));
    return sink;
  }

  std::vector<Message> stored() {
    const Replica ends = numbering_->world().open();
    const TestTerm term(++token_);
    EXPECT_THAT(ends.store->claim(term), succeeds());
    EXPECT_THAT(ends.source->attach(term), succeeds());
    std::vector<Message> all;
    for (;;) {
      auto some = ends.source->fetch(500, BootClock::now(), {}).value();
      if (some.empty()) return all;
      std::ranges::move(some, std::back_inserter(all));
    }
  }
  std::vector<std::string> toldOfAll() {
    std::vector<std::string> all;
    for (const Message& message : stored()) all.push_back(told(message));
    return all;
  }

  std::unique_ptr<Numbering> numbering_ = GetParam().make();
  std::unique_ptr<IMessageSink> sink_ = open();
  std::int64_t token_ = 0;
};

// shows: numbers/numbered-gives-numbers
TEST_P(NumberingSuite, EachGroupIsNumberedFromOneOn) {
  EXPECT_THAT(sink_->append(std::vector{messageOf("a", "1"), messageOf("b", "2"), messageOf("a", "3")}), succeeds());
  EXPECT_THAT(open()->append(std::vector{messageOf("b", "4"), messageOf("a", "5")}), succeeds());

  EXPECT_THAT(toldOfAll(), ElementsAre("a 1 1", "b 1 2", "a 2 3", "b 2 4", "a 3 5"));
}

TEST_P(NumberingSuite, OtherHeadersStayAndTheNumberComesAfterThem) {
  NewMessage bare = messageOf("a", "2");
  bare.headers.clear();
  EXPECT_THAT(sink_->append(std::vector{messageOf("a", "1"), bare}), succeeds());

  const auto messages = stored();

  EXPECT_THAT(messages.at(0).headers, ElementsAre(std::pair("trace", "1"), std::pair("tenure-number", "1")));
  EXPECT_THAT(messages.at(1).headers, ElementsAre(std::pair("tenure-number", "2")));
}

// shows: exactly-once/handler-sends-comes
TEST_P(NumberingSuite, WhatAHandlerSendsIsNumberedAndLeftOutWhenItWasSentBefore) {
  EXPECT_THAT(sink_->append(std::vector{messageOf("a", "1")}), succeeds());
  const auto store = numbering_->store();
  const TestTerm term(++token_);
  ASSERT_THAT(store->claim(term), succeeds());
  const auto send = [&](const NewMessage& message) {
    auto transaction = store->begin(term).value();
    EXPECT_THAT(transaction->enqueue(message), succeeds());
    EXPECT_THAT(transaction->commit(), succeeds());
  };

  send(messageOf("a", "1"));
  send(messageOf("a", "2"));

  NewMessage numbered = messageOf("a", "3");
  numbered.headers.emplace_back(numberHeader, "7");
  EXPECT_THAT(store->begin(term).value()->enqueue(numbered), failsWith(Errc::invalidArgument));
  EXPECT_THAT(toldOfAll(), ElementsAre("a 1 1", "a 2 2"));
}

TEST_P(NumberingSuite, AMessageWithoutAGroupHasNoNumber) {
  EXPECT_THAT(sink_->append(std::vector{messageOf("", "1"), messageOf("a", "2")}), succeeds());

  EXPECT_THAT(toldOfAll(), ElementsAre(" - 1", "a 1 2"));
}

TEST_P(NumberingSuite, AnIdThatWasSentBeforeIsNotStoredAgainAndTakesNoNumber) {
  const std::vector both{messageOf("a", "1"), messageOf("a", "1"), messageOf("a", "2")};
  EXPECT_THAT(sink_->append(both), succeeds());
  EXPECT_THAT(open()->append(both), succeeds());
  EXPECT_THAT(sink_->append(std::vector{messageOf("a", "2"), messageOf("a", "3")}), succeeds());

  EXPECT_THAT(toldOfAll(), ElementsAre("a 1 1", "a 2 2", "a 3 3"));
  EXPECT_EQ(sink_->leftOut(), 2) << "one that came twice at once, and one that another sink had sent";
}

// shows: numbers/numbered-gives-numbers
TEST_P(NumberingSuite, ARefusedSendLeavesNoGap) {
  NewMessage tooLarge = messageOf("a", "large");
  tooLarge.body.assign(maxBodyBytes + 1, 'x');
  NewMessage numbered = messageOf("a", "numbered");
  numbered.headers.emplace_back(numberHeader, "7");
  EXPECT_THAT(sink_->append(std::vector{messageOf("a", "lost"), tooLarge}), failsWith(Errc::payloadTooLarge));
  EXPECT_THAT(sink_->append(std::vector{messageOf("a", "lost"), numbered}), failsWith(Errc::invalidArgument));

  EXPECT_THAT(sink_->append(std::vector{messageOf("a", "1")}), succeeds());

  EXPECT_THAT(toldOfAll(), ElementsAre("a 1 1"));
}

TEST_P(NumberingSuite, NothingIsStoredOfNothing) {
  EXPECT_THAT(sink_->append({}), succeeds());

  EXPECT_THAT(stored(), IsEmpty());
}

// shows: numbers/numbered-gives-numbers
TEST_P(NumberingSuite, ManyProducersThatLoseTheirConnectionsLeaveNoGapAndNoNumberTwice) {
  constexpr int producers = 4;
  constexpr int appends = 30;
  std::atomic<int> running = producers;
  const auto produce = [&](int producer) {
    std::unique_ptr<IMessageSink> sink = open();
    for (int i = 0; i < appends; ++i) {
      const std::string id = std::to_string(producer) + "/" + std::to_string(i);
      std::vector batch{messageOf("a", "a" + id), messageOf("b", "b" + id), messageOf("c", "c" + id)};
      if (producer % 2 == 0) std::ranges::reverse(batch);  // who takes the groups in another order
      EXPECT_TRUE(eventually([&] { return sink->append(batch).has_value(); })) << "sent again under the same ids";
    }
    --running;
  };
  std::vector<std::thread> threads;
  for (int producer = 0; producer < producers; ++producer) threads.emplace_back(produce, producer);
  int ended = 0;
  while (running > 0 && numbering_->world().endConnections() && ++ended < 1'000) std::this_thread::yield();
  for (std::thread& thread : threads) thread.join();

  std::map<std::string, int> last;
  for (const Message& message : stored()) {
    const std::string expected =
        message.group.value + " " + std::to_string(++last[message.group.value]) + " " + message.id.value;
    EXPECT_EQ(told(message), expected);
  }
  for (const char* group : {"a", "b", "c"}) EXPECT_EQ(last[group], producers * appends) << group;
}

INSTANTIATE_TEST_SUITE_P(Sinks, NumberingSuite,
                         testing::Values(Numberer{"sqlite", [] { return std::make_unique<SqliteNumbering>(); }},
                                         Numberer{"postgresql", [] { return std::make_unique<PostgresNumbering>(); }}),
                         [](const auto& tested) { return tested.param.name; });

}  // namespace
}  // namespace tenure::test
