// What a transaction has written so far: the last word on a row, the first expectation of it, and the way back.
#include "storage/write_set.hpp"

#include <gmock/gmock.h>

namespace tenure::storage {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

std::vector<std::string> statesOf(const WriteSet& writes) {
  std::vector<std::string> states;
  writes.forEach([&](const Write& write) {
    states.push_back(textIn(write.row, state::key) +
                     (write.what == Write::What::put ? "=" + textIn(write.row, state::value) : " gone"));
  });
  return states;
}

Row stateWith(const std::string& key, const std::string& value) { return {key, value}; }

TEST(WriteSets, SendTheLastWordOnARowOnce) {
  WriteSet writes;
  writes.put(Table::state, stateWith("a", "1"));
  writes.put(Table::state, stateWith("b", "1"));
  writes.put(Table::state, stateWith("a", "2"));

  EXPECT_THAT(statesOf(writes), ElementsAre("b=1", "a=2"));
}

TEST(WriteSets, KeepWhatWasExpectedOfARowBeforeTheTransaction) {
  WriteSet writes;
  writes.put(Table::state, stateWith("a", "1"), Expectation::absent());
  writes.remove(Table::state, {std::string("a")});
  std::vector<Expectation::Of> expected;

  writes.forEach([&](const Write& write) { expected.push_back(write.expected.of); });

  EXPECT_THAT(expected, ElementsAre(Expectation::Of::absence));
}

TEST(WriteSets, CountTheBytesOfWhatIsExpected) {
  WriteSet writes;
  writes.expect(Table::state, {std::string("a")}, Expectation::has(state::value, std::string(10'000, 'x')));

  EXPECT_GT(writes.bytes(), 10'000U);
}

TEST(WriteSets, GoBackToTheirMarkAsIfNothingHadComeAfterIt) {
  WriteSet writes;
  writes.put(Table::state, stateWith("a", "1"));
  const std::size_t bytes = writes.bytes();
  writes.mark();
  writes.put(Table::state, stateWith("a", "2"));
  writes.remove(Table::state, {std::string("b")});
  Message message;
  message.position = 5;
  writes.acknowledge({&message, 1});

  writes.rollbackToMark();

  EXPECT_THAT(statesOf(writes), ElementsAre("a=1"));
  EXPECT_THAT(writes.acknowledged(), IsEmpty());
  EXPECT_EQ(writes.bytes(), bytes);
  EXPECT_EQ(writes.find(nameOf(Table::state, {"b"})), nullptr);
}

TEST(WriteSets, KeepEveryRowWhoseNumberTheStoreGives) {
  WriteSet writes;
  const Row line{std::string("ledger"), std::int64_t{0}, std::string("m"), std::int64_t{1}, std::int64_t{0},
                 std::string(),         std::int64_t{7}, std::int64_t{1},  std::int64_t{2}};
  writes.put(Table::log, line);
  writes.put(Table::log, line);
  std::size_t count = 0;

  writes.forEach([&](const Write&) { ++count; });

  EXPECT_EQ(count, 2U);
}

TEST(WriteSets, AnExpectationTakesNoWritesPlace) {
  WriteSet writes;
  writes.put(Table::state, stateWith("a", "1"));
  writes.expect(Table::state, {std::string("a")}, Expectation::present());

  EXPECT_THAT(statesOf(writes), ElementsAre("a=1"));
  EXPECT_NE(writes.find(nameOf(Table::state, {"a"})), nullptr);
}

TEST(WriteSets, FindEachOfManyRowsAndThoseOfTheNextTransactionAfterThem) {
  const auto number = [](int i) { return std::to_string(i); };
  WriteSet writes;
  for (const int some : {1000, 3, 100}) {
    for (int i = 0; i < some; ++i) writes.put(Table::state, stateWith(number(i), "first"));
    writes.mark();
    for (int i = 0; i < 2 * some; ++i) writes.put(Table::state, stateWith(number(i), "second"));

    writes.rollbackToMark();

    for (int i = 0; i < 2 * some; ++i) {
      const Write* found = writes.find(nameOf(Table::state, {number(i)}));
      ASSERT_EQ(found != nullptr, i < some) << i;
      EXPECT_TRUE(found == nullptr || found->row == stateWith(number(i), "first")) << i;
    }
    writes.clear();
    EXPECT_EQ(writes.find(nameOf(Table::state, {"0"})), nullptr);
  }
}

TEST(WriteSets, NameATextAloneAsTheyNameItInARow) {
  EXPECT_EQ(nameOf(Table::key, {"orders", "m1"}), nameOf(Table::key, Row{std::string("orders"), std::string("m1")}));
}

TEST(WriteSets, NamesAreInTheOrderOfTheirKeys) {
  EXPECT_LT(nameOf(Table::deadLetter, Row{std::int64_t{9}}), nameOf(Table::deadLetter, Row{std::int64_t{10}}));
  EXPECT_LT(nameOf(Table::key, Row{std::string("a"), std::string("z")}),
            nameOf(Table::key, Row{std::string("ab"), std::string("a")}));
}

}  // namespace
}  // namespace tenure::storage
