// What becomes of a transaction's reads and writes: the parts of one multi.
#include "backends/zookeeper/changes.hpp"

#include <gmock/gmock.h>

#include "backends/zookeeper/paths.hpp"

namespace tenure::zookeeper {
namespace {

using testing::IsEmpty;
using testing::SizeIs;

std::vector<MultiOp> opsOf(const Changes& changes) {
  std::vector<MultiOp> ops;
  changes.appendTo(ops);
  return ops;
}

TEST(Changes, WhatWasAbsentIsMadeAndWhatWasThereIsSetAtTheVersionThatWasRead) {
  Changes changes;
  changes.remember("/absent", {});
  changes.remember("/there", {"old", 4});
  changes.remember("/gone", {"old", 9});
  changes.write("/absent", "1");
  changes.write("/there", "2");
  changes.write("/gone", std::nullopt);

  const std::vector<MultiOp> ops = opsOf(changes);

  ASSERT_THAT(ops, SizeIs(3));
  EXPECT_EQ(std::get<CreateOp>(ops[0]).data, "1");
  EXPECT_EQ(std::get<RemoveOp>(ops[1]).version, 9);
  EXPECT_EQ(std::get<SetOp>(ops[2]).version, 4);
}

TEST(Changes, OnlyTheLastWriteOfAPathIsSent) {
  Changes changes;
  changes.remember("/k", {"old", 1});
  changes.write("/k", std::nullopt);
  changes.write("/k", "new");

  ASSERT_THAT(opsOf(changes), SizeIs(1));
  EXPECT_EQ(std::get<SetOp>(opsOf(changes)[0]).data, "new");
  EXPECT_EQ(changes.at("/k"), "new");
}

TEST(Changes, WhatIsMadeAndErasedAgainIsNotSent) {
  Changes changes;
  changes.remember("/k", {});
  changes.write("/k", "v");
  changes.write("/k", std::nullopt);

  EXPECT_THAT(opsOf(changes), IsEmpty());
}

TEST(Changes, WhatIsOnlyExpectedIsCheckedOnce) {
  Changes changes;
  changes.remember("/id", {"d", 3});
  changes.expect("/id");
  changes.expect("/id");

  ASSERT_THAT(opsOf(changes), SizeIs(1));
  EXPECT_EQ(std::get<CheckOp>(opsOf(changes)[0]).version, 3);
}

TEST(Changes, CutBackToAMarkTheyAreAsTheyWereThen) {
  Changes changes;
  changes.remember("/k", {"stored", 1});
  changes.write("/k", "before");
  const std::size_t mark = changes.size();
  changes.write("/k", "after");

  changes.cutTo(mark);
  EXPECT_EQ(changes.at("/k"), "before");
  changes.cutTo(0);
  EXPECT_EQ(changes.at("/k"), "stored");
}

TEST(Paths, EveryNameIsReadAsItWasWrittenAndIsNoPathOfItsOwn) {
  std::string bytes;
  for (int byte = 1; byte < 256; ++byte) bytes.push_back(static_cast<char>(byte));
  for (const std::string& name : {bytes, std::string("../x"), std::string("%2f"), std::string("a,b")}) {
    EXPECT_EQ(decoded(encoded(name)), name);
    EXPECT_EQ(encoded(name).find_first_of("/.,"), std::string::npos);
  }
}

TEST(Paths, LettersSortAsTheirNumbers) {
  const Paths paths("/tenure", "s");

  EXPECT_LT(paths.letter(9), paths.letter(10));
  EXPECT_EQ(Paths::letterNumber("00000000000000000017"), 17);
  EXPECT_EQ(Paths::letterNumber("17"), std::nullopt);
}

}  // namespace
}  // namespace tenure::zookeeper
