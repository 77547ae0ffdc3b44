// What a producer keeps until it is confirmed, in virtual time.
#include "producer/send_buffer.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/random.hpp"
#include "support/results.hpp"

namespace tenure::producing {
namespace {

using namespace std::chrono_literals;
using test::failsWith;
using test::succeeds;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

class SendBufferTest : public testing::Test {
 protected:
  std::optional<SendNumber> offer(const std::string& id, Durability durability = Durability::stored,
                                  BootTime deadline = BootTime::max(), const std::string& group = "") {
    if (!buffer_) buffer_.emplace(options_, Random(1));
    NewMessage message{MessageId{id}, GroupId{group}, "body", {}};
    return buffer_->offer(message, durability, deadline, now_);
  }
  /// Of groups that are in the lane of the id's first letter, a or b or c.
  void offerToLanes(const std::vector<std::string>& ids) {
    for (const std::string& id : ids) {
      std::string group = "g";
      while (SendBuffer::laneOf(GroupId{group}, options_.batchesUnderWay) != static_cast<std::size_t>(id[0] - 'a'))
        group += 'g';
      offer(id, Durability::stored, BootTime::max(), group);
    }
  }
  /// As soon as one may.
  std::vector<std::string> begin() {
    std::vector<std::string> ids;
    if (const BootTime next = buffer_->next(now_); next != BootTime::max()) now_ = std::max(now_, next);
    SendBuffer::Batch* batch = buffer_->begin(now_);
    if (batch == nullptr) return ids;
    underWay_.push_back(batch);
    for (const NewMessage& message : batch->messages) ids.push_back(message.id.value);
    return ids;
  }
  /// The batch that began last, or the one before.
  std::vector<Ending> answer(const std::vector<Result<void>>& results, std::size_t before = 0) {
    const auto batch = underWay_.end() - 1 - static_cast<std::ptrdiff_t>(before);
    std::vector<Ending> endings = buffer_->answered(**batch, results, now_);
    buffer_->end(**batch);
    underWay_.erase(batch);
    return endings;
  }

  ProducerOptions options_;
  BootTime now_{1h};
  std::optional<SendBuffer> buffer_;
  std::vector<SendBuffer::Batch*> underWay_;
};

// shows: sending/batch-ends-messages
TEST_F(SendBufferTest, ABatchTakesWhatWaitsUpToItsLimits) {
  options_.batchMessages = 2;
  for (const char* id : {"a", "b", "c"}) offer(id);

  EXPECT_EQ(buffer_->next(now_), now_);
  EXPECT_THAT(begin(), ElementsAre("a", "b"));
  EXPECT_EQ(buffer_->next(now_), BootTime::max()) << "one is under way";
  EXPECT_THAT(answer({{}, {}}), SizeIs(2));
  EXPECT_THAT(begin(), ElementsAre("c"));
}

// shows: sending/batch-ends-messages
TEST_F(SendBufferTest, ABatchOfLargeMessagesEndsAtItsBytesAndTakesOneAtLeast) {
  options_.batchBytes = 6;
  for (const char* id : {"a", "b"}) offer(id);

  EXPECT_THAT(begin(), ElementsAre("a"));
}

// shows: sending/confirmed-sent-again
TEST_F(SendBufferTest, WhatWasNotTakenGoesBeforeAllThatWaitsAfterAWait) {
  options_.retryBase = options_.retryMax = 1s;
  offer("a"), offer("b");
  begin();
  offer("c");

  EXPECT_THAT(answer({{}, Error{Errc::outcomeUnknown, "the reply was lost"}}), SizeIs(1));

  EXPECT_LE(buffer_->next(now_), now_ + 1s);
  EXPECT_EQ(buffer_->figures(now_).lastError, Error(Errc::outcomeUnknown, "the reply was lost").message());
  EXPECT_THAT(begin(), ElementsAre("b", "c"));
}

// shows: sending/queue-refuses-kept
TEST_F(SendBufferTest, ARefusedMessageFailsAloneAndThoseBehindItGoOnAtOnce) {
  offer("a"), offer("b"), offer("c");
  begin();

  const auto endings = answer({{}, Error{Errc::payloadTooLarge, "too large"}, Errc::cancelled});

  ASSERT_THAT(endings, SizeIs(2));
  EXPECT_THAT(endings[0].result, succeeds());
  EXPECT_THAT(endings[1].result, failsWith(Errc::payloadTooLarge));
  EXPECT_EQ(buffer_->next(now_), now_);
  EXPECT_THAT(begin(), ElementsAre("c"));
  EXPECT_EQ(buffer_->figures(now_).refused, 1);
}

// shows: sending/batch-ends-messages
TEST_F(SendBufferTest, AnIdleProducerSendsAtOnceAndABusyOneLingers) {
  options_.linger = 100ms, options_.batchMessages = 3;
  offer("a");
  EXPECT_EQ(buffer_->next(now_), now_);
  begin(), answer({{}});
  now_ += 10ms;
  offer("b");
  EXPECT_EQ(buffer_->next(now_), now_ + 90ms);
  offer("c"), offer("d");
  EXPECT_EQ(buffer_->next(now_), now_) << "it is full";
  begin(), answer({{}, {}, {}});
  const auto last = offer("e");
  EXPECT_GT(buffer_->next(now_), now_);
  buffer_->hurry(*last);
  EXPECT_EQ(buffer_->next(now_), now_) << "it is waited for";
}

// shows: sending/full-buffer-waits
TEST_F(SendBufferTest, AFullBufferRefusesOrDropsTheOldestThatMayBeLost) {
  options_.maxMessages = 2;
  offer("a"), offer("b", Durability::memory);
  EXPECT_EQ(offer("c"), std::nullopt);
  options_.onOverload = Overload::dropOldest;
  buffer_.reset();
  offer("a"), offer("b", Durability::memory);

  EXPECT_NE(offer("c"), std::nullopt);

  const std::vector<Ending> dropped = buffer_->takeDropped();
  ASSERT_THAT(dropped, SizeIs(1));
  EXPECT_EQ(dropped[0].number, 2);
  EXPECT_TRUE(dropped[0].isLost);
  EXPECT_EQ(offer("d"), std::nullopt) << "none of the others may be lost";
  EXPECT_EQ(buffer_->figures(now_).dropped, 1);
  EXPECT_EQ(buffer_->figures(now_).atRisk, 0U);
}

TEST_F(SendBufferTest, NoMoreIsDroppedThanIsTold) {
  options_.maxMessages = 2, options_.onOverload = Overload::dropOldest;
  for (const char* id : {"a", "b", "c", "d"}) EXPECT_NE(offer(id, Durability::memory), std::nullopt);

  EXPECT_EQ(offer("e", Durability::memory), std::nullopt);

  EXPECT_THAT(buffer_->takeDropped(), SizeIs(2));
  EXPECT_NE(offer("e", Durability::memory), std::nullopt);
}

// shows: sending/full-buffer-waits
TEST_F(SendBufferTest, NothingIsDroppedForAMessageThatHasNoRoomEvenThen) {
  options_.onOverload = Overload::dropOldest, options_.maxBytes = 10;
  offer("a"), offer("b", Durability::memory);
  NewMessage large{MessageId{"c"}, {}, "seven b", {}};

  EXPECT_EQ(buffer_->offer(large, Durability::stored, BootTime::max(), now_), std::nullopt);

  EXPECT_EQ(large.body, "seven b");
  EXPECT_FALSE(buffer_->hasDropped());
  EXPECT_EQ(buffer_->size(), 2U);
}

// shows: sending/confirmed-sent-again
TEST_F(SendBufferTest, WaitsGrowWithEachFailureAndAreOverWithASuccess) {
  options_.retryBase = 1s, options_.retryMax = 64s;
  offer("a");
  Duration longest{0};
  for (int i = 0; i < 30; ++i) {
    begin();
    answer({Error{Errc::unavailable, "away"}});
    longest = std::max(longest, Duration(buffer_->next(now_) - now_));
    EXPECT_LE(longest, 64s);
    now_ = buffer_->next(now_);
  }
  EXPECT_GT(longest, 10s);
  begin(), answer({{}});
  offer("b");
  EXPECT_EQ(buffer_->next(now_), now_);
  begin();
  answer({Error{Errc::unavailable, "away"}});
  EXPECT_LE(buffer_->next(now_), now_ + 1s);
}

TEST_F(SendBufferTest, ABatchOfWhichNothingWasTriedIsAFailure) {
  options_.retryBase = options_.retryMax = 1s;
  offer("a");
  begin();

  EXPECT_THAT(answer({Errc::cancelled}), IsEmpty());

  EXPECT_FALSE(buffer_->figures(now_).lastError.empty());
}

// shows: sending/several-batches-under
TEST_F(SendBufferTest, ALaneIsInOneBatchAtATimeAndOthersAreBesideIt) {
  options_.batchesUnderWay = 3, options_.batchMessages = 2;
  offerToLanes({"a1", "a2", "b1", "a3", "b2", "a4"});

  EXPECT_THAT(begin(), ElementsAre("a1", "a2"));
  EXPECT_THAT(begin(), ElementsAre("b1", "b2"));
  EXPECT_EQ(buffer_->next(now_), BootTime::max()) << "all that wait are of a lane that is under way";
  EXPECT_THAT(begin(), IsEmpty());
  offerToLanes({"a5"});
  EXPECT_EQ(buffer_->next(now_), BootTime::max());
  offerToLanes({"c1"});
  EXPECT_THAT(begin(), ElementsAre("c1"));
  EXPECT_EQ(buffer_->next(now_), BootTime::max()) << "three are under way";
  answer({{}, {}}, 2);
  EXPECT_THAT(begin(), ElementsAre("a3", "a4"));
}

// shows: sending/several-batches-under
TEST_F(SendBufferTest, ALaneGoesOnOnceTheCallersOfItsBatchHaveBeenTold) {
  options_.batchesUnderWay = 2;
  offerToLanes({"a1"});
  SendBuffer::Batch* batch = buffer_->begin(now_);
  offerToLanes({"a2"});
  buffer_->answered(*batch, std::vector<Result<void>>(1), now_);
  EXPECT_EQ(buffer_->next(now_), BootTime::max());
  EXPECT_EQ(buffer_->notCopied(), nullptr);

  buffer_->end(*batch);

  EXPECT_THAT(begin(), ElementsAre("a2"));
}

// shows: sending/several-batches-under
TEST_F(SendBufferTest, ALaneWithMuchToSendLetsTheOthersLinger) {
  options_.batchesUnderWay = 2, options_.batchMessages = 3, options_.linger = 100ms;
  offerToLanes({"b1"});
  begin(), answer({{}});
  offerToLanes({"a1", "a2", "a3", "a4", "b2"});
  begin();

  EXPECT_EQ(buffer_->next(now_), now_ + 100ms);
  offerToLanes({"b3", "b4"});
  EXPECT_EQ(buffer_->next(now_), now_) << "now it is full as well";
}

// shows: sending/several-batches-under
TEST_F(SendBufferTest, WhatComesBackGoesBeforeAllThatWasSentLater) {
  options_.batchesUnderWay = 3, options_.batchMessages = 2;
  offerToLanes({"a1", "a2", "b1", "b2", "a3", "b3"});
  begin(), begin();
  const Error away{Errc::unavailable, "away"};

  answer({away, away}, 0);
  answer({{}, away}, 0);

  EXPECT_EQ(buffer_->figures(now_).waiting, 5U);
  EXPECT_TRUE(buffer_->areOver(1));
  EXPECT_FALSE(buffer_->areOver(2));
  EXPECT_THAT(begin(), ElementsAre("a2", "a3"));
  EXPECT_THAT(begin(), ElementsAre("b1", "b2"));
  EXPECT_THAT(begin(), IsEmpty());
  answer({{}, {}});
  EXPECT_THAT(begin(), ElementsAre("b3"));
}

// shows: sending/several-batches-under
TEST_F(SendBufferTest, ABatchBesideAFailureDoesNotEndItsWait) {
  options_.batchesUnderWay = 3, options_.retryBase = options_.retryMax = 1s;
  offerToLanes({"a1", "b1"});
  begin(), begin();
  now_ += 10ms;
  answer({Error{Errc::unavailable, "away"}}, 1);
  const BootTime next = buffer_->next(now_);
  ASSERT_GT(next, now_);

  answer({{}});

  EXPECT_EQ(buffer_->next(now_), next);
}

TEST_F(SendBufferTest, NoTimeIsLaterThanTheLast) {
  EXPECT_EQ(later(now_, 1s), now_ + 1s);
  EXPECT_EQ(later(now_, std::chrono::milliseconds::max()), BootTime::max());
}

// shows: sending/limit-ends-waits
TEST_F(SendBufferTest, ALimitEndsWhatWaitsAndSaysWhetherItMayBeStored) {
  offer("a", Durability::stored, now_ + 1s), offer("b", Durability::stored, now_ + 2s), offer("c");
  begin();
  answer({Error{Errc::outcomeUnknown, "lost"}, Error{Errc::unavailable, "away"}, Error{Errc::unavailable, "away"}});
  EXPECT_EQ(buffer_->earliestDeadline(), now_ + 1s);
  now_ += 3s;

  const auto endings = buffer_->expired(now_);

  ASSERT_THAT(endings, SizeIs(2));
  EXPECT_THAT(endings[0].result, failsWith(Errc::outcomeUnknown));
  EXPECT_THAT(endings[1].result, failsWith(Errc::timedOut));
  EXPECT_THAT(begin(), ElementsAre("c"));
}

// shows: sending/lost-process-counted
TEST_F(SendBufferTest, WhatAProcessWouldLoseIsCounted) {
  offer("a", Durability::memory), offer("b");
  EXPECT_EQ(buffer_->figures(now_).atRisk, 1U);
  EXPECT_FALSE(buffer_->areOver(1));
  begin();
  EXPECT_EQ(buffer_->figures(now_ + 5s).oldestAge, 5s);
  answer({{}, {}});

  EXPECT_TRUE(buffer_->areOver(2));
  EXPECT_EQ(buffer_->figures(now_).atRisk, 0U);
  EXPECT_EQ(buffer_->figures(now_).waiting, 0U);
  EXPECT_EQ(buffer_->figures(now_).bytes, 0U);
  EXPECT_THAT(buffer_->giveUp({Errc::cancelled, "closed"}), IsEmpty());
}

}  // namespace
}  // namespace tenure::producing
