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

TEST(Changes, WhatWasTrustedAndOnlyReadIsChecked) {
  Changes changes;
  changes.trust("/position", {"7", 3});
  changes.trust("/counter", {"1", 5});
  changes.write("/counter", "2");

  const std::vector<MultiOp> ops = opsOf(changes);

  ASSERT_THAT(ops, SizeIs(2));
  EXPECT_EQ(std::get<SetOp>(ops[0]).version, 5);
  EXPECT_EQ(std::get<CheckOp>(ops[1]).path, "/position");
}

TEST(Changes, AWriteNeedsNoReadBeforeTheCommit) {
  Changes changes;
  changes.write("/blind", "v");

  EXPECT_THAT(changes.unread(), testing::ElementsAre("/blind"));
  EXPECT_EQ(changes.at("/blind"), "v");

  changes.remember("/blind", {"old", 2});
  EXPECT_THAT(changes.unread(), IsEmpty());
  changes.forEachWritten([](const std::string&, const Cell& cell) { EXPECT_EQ(cell.version, 3); });
}

TEST(Cells, ForgetWhatWasKeptWhenItBecomesTooMuch) {
  Cells cells;
  cells.keep("/a", {"1", 0});
  cells.keep("/a", {"2", 1});
  ASSERT_NE(cells.find("/a"), nullptr);
  EXPECT_EQ(cells.find("/a")->value, "2");

  for (int i = 0; i < 6; ++i) cells.keep("/large" + std::to_string(i), {std::string(1U << 20U, 'x'), 0});

  EXPECT_EQ(cells.find("/a"), nullptr);
  EXPECT_NE(cells.find("/large5"), nullptr);
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
  EXPECT_EQ(Paths::numberFrom("00000000000000000017"), 17);
  EXPECT_EQ(Paths::numberFrom("17"), std::nullopt);
}

}  // namespace
}  // namespace tenure::zookeeper
