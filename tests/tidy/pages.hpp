/// The pages of the house, README.md and docs/, and the tests that they name.
#pragma once

#include <filesystem>
#include <regex>
#include <set>
#include <string>
#include <vector>

#include "support/program.hpp"

namespace tenure::tidy {

inline const std::filesystem::path house = TENURE_SOURCE_DIR;

/// The first group of each match, or the first two as "a.b".
inline std::vector<std::string> found(const std::string& text, const std::regex& pattern) {
  std::vector<std::string> all;
  for (std::sregex_iterator match(text.begin(), text.end(), pattern); match != std::sregex_iterator(); ++match)
    all.push_back(match->size() > 2 ? (*match)[1].str() + '.' + (*match)[2].str() : (*match)[1].str());
  return all;
}

inline std::set<std::string> testsInTheTree() {
  static const std::regex definition(R"re(\bTEST(?:_F|_P)?\((\w+),\s*(\w+)\))re");
  std::set<std::string> names;
  for (const std::filesystem::directory_entry& entry : std::filesystem::recursive_directory_iterator(house / "tests"))
    if (entry.path().extension() == ".cpp")
      for (std::string& name : found(test::contentsOf(entry.path()), definition)) names.insert(std::move(name));
  return names;
}

/// Those at the top and those below docs/.
inline std::vector<std::filesystem::path> pages() {
  std::vector<std::filesystem::path> all;
  for (const std::filesystem::directory_entry& entry : std::filesystem::directory_iterator(house))
    if (entry.path().extension() == ".md") all.push_back(entry.path());
  for (const std::filesystem::directory_entry& entry : std::filesystem::recursive_directory_iterator(house / "docs"))
    if (entry.path().extension() == ".md") all.push_back(entry.path());
  return all;
}

}  // namespace tenure::tidy
