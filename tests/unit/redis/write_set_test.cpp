// The log of a transaction: what is sent at its commit.
#include "backends/redis/write_set.hpp"

#include <gmock/gmock.h>

namespace tenure::redis {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

/// Behind what is said of the keys.
std::vector<std::string> sectionsOf(const WriteSet& writes) {
  constexpr std::ptrdiff_t heads = 3;
  WriteSet::Encoded encoded;
  writes.encode(encoded);
  return {encoded.arguments.begin() + heads, encoded.arguments.end()};
}

TEST(WriteSet, SendsTheLastValueOfANameOnly) {
  WriteSet writes;
  writes.put("counter", "1");
  writes.put("other", "x");
  writes.put("counter", "2");

  EXPECT_THAT(sectionsOf(writes), ElementsAre("put", "4", "other", "x", "counter", "2"));
}

TEST(WriteSet, AnErasureIsTheLastWordToo) {
  WriteSet writes;
  writes.put("k", "v");
  writes.erase("k");

  EXPECT_THAT(sectionsOf(writes), ElementsAre("erase", "1", "k"));
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
  EXPECT_THAT(sectionsOf(writes), ElementsAre("put", "2", "k", "before"));
}

TEST(WriteSet, SaysOfEachKeyWhatItMustFind) {
  WriteSet writes;
  writes.expectKey("a", "x2");
  writes.addKey("b", "d1");
  WriteSet::Encoded encoded{.keys = {"fixed"}, .arguments = {"fixed"}};

  writes.encode(encoded);

  EXPECT_THAT(encoded.keys, ElementsAre("fixed", "b", "a")) << "new ones first";
  EXPECT_THAT(encoded.arguments, ElementsAre("fixed", "7h", "0", "1", "d1", "x2"));
}

TEST(WriteSet, TellsWhichKeysOfTheServersItWillTouch) {
  WriteSet writes;
  writes.addKey("k", "d");
  writes.erase("state");
  writes.forgive("m");
  writes.inWork("c", "");
  writes.log("log:c", "id", "what");
  WriteSet::Encoded encoded{.keys = {"1", "2"}, .arguments = {}};

  writes.encode(encoded);

  EXPECT_THAT(encoded.keys, ElementsAre("1", "2", "k", "log:c"));
  EXPECT_THAT(std::vector(encoded.arguments.begin(), encoded.arguments.begin() + 3),
              ElementsAre("4h5h6h7h8t4s", "4", "1"));
}

TEST(WriteSet, NoSectionIsLongerThanAScriptCanTakeAtOnce) {
  WriteSet writes;
  std::string entries;
  for (int i = 0; i < 9'000; ++i) entries += std::to_string(i) + "-0 ";
  writes.done(entries);
  for (int i = 0; i < 9'000; ++i) writes.put(std::to_string(i), "v");

  const std::vector<std::string> sections = sectionsOf(writes);

  std::size_t values = 0;
  for (std::size_t at = 0; at < sections.size(); at += 2 + std::stoul(sections[at + 1])) {
    EXPECT_LT(std::stoul(sections[at + 1]), 4'000U);
    values += std::stoul(sections[at + 1]);
  }
  EXPECT_EQ(values, 27'000U);
}

TEST(WriteSet, StateAttemptsAndWorkOfOneNameAreThreeThings) {
  WriteSet writes;
  writes.put("n", "1");
  writes.attempt("n", "2");
  writes.inWork("n", "3");
  writes.forgive("m");

  EXPECT_THAT(sectionsOf(writes),
              ElementsAre("put", "2", "n", "1", "attempt", "2", "n", "2", "work", "2", "n", "3", "forgive", "1", "m"));
}

TEST(WriteSet, SendsEachDeadLetterAndEachAcknowledgement) {
  WriteSet writes;
  writes.done("1-0 ");
  writes.done("2-0 3-0 ");
  writes.bury({"ledger", "id", "group", "body", "", "1", "2", "why", "3", "4", "5"});

  EXPECT_THAT(sectionsOf(writes), ElementsAre("done", "3", "1-0", "2-0", "3-0", "bury", "11", "ledger", "id", "group",
                                              "body", "", "1", "2", "why", "3", "4", "5"));
}

TEST(WriteSet, CountsItsBytes) {
  WriteSet writes;
  writes.put("key", "value");
  writes.done("7-0");

  EXPECT_EQ(writes.bytes(), 11U);
  EXPECT_THAT(sectionsOf(WriteSet()), IsEmpty());
}

}  // namespace
}  // namespace tenure::redis
