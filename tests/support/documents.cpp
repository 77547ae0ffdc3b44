#include "support/documents.hpp"

#include <algorithm>
#include <sstream>
#include <utility>

#include "support/program.hpp"

namespace tenure::test {

namespace fs = std::filesystem;

fs::path house() { return TENURE_SOURCE_DIR; }

std::vector<std::string> pages() {
  std::vector<std::string> all;
  for (const fs::directory_entry& entry : fs::directory_iterator(house()))
    if (entry.path().extension() == ".md") all.push_back(entry.path().filename());
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(house() / "docs"))
    if (entry.path().extension() == ".md") all.push_back(entry.path().lexically_relative(house()));
  std::sort(all.begin(), all.end());
  return all;
}

std::string textOf(const std::string& page) { return contentsOf(house() / page); }

namespace {

class BlockReader {
 public:
  void read(const std::string& line) {
    ++number_;
    if (!until_.empty())
      inside(line);
    else if (line.rfind("```", 0) == 0)
      begin(line.substr(3), "```");
    else if (line.rfind("<!-- ", 0) == 0)
      comment(line.substr(5));
    else if (line.rfind("    ", 0) == 0 && blank_)
      blocks_.push_back({"", line, number_, "", ""});
    blank_ = line.empty();
  }
  std::vector<Block> take() { return std::move(blocks_); }

 private:
  void begin(const std::string& language, const std::string& until) {
    block_ = {language, "", number_ + 1, std::exchange(notRun_, ""), std::exchange(runBy_, "")};
    until_ = until;
  }
  void inside(const std::string& line) {
    const bool over = line == until_;
    if (!over) block_.text += line + '\n';
    if (over) blocks_.push_back(std::exchange(block_, {}));
    if (over) until_.clear();
  }
  /// What follows "<!-- ".
  void comment(const std::string& text) {
    const std::string whole = text.substr(0, text.rfind(" -->"));
    if (text == "test:") begin("test", "-->");
    if (text.rfind("test: ", 0) == 0) blocks_.push_back({"test", whole.substr(6) + '\n', number_, "", ""});
    if (text.rfind("not run: ", 0) == 0) notRun_ = whole.substr(9);
    if (text.rfind("run by: ", 0) == 0) runBy_ = whole.substr(8);
  }

  std::vector<Block> blocks_;
  Block block_;
  std::string until_, notRun_, runBy_;
  std::size_t number_ = 0;
  bool blank_ = true;
};

}  // namespace

std::vector<Block> blocksOf(const std::string& page) {
  std::istringstream lines(textOf(page));
  BlockReader reader;
  for (std::string line; std::getline(lines, line);) reader.read(line);
  return reader.take();
}

std::vector<std::string> statementsOf(const std::string& page, const std::string& beginning) {
  std::vector<std::string> statements;
  for (const Block& block : blocksOf(page)) {
    if (block.language != "sql" || block.text.rfind(beginning, 0) != 0) continue;
    std::istringstream text(block.text);
    for (std::string sql; std::getline(text, sql, ';');)
      if (sql.find_first_not_of('\n') != std::string::npos) statements.push_back(sql);
  }
  return statements;
}

std::vector<std::string> found(const std::string& text, const std::regex& pattern) {
  std::vector<std::string> all;
  for (std::sregex_iterator match(text.begin(), text.end(), pattern); match != std::sregex_iterator(); ++match)
    all.push_back(match->size() > 2 ? (*match)[1].str() + '.' + (*match)[2].str() : (*match)[1].str());
  return all;
}

std::set<std::string> testsInTheTree() {
  static const std::regex definition(R"re(\bTEST(?:_F|_P)?\((\w+),\s*(\w+)\))re");
  std::set<std::string> names;
  for (const char* folder : {"tests", "examples"})
    for (const fs::directory_entry& entry : fs::recursive_directory_iterator(house() / folder))
      if (entry.path().extension() == ".cpp")
        for (std::string& name : found(contentsOf(entry.path()), definition)) names.insert(std::move(name));
  return names;
}

}  // namespace tenure::test
