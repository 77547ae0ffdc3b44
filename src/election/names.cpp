#include "election/names.hpp"

#include <algorithm>

namespace tenure {
namespace {

constexpr std::size_t uuidLength = 32;

bool isUuidDigit(char c) noexcept { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); }

}  // namespace

ElectionPaths::ElectionPaths(std::string_view rootPath, const ElectionName& name)
    : root(rootPath),
      meta(root + "/meta"),
      elections(root + "/elections"),
      election(elections + '/' + name.value),
      candidates(election + "/candidates"),
      observers(election + "/observers"),
      marker(election + "/marker"),
      handover(election + "/handover"),
      baton(election + "/baton"),
      pause(election + "/pause"),
      stuck(election + "/stuck") {}

std::vector<std::string> withAncestors(std::string_view path) {
  std::vector<std::string> paths;
  for (std::size_t end = path.find('/', 1); end != std::string_view::npos; end = path.find('/', end + 1))
    paths.emplace_back(path.substr(0, end));
  paths.emplace_back(path);
  return paths;
}

std::string_view lastPart(std::string_view path) noexcept { return path.substr(path.rfind('/') + 1); }

std::optional<CandidateUuid> candidateOf(std::string_view childName) {
  if (childName.size() <= uuidLength || childName[uuidLength] != '-') return std::nullopt;
  const std::string_view uuid = childName.substr(0, uuidLength);
  if (!std::all_of(uuid.begin(), uuid.end(), isUuidDigit)) return std::nullopt;
  return CandidateUuid{std::string(uuid)};
}

}  // namespace tenure
