/// docs/promises.md names the tests of each promise: those must be there, each row has one, and no page is left out.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "support/documents.hpp"
#include "support/program.hpp"

namespace tenure {
namespace {

using testing::IsEmpty;
using testing::Not;

const std::string promises = "docs/promises.md";

struct Promise {
  std::string text;
  std::string shownBy;
};

std::vector<Promise> allPromises() {
  static const std::regex row(R"re(^\| (.*) \| (.*) \|$)re");
  std::vector<Promise> all;
  std::istringstream lines(test::textOf(promises));
  std::smatch match;
  for (std::string line; std::getline(lines, line);)
    if (std::regex_match(line, match, row) && match[1] != "promise" && match[1] != "---")
      all.push_back({match[1], match[2]});
  return all;
}

/// "Suite.Test" of GoogleTest, and "test NAME" for an entry of ctest.
std::vector<std::string> testsNamedBy(const Promise& promise) {
  static const std::regex inSuite(R"re(`([A-Z]\w+)\.([A-Z]\w+)`)re"), entry(R"re((test `\w+)`)re");
  std::vector<std::string> names = test::found(promise.shownBy, inSuite);
  for (const std::string& name : test::found(promise.shownBy, entry)) names.push_back(name);
  return names;
}

std::set<std::string> entriesOfCtest() {
  static const std::regex entry(R"re(add_test\(NAME (\w+))re");
  std::set<std::string> names;
  for (const auto& file : std::filesystem::recursive_directory_iterator(test::house() / "tests"))
    if (file.path().filename() == "CMakeLists.txt")
      for (const std::string& name : test::found(test::contentsOf(file.path()), entry)) names.insert("test `" + name);
  return names;
}

TEST(Promises, EachNamesTestsThatAreThere) {
  std::set<std::string> there = test::testsInTheTree();
  there.merge(entriesOfCtest());
  std::vector<std::string> missing, without;
  for (const Promise& promise : allPromises()) {
    const std::vector<std::string> names = testsNamedBy(promise);
    if (names.empty()) without.push_back(promise.text);
    for (const std::string& name : names)
      if (!there.contains(name)) missing.push_back(name);
  }
  EXPECT_THAT(missing, IsEmpty());
  EXPECT_THAT(without, IsEmpty());
}

TEST(Promises, AreThoseOfTheProtocolAndOfEachPage) {
  const std::string text = test::textOf(promises);
  std::vector<std::string> missing;
  for (const char* number : {"S1", "S2", "S3", "S4", "S5", "S6", "S7", "S9", "L1", "L2", "L3", "L4", "L5", "L6"})
    if (text.find(std::string("\n| ") + number + ": ") == std::string::npos) missing.push_back(number);
  for (const std::string& page : test::pages()) {
    const bool ofDocs = page.rfind("docs/", 0) == 0 && page != promises && page != "docs/faults.md";
    if (ofDocs && text.find('(' + page.substr(5) + ')') == std::string::npos) missing.push_back(page);
  }
  EXPECT_THAT(missing, IsEmpty());
  EXPECT_THAT(allPromises(), Not(IsEmpty()));
}

}  // namespace
}  // namespace tenure
