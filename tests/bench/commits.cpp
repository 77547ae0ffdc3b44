#include "bench/commits.hpp"

#include <algorithm>
#include <fstream>
#include <sstream>

namespace tenure::test {
namespace {

constexpr std::streamoff tailLength = 256;  // a few lines

std::vector<Commit> completeLines(std::istream& in) {
  std::vector<Commit> commits;
  for (std::string line; std::getline(in, line) && !in.eof();) {
    Commit commit;
    if (std::istringstream(line) >> commit.at >> commit.token) commits.push_back(commit);
  }
  return commits;
}

}  // namespace

std::vector<Commit> readHistory(const std::filesystem::path& file) {
  std::ifstream in(file);
  return completeLines(in);
}

Commit lastCommit(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::ate);
  if (!in) return {};
  const std::streamoff begin = std::max<std::streamoff>(0, in.tellg() - tailLength);
  in.seekg(begin);
  if (begin > 0) in.ignore(tailLength, '\n');
  const std::vector<Commit> commits = completeLines(in);
  return commits.empty() ? Commit{} : commits.back();
}

}  // namespace tenure::test
