/// docs/promises.md names the tests of each promise, as their tags tell: each row has one, and no page is left out.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include "sources.hpp"
#include "support/documents.hpp"
#include "support/program.hpp"

namespace tenure {
namespace {

using testing::IsEmpty;

const std::string promises = "docs/promises.md";

/// Which tests show what: "// shows: S1, start/each-step", on lines above the test.
std::map<std::string, std::set<std::string>> testsByPromise() {
  static const std::regex tag(R"re(^// shows: (.*)$)re");
  static const std::regex test(R"re(^(?:TEST|TEST_F|TEST_P|TYPED_TEST|TYPED_TEST_P)\(\s*(\w+),\s*(\w+)\))re");
  std::map<std::string, std::set<std::string>> all;
  for (const tidy::SourceFile& file : tidy::filesBelow({"tests", "examples"})) {
    std::vector<std::string> shown;
    for (const std::string& line : file.lines) {
      std::smatch match;
      if (std::regex_match(line, match, tag)) {
        std::istringstream ids(match[1].str());
        for (std::string id; std::getline(ids >> std::ws, id, ',');) shown.push_back(id);
      } else if (std::regex_search(line, match, test)) {
        for (const std::string& id : std::exchange(shown, {}))
          all[id].insert('`' + match[1].str() + '.' + match[2].str() + '`');
      }
    }
  }
  return all;
}

/// "test `NAME`" for entries of ctest, which a row names by hand.
std::vector<std::string> entriesIn(const std::string& cell) {
  static const std::regex entry(R"re((test `\w+`))re");
  return test::found(cell, entry);
}

struct Page {
  std::string text;
  std::set<std::string> ids;
  std::vector<std::string> without;  // no test
};

/// The page as it should be: its rows, with the tests that say that they show them.
Page promisesWithTheirTests() {
  static const std::regex row(R"re(^\| (\S+) \| (.*) \| (.*) \|$)re");
  const auto shown = testsByPromise();
  Page page;
  std::istringstream lines(test::textOf(promises));
  for (std::string line; std::getline(lines, line);) {
    std::smatch match;
    if (!std::regex_match(line, match, row) || match[1] == "id" || match[1] == "---") {
      page.text += line + '\n';
      continue;
    }
    const std::string id = match[1];
    page.ids.insert(id);
    std::vector<std::string> by;
    if (const auto found = shown.find(id); found != shown.end()) by.assign(found->second.begin(), found->second.end());
    for (const std::string& entry : entriesIn(match[3])) by.push_back(entry);
    if (by.empty()) page.without.push_back(id);
    std::string cell;
    for (const std::string& each : by) cell += (cell.empty() ? "" : ", ") + each;
    page.text += "| " + id + " | " + match[2].str() + " | " + cell + " |\n";
  }
  return page;
}

std::set<std::string> entriesOfCtest() {
  static const std::regex entry(R"re(add_test\(NAME (\w+))re");
  std::set<std::string> names;
  for (const auto& file : std::filesystem::recursive_directory_iterator(test::house() / "tests"))
    if (file.path().filename() == "CMakeLists.txt")
      for (const std::string& name : test::found(test::contentsOf(file.path()), entry)) names.insert("test `" + name);
  return names;
}

/// With TENURE_WRITE_PAGES=1 in its environment it writes the page anew.
TEST(Promises, NameTheTestsThatSayThatTheyShowThem) {
  const Page page = promisesWithTheirTests();
  if (std::getenv("TENURE_WRITE_PAGES") != nullptr) std::ofstream(test::house() / promises) << page.text;

  EXPECT_THAT(page.without, IsEmpty());
  EXPECT_TRUE(page.text == test::textOf(promises))
      << promises << " is stale: TENURE_WRITE_PAGES=1 build/release/tidy --gtest_filter='Promises.*'";
  std::vector<std::string> unknown;
  for (const auto& [id, tests] : testsByPromise())
    if (!page.ids.contains(id)) unknown.push_back(id + ", shown by " + *tests.begin());
  EXPECT_THAT(unknown, IsEmpty());
  const std::set<std::string> there = entriesOfCtest();
  for (const std::string& entry : entriesIn(page.text))
    EXPECT_TRUE(there.contains(entry.substr(0, entry.size() - 1))) << entry;
}

TEST(Promises, AreThoseOfTheProtocolAndOfEachPage) {
  const std::string text = test::textOf(promises);
  std::vector<std::string> missing;
  for (const char* number : {"S1", "S2", "S3", "S4", "S5", "S6", "S7", "S9", "L1", "L2", "L3", "L4", "L5", "L6"})
    if (text.find(std::string("\n| ") + number + " | ") == std::string::npos) missing.push_back(number);
  for (const std::string& page : test::pages()) {
    const bool ofDocs = page.rfind("docs/", 0) == 0 && page != promises && page != "docs/faults.md";
    if (ofDocs && text.find('(' + page.substr(5) + ')') == std::string::npos) missing.push_back(page);
  }
  EXPECT_THAT(missing, IsEmpty());
}

}  // namespace
}  // namespace tenure
