/// docs/reference/settings.md tells the defaults that the tool has.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <regex>
#include <sstream>

#include "support/documents.hpp"
#include "support/program.hpp"

namespace tenure::test {
namespace {

using testing::IsEmpty;

/// Each option's page: "--drain TIME (Env:TENURE_DRAIN) How long … (default 30s)".
std::map<std::string, std::string> helpOfConsume() {
  TemporaryFolder folder;
  Program tool({TENURE_BINARY_DIR "/tenure", "consume", "--help"}, folder / "help");
  EXPECT_EQ(tool.waitForEnd()->exitCode, 0);
  std::map<std::string, std::string> pages;
  std::istringstream lines(tool.output());
  std::string option;
  for (std::string line; std::getline(lines, line);) {
    if (line.rfind("  --", 0) == 0) option = line.substr(2, line.find_first_of(" ,", 2) - 2);
    if (line.rfind("  ", 0) != 0) option.clear();
    if (!option.empty()) pages[option] += line;
  }
  return pages;
}

/// "1m", "60 s" and "60s" are one, and so are "1,000" and "1000".
std::string plain(const std::string& text) {
  static const std::regex time(R"re(^(\d+) ?(ms|s|m|min|h|d|days)$)re");
  static const std::map<std::string, std::int64_t> milliseconds{
      {"ms", 1},        {"s", 1'000},      {"m", 60'000},       {"min", 60'000},
      {"h", 3'600'000}, {"d", 86'400'000}, {"days", 86'400'000}};
  std::smatch match;
  if (std::regex_match(text, match, time))
    return std::to_string(std::stol(match[1]) * milliseconds.at(match[2])) + "ms";
  return std::regex_replace(text, std::regex("[,`]"), "");
}

TEST(Settings, HaveTheDefaultsThatTheHelpTells) {
  static const std::regex row(R"re(\n\| [^|]+ \| `(--[a-z-]+)` \| ([^|;]+) \|)re");
  static const std::regex byDefault(R"re(\(default ([^)]+)\))re");
  const std::string reference = textOf("docs/reference/settings.md");
  const std::map<std::string, std::string> help = helpOfConsume();
  std::vector<std::string> strange;
  for (std::sregex_iterator match(reference.begin(), reference.end(), row); match != std::sregex_iterator(); ++match) {
    const std::string option = (*match)[1], told = plain((*match)[2]);
    const auto page = help.find(option);
    std::smatch other;
    if (page == help.end())
      strange.push_back(option + " is no option");
    else if (std::regex_search(page->second, other, byDefault) && std::isdigit(told.front()) && plain(other[1]) != told)
      strange.push_back(option + " is " + other[1].str());
  }
  EXPECT_THAT(strange, IsEmpty());
}

}  // namespace
}  // namespace tenure::test
