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

// shows: proof/every-fault-list
TEST(Scenarios, EveryTestNamedThereIsInTheTree) {
  const std::set<std::string> there = test::testsInTheTree();
  std::vector<std::string> missing;
  for (const std::string& name : testsNamedIn(faults))
    if (!there.contains(name)) missing.push_back(name);
  EXPECT_THAT(missing, IsEmpty());
}

/// What stands before and after the first scenario that happened elsewhere.
std::pair<std::string, std::string> faultsAndScenarios() {
  const std::string text = test::textOf(faults);
  const std::size_t elsewhere = text.find("\n## What went wrong elsewhere");
  return {text.substr(0, elsewhere), text.substr(elsewhere)};
}

std::vector<std::string> numbersUpTo(int last) {
  std::vector<std::string> all;
  for (int number = 1; number <= last; ++number) all.push_back(std::to_string(number));
  return all;
}

/// "Names.Row01AnElection…" is of row 1, "Consume.Row29And31Bytes…" of two.
std::vector<std::string> rowsOf(const std::string& test) {
  static const std::regex number(R"re((?:Row|And)0?(\d+))re");
  return test.find("Row") == std::string::npos ? std::vector<std::string>{} : test::found(test, number);
}

/// The forty faults and bad inputs are named by number in their tests, and their rows name these.
// shows: proof/every-fault-list
TEST(Rows, EachNamesTheTestsThatCarryItsNumber) {
  static const std::regex line(R"re(\n\| (\d+) \| [^|]+ \| [^|]+ \| [^|]+ \|)re");
  const std::string text = faultsAndScenarios().first;
  std::vector<std::string> missing;
  for (const std::string& test : test::testsInTheTree())
    for (const std::string& row : rowsOf(test)) {
      const std::size_t at = text.find("\n| " + row + " |");
      const std::size_t end = at == std::string::npos ? at : text.find('\n', at + 1);
      if (at == std::string::npos || text.substr(at, end - at).find('`' + test + '`') == std::string::npos)
        missing.push_back(test);
    }

  EXPECT_THAT(missing, IsEmpty());
  EXPECT_EQ(test::found(text, line), numbersUpTo(40));
}

TEST(Scenarios, EachHasOneLineWithATestOrAReason) {
  static const std::regex line(R"re(\n\| (\d+) \| [^|]+ \| [^|]+ \|)re");
  EXPECT_EQ(test::found(faultsAndScenarios().second, line), numbersUpTo(62));
}

}  // namespace
}  // namespace tenure
