/// tests/model/README.md says which line of the model is which function: both have to be there.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <regex>
#include <set>
#include <utility>

#include "support/program.hpp"

namespace tenure {
namespace {

namespace fs = std::filesystem;
using testing::IsEmpty;
using testing::SizeIs;

const fs::path root = TENURE_SOURCE_DIR;

using Words = std::set<std::string>;

Words wordsIn(const std::string& text) {
  Words words;
  std::string word;
  for (const char c : text + ' ')
    if (std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_')
      word += c;
    else
      words.insert(std::exchange(word, {}));
  return words;
}

/// Of each file below the folder.
std::vector<Words> wordsBelow(const fs::path& folder) {
  std::vector<Words> all;
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(folder))
    if (entry.is_regular_file() && entry.path().extension() != ".md")
      all.push_back(wordsIn(test::contentsOf(entry.path())));
  return all;
}

bool areInOneOf(const std::vector<Words>& files, const std::vector<std::string>& words) {
  return std::any_of(files.begin(), files.end(), [&](const Words& file) {
    return std::all_of(words.begin(), words.end(), [&](const std::string& word) { return file.contains(word); });
  });
}

struct Row {
  std::string line, functions;
};

/// The rows of the tables whose second column is headed "code".
std::vector<Row> mapping() {
  static const std::regex row(R"re(^\| (.*) \| (.*) \|$)re");
  std::ifstream in(root / "tests/model/README.md");
  std::vector<Row> rows;
  bool within = false;
  for (std::string text; std::getline(in, text);) {
    std::smatch match;
    if (!std::regex_match(text, match, row))
      within = false;
    else if (match[2] == "code")
      within = true;
    else if (within && match[1] != "---")
      rows.push_back({match[1], match[2]});
  }
  return rows;
}

/// What stands between backticks and is a name, "Class::name" as its parts.
std::vector<std::vector<std::string>> namesIn(const std::string& text) {
  static const std::regex name(R"re(`(?:(\w+)::)?(\w+)`)re");
  std::vector<std::vector<std::string>> names;
  for (std::sregex_iterator match(text.begin(), text.end(), name); match != std::sregex_iterator(); ++match) {
    names.emplace_back();
    if ((*match)[1].matched) names.back().push_back((*match)[1]);
    names.back().push_back((*match)[2]);
  }
  return names;
}

TEST(ModelPage, MapsTheWholeOfBothModels) { EXPECT_THAT(mapping(), SizeIs(testing::Ge(20U))); }

TEST(ModelPage, EveryLineNamedThereIsInAModel) {
  const std::vector<Words> models = wordsBelow(root / "tests/model");
  std::vector<std::string> missing;
  for (const Row& row : mapping())
    for (const auto& name : namesIn(row.line))
      if (!areInOneOf(models, name)) missing.push_back(row.line);
  EXPECT_THAT(missing, IsEmpty());
}

// shows: proof/model-holds-broken
TEST(ModelPage, EveryFunctionNamedThereIsInTheSources) {
  std::vector<Words> files;
  for (const char* folder : {"src", "include", "tests/model"})
    for (Words& words : wordsBelow(root / folder)) files.push_back(std::move(words));
  std::vector<std::string> missing;
  for (const Row& row : mapping())
    for (const auto& name : namesIn(row.functions))
      if (!areInOneOf(files, name)) missing.push_back(name.front() + "::" + name.back());
  EXPECT_THAT(missing, IsEmpty());
}

}  // namespace
}  // namespace tenure
