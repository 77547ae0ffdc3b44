/// docs/faults.md names tests: those must be there, and no scenario may be left out.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/documents.hpp"

namespace tenure {
namespace {

using testing::IsEmpty;

const std::string faults = "docs/faults.md";

std::vector<std::string> testsNamedIn(const std::string& document) {
  static const std::regex name(R"re(`([A-Z]\w+)\.([A-Z]\w+)`)re");
  return test::found(test::textOf(document), name);
}

TEST(Scenarios, EveryTestNamedThereIsInTheTree) {
  const std::set<std::string> there = test::testsInTheTree();
  std::vector<std::string> missing;
  for (const std::string& name : testsNamedIn(faults))
    if (!there.contains(name)) missing.push_back(name);
  EXPECT_THAT(missing, IsEmpty());
}

/// The forty faults and bad inputs are named by number in their tests.
TEST(Rows, EachHasATestNamedAfterItWhereItsFeatureIsThere) {
  static const std::regex number(R"re((?:Row|And)0?(\d+))re");
  const std::set<int> waiting{35, 38};  // spilled files, and the operators' endpoint
  std::set<int> named;
  for (const std::string& test : test::testsInTheTree())
    if (test.find("Row") != std::string::npos)
      for (const std::string& row : test::found(test, number)) named.insert(std::stoi(row));
  std::set<int> missing;
  for (int row = 1; row <= 40; ++row)
    if (!named.contains(row) && !waiting.contains(row)) missing.insert(row);
  EXPECT_THAT(missing, IsEmpty());
}

TEST(Scenarios, EachHasOneLineWithATestOrAReason) {
  static const std::regex line(R"re(\n\| (\d+) \| [^|]+ \| [^|]+ \|)re");
  std::vector<std::string> expected;
  for (int number = 1; number <= 43; ++number) expected.push_back(std::to_string(number));
  EXPECT_EQ(test::found(test::textOf(faults), line), expected);
}

}  // namespace
}  // namespace tenure
