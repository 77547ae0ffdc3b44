/// README.md and docs/: what they link to is there, headings too.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "pages.hpp"

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

bool leadsSomewhere(const fs::path& page, const std::string& link) {
  const std::string file = link.substr(0, link.find('#'));
  const fs::path target = file.empty() ? page : page.parent_path() / file;
  if (!fs::exists(target)) return false;
  return file.size() == link.size() || anchorsIn(target).contains(link.substr(file.size() + 1));
}

TEST(Documents, EachLinkLeadsToAPageAndAHeadingThatAreThere) {
  static const std::regex links(R"re(\]\(([^)\s]+)\))re");
  std::vector<std::string> broken;
  for (const fs::path& page : tidy::pages()) {
    const std::string text = test::contentsOf(page);
    for (std::sregex_iterator match(text.begin(), text.end(), links); match != std::sregex_iterator(); ++match)
      if (const std::string link = (*match)[1]; link.rfind("http", 0) != 0 && !leadsSomewhere(page, link))
        broken.push_back(page.lexically_relative(tidy::house).string() + ": " + link);
  }
  EXPECT_THAT(broken, IsEmpty());
}

}  // namespace
}  // namespace tenure
