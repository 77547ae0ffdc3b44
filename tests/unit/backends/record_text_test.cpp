#include "backends/shared/record_text.hpp"

#include <gtest/gtest.h>

namespace tenure::backends {
namespace {

TEST(RecordText, WorkIsReadAsItWasWritten) {
  const std::vector<MessageId> ids{MessageId{"a b"}, MessageId{"\r\n"}, MessageId{"1 2 3"}};

  const InWork read = inWorkFrom(inWorkValue(FencingToken{77}, ids, true));

  EXPECT_EQ(read.token, 77);
  EXPECT_TRUE(read.more);
  EXPECT_EQ(read.ids, ids);
}

TEST(RecordText, AnAttemptIsReadAsItWasWritten) {
  const WallTime at{std::chrono::milliseconds{1'790'000'000'123}};
  const AttemptRecord record{MessageId{"m"}, 3, "an error with spaces", at, at + std::chrono::seconds{1}};

  const AttemptRecord read = attemptFrom(record.id, attemptValue(record)).value();

  EXPECT_EQ(read.attempts, 3);
  EXPECT_EQ(read.lastError, record.lastError);
  EXPECT_EQ(read.firstAt, record.firstAt);
  EXPECT_EQ(read.lastAt, record.lastAt);
  EXPECT_FALSE(attemptFrom(record.id, "many").has_value());
}

}  // namespace
}  // namespace tenure::backends
