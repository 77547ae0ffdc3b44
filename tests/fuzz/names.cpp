// Names from the command line and from the ensemble: what is accepted is within its limits and safe in a path.
#include "election/names.hpp"

#include "claims.hpp"
#include "coordination/zookeeper_limits.hpp"

using namespace tenure;
using namespace tenure::fuzz;

namespace {

bool isPlain(std::string_view name) {
  return name.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-") ==
         std::string_view::npos;
}

void checkPaths(std::string_view root, const ElectionName& election) {
  const ElectionPaths paths(root, election);
  for (const std::string& path : {paths.meta, paths.candidates, paths.marker, paths.handover})
    require(zookeeper::checkPath(path).has_value(), "an accepted name makes an accepted path", path);
  const std::vector<std::string> ancestors = withAncestors(paths.marker);
  require(ancestors.back() == paths.marker && lastPart(paths.marker) == "marker", "a path ends with itself");
  for (const std::string& ancestor : ancestors) require(ancestor.size() > 1, "the root is nobody's to make", ancestor);
}

void checkIds(std::string_view text) {
  if (const auto id = parseCandidateId(text); isGood(id))
    require(!id->value.empty() && id->value.size() <= 128 && isShowable(id->value), "an id can be shown", text);
  if (const auto id = parseMessageId(text); isGood(id))
    require(!id->value.empty() && id->value.size() <= 255 && id->value == text, "an id is taken as it stands", text);
  if (const auto group = parseGroupId(text); isGood(group))
    require(group->value.size() <= 255 && group->value.find('\0') == std::string::npos, "a group is bounded", text);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (const auto candidate = candidateOf(text))
    require(candidate->value.size() == 32 && text.starts_with(candidate->value + '-'), "a uuid leads the name", text);
  checkIds(text);

  const auto election = parseElectionName(text);
  if (isGood(election)) {
    require(text.size() <= 64 && isPlain(text) && text != "." && text != "..", "a name is plain", text);
    checkPaths("/tenure", *election);
  }
  const auto root = parseRootPath(text);
  if (isGood(root)) {
    require(!text.starts_with("/zookeeper/") && text != "/zookeeper", "the servers' own znodes are left alone", text);
    checkPaths(*root, ElectionName{"orders"});
  }
  return 0;
}
