/// The sources of the house, to be read and not compiled.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <regex>
#include <string>
#include <vector>

namespace tenure::tidy {

struct SourceFile {
  std::string path;  // relative to the house, "src/cli/main.cpp"
  std::vector<std::string> lines;
};

inline SourceFile readSource(const std::filesystem::path& path) {
  SourceFile file{std::filesystem::relative(path, TENURE_SOURCE_DIR).string(), {}};
  std::ifstream in(path);
  for (std::string line; std::getline(in, line);) file.lines.push_back(line);
  return file;
}

inline std::vector<SourceFile> filesBelow(const std::vector<std::string>& folders, bool onlyCode = true) {
  std::vector<SourceFile> files;
  for (const std::string& folder : folders) {
    for (const std::filesystem::directory_entry& entry :
         std::filesystem::recursive_directory_iterator(std::filesystem::path(TENURE_SOURCE_DIR) / folder)) {
      const bool code = entry.path().extension() == ".cpp" || entry.path().extension() == ".hpp";
      if (entry.is_regular_file() && (code || !onlyCode)) files.push_back(readSource(entry.path()));
    }
  }
  EXPECT_FALSE(files.empty());
  return files;
}

/// What is between the quotes or angle brackets of each #include.
inline std::vector<std::string> includesOf(const SourceFile& file) {
  static const std::regex pattern(R"re(^\s*#\s*include\s*[<"]([^>"]+)[>"])re");
  std::vector<std::string> includes;
  std::smatch match;
  for (const std::string& line : file.lines)
    if (std::regex_search(line, match, pattern)) includes.push_back(match[1]);
  return includes;
}

}  // namespace tenure::tidy
