// Histories and ledgers as files: what is read back, and how what is wrong with them is named.
#include <fstream>

#include "history/writer.hpp"
#include "story.hpp"
#include "support/program.hpp"

namespace tenure::history {
namespace {

using testing::EndsWith;
using testing::HasSubstr;

class HistoryFiles : public testing::Test {
 protected:
  std::filesystem::path file(const std::string& text) const {
    std::ofstream(folder / "history", std::ios::binary) << text;
    return folder / "history";
  }
  std::string refusalOf(const std::string& text) const { return readHistory(file(text)).error().detail; }

  test::TemporaryFolder folder;
  const std::string good = R"({"at":1,"process":"a","token":"7","event":"ok","op":"commit","id":"m"})"
                           "\n";
};

TEST_F(HistoryFiles, WhatIsWrittenIsReadBack) {
  {
    const Writer writer(folder / "history", "replica-1", "orders");
    writer.write({.token = (std::int64_t{1} << 60) + 1,
                  .stage = Stage::info,
                  .op = Op::commit,
                  .id = "m\n\"1\"",
                  .group = "g",
                  .seq = 3,
                  .outcome = "reply lost"});
  }
  const Line line = readHistory(folder / "history").value().lines.at(0);
  EXPECT_EQ(line.token, (std::int64_t{1} << 60) + 1);
  EXPECT_EQ(line.stage, Stage::info);
  EXPECT_EQ(line.id, "m\n\"1\"");
  EXPECT_EQ(line.seq, 3);
  EXPECT_EQ(line.process, "replica-1");
  EXPECT_GT(line.at, 0);
  EXPECT_EQ(line.incarnation.size(), 32U);
}

TEST_F(HistoryFiles, ARowIsReadBackAsItWasWritten) {
  const Row row{4, "m1", "g", 77, "ab", chainHash("ab", "m1", 77)};
  std::ofstream(folder / "ledger") << format(row) << '\n';
  const Row read = readLedger(folder / "ledger").value().at(0);
  EXPECT_EQ(format(read), format(row));
}

TEST_F(HistoryFiles, ABadLineIsNamedWithItsFileAndNumber) {
  EXPECT_THAT(refusalOf(good + "not json\n"), HasSubstr("/history:2: expected a JSON object, found \"not json\""));
  EXPECT_THAT(refusalOf(good + good + "[1]\n"), HasSubstr("/history:3: "));
}

TEST_F(HistoryFiles, AMissingOrWrongMemberIsNamed) {
  EXPECT_THAT(refusalOf(R"({"process":"a","event":"ok","op":"lead"})"
                        "\n"),
              EndsWith("\"at\" is missing"));
  EXPECT_THAT(refusalOf(R"({"at":1,"process":"a","event":"done","op":"lead"})"
                        "\n"),
              EndsWith("\"event\" is \"done\", expected one of invoke, ok, fail, info"));
  EXPECT_THAT(refusalOf(R"({"at":"soon","process":"a","event":"ok","op":"lead"})"
                        "\n"),
              EndsWith("\"at\" is not a whole number, or one in a string"));
  EXPECT_THAT(refusalOf(R"({"at":1,"process":"a","event":"ok","op":"commit"})"
                        "\n"),
              EndsWith("\"token\" is missing"));
}

TEST_F(HistoryFiles, ATornLastLineDoesNotCount) {
  const ProcessHistory history = readHistory(file(good + R"({"at":2,"proc)")).value();
  EXPECT_EQ(history.lines.size(), 1U);
  EXPECT_TRUE(history.torn);
}

TEST_F(HistoryFiles, ALedgerThatWasCutOffIsRefused) {
  EXPECT_FALSE(readLedger(file(R"({"n":1,"id":"m","token":"1","prev":"","hash":"x"})")));
}

TEST_F(HistoryFiles, AFileThatIsNotThereIsNamed) {
  EXPECT_THAT(readHistory(folder / "absent").error().detail, HasSubstr("absent: cannot be read"));
}

TEST(ChainHash, IsTheFnv1aOfItsPartsWithBarsBetween) {
  EXPECT_EQ(chainHash("", "m1", 7), "d580955b67270328");  // of "|m1|7"
  EXPECT_NE(chainHash("a", "b", 1), chainHash("ab", "", 1));
}

}  // namespace
}  // namespace tenure::history
