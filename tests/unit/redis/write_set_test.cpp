// The log of a transaction: what is sent at its commit.
#include "backends/redis/write_set.hpp"

#include <gmock/gmock.h>

namespace tenure::redis {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

std::vector<std::string_view> argumentsOf(const WriteSet& writes) {
  std::vector<std::string_view> keys;
  std::vector<std::string_view> arguments;
  writes.encode(keys, arguments);
  return arguments;
}

TEST(WriteSet, SendsTheLastValueOfANameOnly) {
  WriteSet writes;
  writes.put("counter", "1");
  writes.put("other", "x");
  writes.put("counter", "2");

  EXPECT_THAT(argumentsOf(writes), ElementsAre("put", "other", "x", "put", "counter", "2"));
}

TEST(WriteSet, AnErasureIsTheLastWordToo) {
  WriteSet writes;
  writes.put("k", "v");
  writes.erase("k");

  EXPECT_THAT(argumentsOf(writes), ElementsAre("erase", "k"));
  ASSERT_TRUE(writes.state("k").has_value());
  EXPECT_FALSE(writes.state("k")->has_value());
}

TEST(WriteSet, KnowsNothingOfANameThatItDidNotWrite) { EXPECT_FALSE(WriteSet().state("k").has_value()); }

TEST(WriteSet, CutBackToAMarkItIsAsItWasThen) {
  WriteSet writes;
  writes.put("k", "before");
  const std::size_t mark = writes.size();
  writes.put("k", "after");
  writes.addKey("id", "d");
  writes.done("17-0 ");

  writes.cutTo(mark);

  EXPECT_EQ(writes.state("k"), std::optional<std::string>("before"));
  EXPECT_FALSE(writes.key("id").has_value());
  EXPECT_THAT(argumentsOf(writes), ElementsAre("put", "k", "before"));
}

TEST(WriteSet, SaysOfEachKeyWhatItMustFind) {
  WriteSet writes;
  writes.addKey("b", "d1");
  writes.expectKey("a", "x2");
  std::vector<std::string_view> keys;
  std::vector<std::string_view> arguments;

  writes.encode(keys, arguments);

  EXPECT_THAT(keys, ElementsAre("b", "a"));
  EXPECT_THAT(arguments, ElementsAre("new", "d1", "seen", "x2"));
}

TEST(WriteSet, StateAttemptsAndWorkOfOneNameAreThreeThings) {
  WriteSet writes;
  writes.put("n", "1");
  writes.attempt("n", "2");
  writes.inWork("n", "3");
  writes.forgive("m");

  EXPECT_THAT(argumentsOf(writes), ElementsAre("put", "n", "1", "attempt", "n", "2", "work", "n", "3", "forgive", "m"));
}

TEST(WriteSet, SendsEachDeadLetterAndEachAcknowledgement) {
  WriteSet writes;
  writes.done("1-0 ");
  writes.done("2-0 3-0 ");
  writes.bury({"ledger", "id", "group", "body", "", "1", "2", "why", "3", "4", "5"});

  EXPECT_THAT(argumentsOf(writes), ElementsAre("done", "1-0 ", "done", "2-0 3-0 ", "bury", "ledger", "id", "group",
                                               "body", "", "1", "2", "why", "3", "4", "5"));
}

TEST(WriteSet, CountsItsBytes) {
  WriteSet writes;
  writes.put("key", "value");
  writes.done("7-0");

  EXPECT_EQ(writes.bytes(), 11U);
  EXPECT_THAT(argumentsOf(WriteSet()), IsEmpty());
}

}  // namespace
}  // namespace tenure::redis
