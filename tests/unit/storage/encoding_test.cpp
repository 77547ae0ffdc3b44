#include "storage/key_value/encoding.hpp"

#include <gmock/gmock.h>

#include "storage/records.hpp"
#include "support/results.hpp"

namespace tenure::storage {
namespace {

using test::failsWith;

const FailingMessage recorded{ConsumerName{"books"},
                              {.id = MessageId{"m"},
                               .attempts = 3,
                               .lastError = "no; 4:stock",
                               .firstAt = wallTimeOf(1),
                               .lastAt = wallTimeOf(2),
                               .state = AttemptState::blocked,
                               .begunBy = FencingToken{7},
                               .processDied = true,
                               .postponements = {.times = 4, .since = wallTimeOf(5)}}};
const std::string name = "books" + std::string(1, '\0') + "m";

TEST(Encoding, ARowComesBackAsItWas) {
  const std::string text = textOf(Table::attempt, attemptRow(recorded.consumer, recorded.attempts));

  const FailingMessage read = attemptFrom(rowFrom(Table::attempt, name, text).value());

  EXPECT_EQ(read.consumer, recorded.consumer);
  EXPECT_TRUE(read.attempts == recorded.attempts);
}

TEST(Encoding, WhatARowOfAnEarlierVersionLacksIsZero) {
  const FailingMessage read = attemptFrom(rowFrom(Table::attempt, name, "3;2:no1;2;1;").value());

  EXPECT_EQ(read.attempts.lastError, "no");
  EXPECT_EQ(read.attempts.state, AttemptState::blocked);
  EXPECT_EQ(read.attempts.begunBy, FencingToken{});
  EXPECT_EQ(read.attempts.postponements, Postponements{});
}

TEST(Encoding, WhatIsCutOffInTheMiddleIsDamaged) {
  for (const char* text : {"", "3;", "3;2:n", "3;2:no1;2;", "3;2:no1;2;1;7", "3;2:no1;2;1;7;0;4;5;6;"})
    EXPECT_THAT(rowFrom(Table::attempt, name, text), failsWith(Errc::storeFailed)) << text;
}

}  // namespace
}  // namespace tenure::storage
