/// tests/scenarios.md names tests: those must be there, and no scenario may be left out.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <regex>
#include <set>

#include "support/program.hpp"

namespace tenure {
namespace {

namespace fs = std::filesystem;
using testing::IsEmpty;

const fs::path tests = fs::path(TENURE_SOURCE_DIR) / "tests";

/// The first group of each match, or the first two as "a.b".
std::vector<std::string> found(const std::string& text, const std::regex& pattern) {
  std::vector<std::string> all;
  for (std::sregex_iterator match(text.begin(), text.end(), pattern); match != std::sregex_iterator(); ++match)
    all.push_back(match->size() > 2 ? (*match)[1].str() + '.' + (*match)[2].str() : (*match)[1].str());
  return all;
}

std::set<std::string> testsInTheTree() {
  static const std::regex definition(R"re(\bTEST(?:_F|_P)?\((\w+),\s*(\w+)\))re");
  std::set<std::string> names;
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(tests))
    if (entry.path().extension() == ".cpp")
      for (std::string& name : found(test::contentsOf(entry.path()), definition)) names.insert(std::move(name));
  return names;
}

std::vector<std::string> testsNamedIn(const fs::path& document) {
  static const std::regex name(R"re(`([A-Z]\w+)\.([A-Z]\w+)`)re");
  return found(test::contentsOf(document), name);
}

TEST(Scenarios, EveryTestNamedThereIsInTheTree) {
  const std::set<std::string> there = testsInTheTree();
  std::vector<std::string> missing;
  for (const std::string& name : testsNamedIn(tests / "scenarios.md"))
    if (!there.contains(name)) missing.push_back(name);
  EXPECT_THAT(missing, IsEmpty());
}

/// The forty faults and bad inputs are named by number in their tests.
TEST(Rows, EachHasATestNamedAfterItWhereItsFeatureIsThere) {
  static const std::regex number(R"re((?:Row|And)0?(\d+))re");
  const std::set<int> waiting{35, 38};  // spilled files, and the operators' endpoint
  std::set<int> named;
  for (const std::string& test : testsInTheTree())
    if (test.find("Row") != std::string::npos)
      for (const std::string& row : found(test, number)) named.insert(std::stoi(row));
  std::set<int> missing;
  for (int row = 1; row <= 40; ++row)
    if (!named.contains(row) && !waiting.contains(row)) missing.insert(row);
  EXPECT_THAT(missing, IsEmpty());
}

TEST(Scenarios, EachHasOneLineWithATestOrAReason) {
  static const std::regex line(R"re(\n\| (\d+) \| [^|]+ \| [^|]+ \|)re");
  std::vector<std::string> expected;
  for (int number = 1; number <= 43; ++number) expected.push_back(std::to_string(number));
  EXPECT_EQ(found(test::contentsOf(tests / "scenarios.md"), line), expected);
}

}  // namespace
}  // namespace tenure
