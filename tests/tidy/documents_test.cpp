/// README.md and docs/: what they link to is there, headings too.
#include "support/documents.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "support/program.hpp"

namespace tenure {
namespace {

namespace fs = std::filesystem;
using testing::IsEmpty;

/// "### What ends a command, and what cannot" is linked to as "what-ends-a-command-and-what-cannot".
std::string anchorOf(const std::string& heading) {
  std::string anchor;
  for (const char c : heading.substr(heading.find_first_not_of('#') + 1)) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == ' ') anchor += '-';
    if (c == '-' || c == '_' || std::isalnum(byte) || byte >= 0x80) anchor += static_cast<char>(std::tolower(byte));
  }
  return anchor;
}

std::set<std::string> anchorsIn(const fs::path& page) {
  std::set<std::string> anchors;
  std::istringstream lines(test::contentsOf(page));
  bool code = false;
  for (std::string line; std::getline(lines, line);) {
    if (line.rfind("```", 0) == 0) code = !code;
    if (!code && line.rfind('#', 0) == 0) anchors.insert(anchorOf(line));
  }
  return anchors;
}

bool leadsSomewhere(const std::string& page, const std::string& link) {
  const std::string file = link.substr(0, link.find('#'));
  const fs::path from = test::house() / page;
  const fs::path target = file.empty() ? from : from.parent_path() / file;
  if (!fs::exists(target)) return false;
  return file.size() == link.size() || anchorsIn(target).contains(link.substr(file.size() + 1));
}

TEST(Documents, EachLinkLeadsToAPageAndAHeadingThatAreThere) {
  static const std::regex links(R"re(\]\(([^)\s]+)\))re");
  std::vector<std::string> broken;
  for (const std::string& page : test::pages())
    for (const std::string& link : test::found(test::textOf(page), links))
      if (link.rfind("http", 0) != 0 && !leadsSomewhere(page, link)) broken.push_back(page + ": " + link);
  EXPECT_THAT(broken, IsEmpty());
}

/// What is fenced is shown as it is meant, and can be found by the test that runs it.
// shows: proof/every-command-these
TEST(Documents, EachBlockIsRunOrSaysWhyNot) {
  const std::set<std::string> shown{"text", "ini", "toml"}, run{"sh", "cpp", "test"};
  const std::set<std::string> there = test::testsInTheTree();
  std::vector<std::string> strange;
  for (const std::string& page : test::pages())
    for (const test::Block& block : test::blocksOf(page)) {
      const bool known = shown.contains(block.language) || run.contains(block.language);
      const bool elsewhere = !block.notRun.empty() || there.contains(block.runBy);
      if (block.language.empty() || !(known || elsewhere) || (!block.runBy.empty() && !elsewhere))
        strange.push_back(page + ':' + std::to_string(block.line));
    }
  EXPECT_THAT(strange, IsEmpty());
}

// shows: urls/log-line-time
TEST(Documents, EachEventHasARowInTheReference) {
  static const std::regex event(R"re(TENURE_EVENT\("(\w+)", (\w+)\))re");
  const std::string reference = test::textOf("docs/reference/events.md");
  std::vector<std::string> missing;
  for (const fs::directory_entry& header : fs::recursive_directory_iterator(test::house() / "include")) {
    if (!header.is_regular_file()) continue;
    for (const std::string& found : test::found(test::contentsOf(header.path()), event)) {
      const std::size_t dot = found.find('.');
      const std::string row = "| `" + found.substr(0, dot) + "` | " + found.substr(dot + 1) + " |";
      if (reference.find(row) == std::string::npos) missing.push_back(row);
    }
  }
  EXPECT_THAT(missing, IsEmpty());
}

}  // namespace
}  // namespace tenure
