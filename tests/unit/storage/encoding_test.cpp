#include "storage/key_value/encoding.hpp"

#include <gmock/gmock.h>

#include <array>
#include <set>

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
                               .postponements = {.times = 4, .since = wallTimeOf(5)},
                               .nextAt = wallTimeOf(6)}};
const std::string name = "books" + std::string(1, '\0') + "m";

TEST(Encoding, ARowComesBackAsItWas) {
  const std::string text = textOf(Table::attempt, attemptRow(recorded.consumer, recorded.attempts));

  const FailingMessage read = attemptFrom(rowFrom(Table::attempt, name, text).value());

  EXPECT_EQ(read.consumer, recorded.consumer);
  EXPECT_TRUE(read.attempts == recorded.attempts);
}

TEST(Encoding, FactsOfOneKindAreToldApartByTheirNames) {
  const ConsumerName books{"books"};
  const std::vector<Row> rows{
      factRow(books, RecoveryWindow{.unrecordedWindow = 3, .lanes = 2, .window = 5}),
      factRow(books,
              DeadLetterStreakRecord{.deaths = 1, .lastReason = "no", .state = DeadLetterStreakRecord::State::stopped}),
      factRow(books, ClockLook{.isStores = true, .bootId = "0b", .sinceBoot = std::chrono::milliseconds{7}})};
  std::set<std::string> names;
  for (std::size_t place = 0; place < factTables.size(); ++place) {
    const Table table = factTables[place];
    const spi::Name called = named(table, std::array{Value{books.value}});
    EXPECT_EQ(called.table, spi::Table::fact);
    EXPECT_THAT(called.text, testing::StartsWith(prefixOf(table, {})));
    EXPECT_TRUE(rowFrom(table, called.text, textOf(table, rows[place])).value() == rows[place]);
    names.insert(called.text);
  }
  EXPECT_THAT(names, testing::SizeIs(3));
}

TEST(Encoding, WhatIsCutOffInTheMiddleIsDamaged) {
  for (const char* text : {"", "3;", "3;2:n", "3;2:no1;2;", "3;2:no1;2;1;7", "3;2:no1;2;1;7;0;4;5;6;7;"})
    EXPECT_THAT(rowFrom(Table::attempt, name, text), failsWith(Errc::storeFailed)) << text;
}

}  // namespace
}  // namespace tenure::storage
