/// Writes the manual pages and the completion, or docs/reference, or tells which of its pages are not what the tables
/// give:
///
///     tenure_reference manual FOLDER | markdown FOLDER | check FOLDER
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>

#include "cli/commands/commands.hpp"
#include "cli/output/reference.hpp"
#include "tenure/version.hpp"

namespace {

namespace fs = std::filesystem;
using tenure::cli::Document;

int write(const std::vector<Document>& documents, const fs::path& folder) {
  for (const Document& document : documents) {
    fs::create_directories((folder / document.path).parent_path());
    if (!(std::ofstream(folder / document.path) << document.text).flush()) {
      std::cerr << "cannot write " << folder / document.path << "\n";
      return 1;
    }
  }
  return 0;
}

int check(const std::vector<Document>& documents, const fs::path& folder) {
  int stale = 0;
  for (const Document& document : documents) {
    std::ifstream file(folder / document.path);
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    if (text == document.text) continue;
    std::cerr << (folder / document.path).string() << " is not what the tables in src/cli give\n";
    ++stale;
  }
  if (stale > 0) std::cerr << "write it anew: tenure_reference markdown " << folder.string() << "\n";
  return stale > 0 ? 1 : 0;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string what = argc == 3 ? argv[1] : "";
  const std::vector<tenure::cli::Command> commands = tenure::cli::commands({}, {});
  if (what == "manual") {
    std::vector<Document> pages = tenure::cli::manualPages(commands, TENURE_VERSION);
    pages.push_back(tenure::cli::bashCompletion(commands));
    return write(pages, argv[2]);
  }
  if (what == "markdown") return write(tenure::cli::referencePages(commands), argv[2]);
  if (what == "check") return check(tenure::cli::referencePages(commands), argv[2]);
  std::cerr << "usage: tenure_reference manual FOLDER | markdown FOLDER | check FOLDER\n";
  return 64;
}
