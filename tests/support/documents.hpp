/// The pages of the house, README.md and docs/: their blocks of code, and the tests that they name.
///
/// A block is fenced and names its language. What readers do not see, in comments of HTML on lines of their own:
///   <!-- test: SHELL -->       the test of the pages runs this here: it prepares a file, waits, looks at an outcome
///   <!-- not run: WHY -->      the next block is not run
///   <!-- run by: SUITE.TEST -->  another test runs the next block
#pragma once

#include <filesystem>
#include <regex>
#include <set>
#include <string>
#include <vector>

namespace tenure::test {

std::filesystem::path house();

/// Those at the top and those below docs/, as paths relative to the house.
std::vector<std::string> pages();
std::string textOf(const std::string& page);

struct Block {
  std::string language;  // "test" for what only the test runs; empty for what is indented and has none
  std::string text;
  std::size_t line = 0;  // where its text begins
  std::string notRun;    // why
  std::string runBy;     // "Suite.Test"
};
std::vector<Block> blocksOf(const std::string& page);

/// Of the block of SQL that begins so; each without its semicolon.
std::vector<std::string> statementsOf(const std::string& page, const std::string& beginning);

/// The first group of each match, or the first two as "a.b".
std::vector<std::string> found(const std::string& text, const std::regex& pattern);
/// "Suite.Test" of each; of a suite over several values without what its instances add.
std::set<std::string> testsInTheTree();

}  // namespace tenure::test
