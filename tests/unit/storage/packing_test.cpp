// The sink that packs messages, and the source that takes them apart.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <deque>

#include "messages/packs.hpp"
#include "support/results.hpp"
#include "support/terms.hpp"

namespace tenure::storage {
namespace {

using namespace std::chrono_literals;
using test::failsWith;
using test::succeeds;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

NewMessage message(const std::string& id, const std::string& group = "g", std::string body = "body") {
  return {MessageId{id}, GroupId{group}, std::move(body), {}};
}

std::vector<std::string> idsOf(const auto& messages) {
  std::vector<std::string> ids;
  for (const NewMessage& each : messages) ids.push_back(each.id.value);
  return ids;
}

struct Stored {
  std::vector<NewMessage> sent;
  std::vector<Result<void>> results;  // of the next messages that are sent, in order; those behind are stored
};

class FakeSink final : public IMessageSink {
 public:
  explicit FakeSink(Stored& stored) : stored_(stored) {}
  Result<void> append(std::span<const NewMessage> messages) override {
    stored_.sent.insert(stored_.sent.end(), messages.begin(), messages.end());
    return {};
  }
  std::vector<Result<void>> appendEach(std::span<const NewMessage> messages) override {
    stored_.sent.insert(stored_.sent.end(), messages.begin(), messages.end());
    std::vector<Result<void>> results = stored_.results;
    results.resize(messages.size());
    return results;
  }

 private:
  Stored& stored_;
};

struct Packing : testing::Test {
  Stored stored;
  messages::PackingSink sink{
      std::make_unique<FakeSink>(stored), 3,
      [](const NewMessage& each) {
        return each.id.value == "bad" ? Result<void>(Error{Errc::invalidArgument, "bad"}) : Result<void>{};
      },
      [](const NewMessage& each) { return each.id.value == "alone"; }};
};

TEST_F(Packing, PutsSoManyMessagesInOneBodyInTheirOrder) {
  const std::vector<NewMessage> messages{message("1"), message("2", "h"), message("3"), message("4")};

  EXPECT_THAT(sink.append(messages), succeeds());

  ASSERT_THAT(stored.sent, SizeIs(2));
  EXPECT_EQ(*messages::messagesIn(stored.sent[0]), std::vector(messages.begin(), messages.begin() + 3));
  EXPECT_EQ(stored.sent[1], messages[3]) << "one message alone needs no pack";
}

TEST_F(Packing, TellsForEachMessageWhatBecameOfItsPack) {
  stored.results = {{}, Error{Errc::outcomeUnknown, "lost"}};

  const auto results =
      sink.appendEach(std::vector{message("1"), message("2"), message("3"), message("4"), message("5")});

  ASSERT_THAT(results, SizeIs(5));
  EXPECT_THAT(results[2], succeeds());
  EXPECT_THAT(results[3], failsWith(Errc::outcomeUnknown));
  EXPECT_THAT(results[4], failsWith(Errc::outcomeUnknown));
}

// shows: sending/many-messages-may
TEST_F(Packing, RefusesOneMessageAloneAndDoesNotTryThoseBehindItInItsGroup) {
  const auto results =
      sink.appendEach(std::vector{message("1"), message("bad"), message("2"), message("3", "h"), message("4", "h")});

  EXPECT_THAT(results[0], succeeds());
  EXPECT_THAT(results[1], failsWith(Errc::invalidArgument));
  EXPECT_THAT(results[2], failsWith(Errc::cancelled));
  EXPECT_THAT(results[3], succeeds());
  EXPECT_THAT(results[4], succeeds());
  ASSERT_THAT(stored.sent, SizeIs(1));
  EXPECT_THAT(idsOf(*messages::messagesIn(stored.sent[0])), ElementsAre("1", "3", "4"));
  EXPECT_THAT(sink.append(std::vector{message("1"), message("bad")}), failsWith(Errc::invalidArgument));
  EXPECT_THAT(stored.sent, SizeIs(1)) << "nothing of it was stored";
}

TEST_F(Packing, LeavesMessagesAsTheyAreWhereOneGoesItsOwnWay) {
  EXPECT_THAT(sink.append(std::vector{message("1"), message("alone"), message("2")}), succeeds());

  EXPECT_THAT(idsOf(stored.sent), ElementsAre("1", "alone", "2"));
}

TEST_F(Packing, MakesNoBodyThatIsLargerThanAMessagesMayBe) {
  const std::string large(maxBodyBytes, 'x');
  const std::string half(300U << 10U, 'x');

  EXPECT_THAT(sink.append(std::vector{message("1", "g", large), message("2", "g", half), message("3", "g", half),
                                      message("4"), message("5")}),
              succeeds());

  EXPECT_THAT(idsOf(stored.sent), ElementsAre("1", "2", "3"));
  EXPECT_THAT(idsOf(*messages::messagesIn(stored.sent[2])), ElementsAre("3", "4", "5"));
  for (const NewMessage& each : stored.sent) EXPECT_LE(each.body.size(), maxBodyBytes);
}

/// What a source has been asked.
struct Asked {
  std::deque<Message> waiting;
  std::vector<std::int64_t> acknowledged;
  Result<void> answer{};
};

class FakeSource final : public IMessageSource {
 public:
  explicit FakeSource(Asked& asked) : asked_(asked) {}
  Result<void> attach(const Term&) override { return {}; }
  Result<std::vector<Message>> fetch(std::size_t max, BootTime, std::stop_token) override {
    std::vector<Message> messages;
    for (; !asked_.waiting.empty() && messages.size() < max; asked_.waiting.pop_front())
      messages.push_back(asked_.waiting.front());
    return messages;
  }
  Result<void> acknowledge(std::span<const Message> messages) override {
    if (asked_.answer)
      for (const Message& each : messages) asked_.acknowledged.push_back(each.position);
    return asked_.answer;
  }
  void detach() noexcept override {}

 private:
  Asked& asked_;
};

struct Unpacking : testing::Test {
  void bring(NewMessage message, std::int64_t position) {
    asked.waiting.push_back({std::move(message), WallTime{5s}, position});
  }
  std::vector<Message> fetch(std::size_t max = 100) {
    auto fetched = source.fetch(max, {}, {});
    EXPECT_THAT(fetched, succeeds());
    return fetched ? *std::move(fetched) : std::vector<Message>{};
  }

  Asked asked;
  messages::UnpackingSource source{std::make_unique<FakeSource>(asked)};
};

TEST_F(Unpacking, BringsMessagesInOrderEachWithAPlaceOfItsOwn) {
  bring(message("0"), 10);
  bring(messages::packOf(std::vector{message("1"), message("2"), message("3")}), 11);
  bring(message("4"), 12);

  std::vector<Message> all = fetch(2);
  EXPECT_THAT(idsOf(all), ElementsAre("0", "1"));
  while (all.size() < 5)
    for (Message& each : fetch(2)) all.push_back(std::move(each));

  EXPECT_THAT(idsOf(all), ElementsAre("0", "1", "2", "3", "4"));
  for (std::size_t i = 1; i < all.size(); ++i) EXPECT_GT(all[i].position, all[i - 1].position);
  EXPECT_EQ(all[2].enqueuedAt, WallTime{5s});
  EXPECT_EQ(all[2].body, "body");
}

TEST_F(Unpacking, NoHeaderSaysThatSomethingIsLacking) {
  NewMessage liar = message("1");
  liar.headers = {{"tenure-left-out", "all of it"}, {"source", "shop"}};
  bring(messages::packOf(std::vector{liar, message("2")}), 7);

  const Message came = fetch()[0];

  EXPECT_EQ(came.headers, liar.headers);
  EXPECT_EQ(came.lacks, "");
}

// shows: sending/many-messages-may
TEST_F(Unpacking, AcknowledgesAPackAfterTheLastOfItsMessagesInWhateverOrder) {
  bring(messages::packOf(std::vector{message("1"), message("2"), message("3")}), 7);
  bring(message("4"), 8);
  const std::vector<Message> all = fetch();

  EXPECT_THAT(source.acknowledge(std::vector{all[2]}), succeeds());
  EXPECT_THAT(source.acknowledge(std::vector{all[0], all[0], all[2]}), succeeds());
  EXPECT_THAT(asked.acknowledged, IsEmpty());
  EXPECT_THAT(source.acknowledge(std::vector{all[3], all[1]}), succeeds());
  EXPECT_THAT(asked.acknowledged, ElementsAre(8, 7));
  EXPECT_THAT(source.acknowledge(all), succeeds()) << "a repeat is harmless";
  EXPECT_THAT(asked.acknowledged, SizeIs(2));
}

TEST_F(Unpacking, AnAcknowledgementThatFailedIsSentWithTheNext) {
  bring(message("1"), 7);
  bring(message("2"), 8);
  const std::vector<Message> all = fetch();
  asked.answer = Errc::unavailable;
  EXPECT_THAT(source.acknowledge(std::vector{all[0]}), failsWith(Errc::unavailable));
  asked.answer = Result<void>{};

  EXPECT_THAT(source.acknowledge(std::vector{all[1]}), succeeds());

  EXPECT_THAT(asked.acknowledged, ElementsAre(7, 8));
}

TEST_F(Unpacking, AnAttachmentBeginsAnewWithLargerPlaces) {
  bring(messages::packOf(std::vector{message("1"), message("2")}), 7);
  const std::vector<Message> before = fetch(1);
  const test::TestTerm term(1);
  source.detach();
  ASSERT_THAT(source.attach(term), succeeds());
  bring(messages::packOf(std::vector{message("1"), message("2")}), 8);

  const std::vector<Message> again = fetch();
  EXPECT_THAT(source.acknowledge(before), succeeds());
  EXPECT_THAT(source.acknowledge(std::vector{again[1]}), succeeds());

  EXPECT_THAT(idsOf(again), ElementsAre("1", "2"));
  EXPECT_GT(again[0].position, before[0].position);
  EXPECT_THAT(asked.acknowledged, IsEmpty()) << "the first is still open";
}

// shows: sending/body-says-pack
TEST_F(Unpacking, WhatOnlySaysThatItIsAPackComesAsItIsAndBecomesADeadLetter) {
  NewMessage none = message("1");
  none.headers.emplace_back(messages::packHeader, "3");
  bring(none, 7);

  const std::vector<Message> all = fetch();

  ASSERT_THAT(all, SizeIs(1));
  EXPECT_EQ(all[0].body, "body");
  EXPECT_NE(all[0].lacks, "");
  EXPECT_THAT(source.acknowledge(all), succeeds());
  EXPECT_THAT(asked.acknowledged, ElementsAre(7));
}

}  // namespace
}  // namespace tenure::storage
