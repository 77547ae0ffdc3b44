// What becomes of a batch: the parts of one multi.
#include "backends/zookeeper/parts.hpp"

#include <gmock/gmock.h>

namespace tenure::zookeeper {
namespace {

using spi::Table;
using spi::Write;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;
using Of = spi::Expected::Of;

const Paths paths("/tenure", "s");
const spi::Name fence{Table::fence, "fence"};
const spi::Name total{Table::state, "total"};

spi::Name lineOf(int number) {
  const std::string digits = std::to_string(number);
  return {Table::log, "mail" + std::string(1, '\0') + std::string(19 - digits.size(), '0') + digits};
}
std::string folderOf(const spi::Name& name) { return paths.folder(name.table, Paths::folderOf(name.text)); }

Write set(const spi::Name& name, const std::string& before, const std::string& after) {
  return {name, {Of::value, before}, after};
}

class PartsTest : public testing::Test {
 protected:
  void know(const spi::Name& name, Cell cell) { known_.lasting.keep(paths.of(name), std::move(cell)); }
  Parts parts(const std::string& own = {}) const { return {paths, known_, writes_, own, trusted_}; }
  std::vector<std::string> unknown() const { return Parts::unknown(paths, known_, writes_); }
  std::vector<MultiOp> ops() const { return parts().takeOps(); }

  Known known_;
  Trusted trusted_;
  std::vector<Write> writes_;
};

TEST_F(PartsTest, WhatIsThereIsSetOrRemovedAtTheVersionThatIsKnownAndWhatIsAbsentIsMade) {
  know(fence, {"7", 4});
  know(total, {"1", 9});
  know({Table::state, "gone"}, {"old", 2});
  know({Table::state, "absent"}, {});
  writes_ = {set(fence, "7", "8"), {total, {}, "2"}, {{Table::state, "gone"}}, {{Table::state, "absent"}, {}, "1"}};

  const std::vector<MultiOp> all = ops();

  EXPECT_THAT(unknown(), IsEmpty());
  ASSERT_THAT(all, SizeIs(4));
  EXPECT_EQ(std::get<SetOp>(all[0]).version, 4);
  EXPECT_EQ(std::get<SetOp>(all[1]).version, 9);
  EXPECT_EQ(std::get<RemoveOp>(all[2]).version, 2);
  EXPECT_EQ(std::get<CreateOp>(all[3]).data, "1");
  EXPECT_EQ(parts().after().at(paths.of(total)).version, 10);
}

TEST_F(PartsTest, TheCandidacyIsCheckedBehindTheFence) {
  know(fence, {"7", 4});
  writes_ = {set(fence, "7", "8"), {{Table::key, "a"}, {Of::absence}, "d"}};

  Parts all = parts("/own");

  EXPECT_EQ(all.writeOf(0), 0U);
  EXPECT_EQ(all.writeOf(1), Parts::candidacy);
  EXPECT_EQ(all.writeOf(2), 1U);
  EXPECT_EQ(std::get<CheckOp>(all.takeOps()[1]).path, "/own");
}

TEST_F(PartsTest, OnlyVersionsHaveToBeKnown) {
  writes_ = {set(fence, "7", "8"), {{Table::key, "a"}, {Of::absence}, "d"}, {total, {}, "2"}};
  know(fence, {"6", 3});

  EXPECT_THAT(unknown(), ElementsAre(paths.of(fence), paths.of(total)));
}

TEST_F(PartsTest, AnotherValueThanTheExpectedOneIsNotMet) {
  know(fence, {"7", 4});
  know(total, {"1", 9});
  writes_ = {set(fence, "7", "8"), set(total, "2", "3")};

  EXPECT_EQ(parts().unmet(), 1U);
}

TEST_F(PartsTest, WhatIsOnlyExpectedIsChecked) {
  know(total, {"1", 9});
  writes_ = {{total, {Of::value, "1"}, std::nullopt, false}, {{Table::state, "k"}, {Of::absence}, std::nullopt, false}};

  const std::vector<MultiOp> all = ops();

  ASSERT_THAT(all, SizeIs(3));
  EXPECT_EQ(std::get<CheckOp>(all[0]).version, 9);
  EXPECT_TRUE(std::holds_alternative<CreateOp>(all[1]) && std::holds_alternative<RemoveOp>(all[2]));
}

TEST_F(PartsTest, WhatWasToldIsCheckedOrWrittenAtTheVersionThatItHadThen) {
  know(total, {"1", 9});
  const std::string position = paths.of({Table::state, "position"});
  trusted_ = {{position, 3}, {paths.of(total), 9}};
  writes_ = {{total, {}, "2"}};

  const std::vector<MultiOp> all = ops();
  ASSERT_THAT(all, SizeIs(2));
  EXPECT_EQ(std::get<CheckOp>(all[1]).path, position);
  EXPECT_EQ(parts().writeOf(1), writes_.size());

  know(total, {"of a stranger", 10});
  EXPECT_EQ(parts().unmet(), 0U) << "read anew since";
}

TEST_F(PartsTest, AFolderComesWithTheFirstOfItsNames) {
  writes_ = {{lineOf(1), {Of::absence}, "a"}, {lineOf(2), {Of::absence}, "b"}};
  ASSERT_THAT(unknown(), ElementsAre(folderOf(lineOf(1))));
  known_.renew(folderOf(lineOf(1)), {});

  const std::vector<MultiOp> all = ops();

  ASSERT_THAT(all, SizeIs(3));
  EXPECT_EQ(std::get<CreateOp>(all[0]).path, folderOf(lineOf(1)));
  known_.renew(folderOf(lineOf(1)), {""});
  EXPECT_THAT(ops(), SizeIs(2));
}

TEST_F(PartsTest, AFolderOfTheLogGoesWithTheLastOfItsNames) {
  for (const int number : {1, 2}) know(lineOf(number), {"a", 0});
  writes_ = {{lineOf(1)}, {lineOf(2)}};
  EXPECT_THAT(unknown(), ElementsAre(folderOf(lineOf(1)))) << "how many are left";

  known_.renew(folderOf(lineOf(1)), {"", 0, 3});
  EXPECT_THAT(ops(), SizeIs(2));
  known_.renew(folderOf(lineOf(1)), {"", 0, 2});
  EXPECT_EQ(std::get<RemoveOp>(ops().back()).path, folderOf(lineOf(1)));
  writes_.push_back({lineOf(3), {Of::absence}, "rest"});
  EXPECT_THAT(ops(), SizeIs(3)) << "one comes";
}

TEST(Cells, ForgetAllWhenItHasBecomeTooMuch) {
  Cells cells;
  cells.keep("/a", {"1", 0});
  cells.keep("/a", {"2", 1});
  EXPECT_EQ(cells.find("/a")->value, "2");
  for (int i = 0; i < 6; ++i) cells.keep("/large" + std::to_string(i), {std::string(1U << 20U, 'x'), 0});
  EXPECT_NE(cells.find("/a"), nullptr) << "as long as somebody is at work with it";

  cells.trim();

  EXPECT_EQ(cells.find("/a"), nullptr);
}

TEST(ZooKeeperPaths, EveryTextIsReadAsItWasWrittenAndIsNoPathOfItsOwn) {
  std::string bytes;
  for (int byte = 0; byte < 256; ++byte) bytes.push_back(static_cast<char>(byte));
  for (const std::string& text : {bytes, std::string("../x"), std::string("%2f"), std::string("a,b")}) {
    EXPECT_EQ(decoded(encoded(text)), text);
    EXPECT_EQ(encoded(text).find_first_of("/."), std::string::npos);
  }
}

TEST(ZooKeeperPaths, AThousandNumbersAreInAFolder) {
  EXPECT_EQ(folderOf(lineOf(1000)), folderOf(lineOf(1999)));
  EXPECT_NE(folderOf(lineOf(999)), folderOf(lineOf(1000)));
  EXPECT_EQ(paths.of(lineOf(17)), "/tenure/stores/s/log/mail,0000000000000000/mail,0000000000000000017");
}

}  // namespace
}  // namespace tenure::zookeeper
