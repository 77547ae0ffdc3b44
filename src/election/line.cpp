#include "election/line.hpp"

#include <algorithm>

#include "election/names.hpp"

namespace tenure {

void StandbyLine::list(const std::vector<std::string>& names, const std::string& own) {
  std::map<std::string, Standing> kept;
  unanswered_.clear();
  for (const std::string& name : names) {
    if (name == own || !candidateOf(name) || lookalikes_.contains(name)) continue;
    if (auto known = known_.extract(name))
      kept.insert(std::move(known));
    else
      unanswered_.insert(name);
  }
  known_ = std::move(kept);
}

void StandbyLine::answer(const std::string& name, const NodeStat& stat, const CandidateRecord& record, BootTime now) {
  if (unanswered_.erase(name) == 0) return;
  if (stat.ephemeralOwner == 0) {
    lookalikes_.insert(name);
    return;
  }
  known_[name] = {name, *candidateOf(name), stat.czxid, record.preference, record.preferredAfter, now};
}

std::vector<StandbyLine::Standing> StandbyLine::behind(std::int64_t czxid) const {
  std::vector<Standing> found;
  for (const auto& [name, standing] : known_)
    if (standing.czxid > czxid) found.push_back(standing);
  std::sort(found.begin(), found.end(), [](const Standing& a, const Standing& b) { return a.czxid < b.czxid; });
  return found;
}

std::optional<CandidateUuid> StandbyLine::preferred(std::int64_t czxid, BootTime now) const {
  const std::vector<Standing> standing = behind(czxid);
  const auto found = std::find_if(standing.begin(), standing.end(), [now](const Standing& each) {
    return each.preference == Preference::preferred && now - each.seen >= each.preferredAfter;
  });
  return found == standing.end() ? std::nullopt : std::optional(found->uuid);
}

BootTime StandbyLine::preferredAt(std::int64_t czxid) const {
  BootTime earliest = BootTime::max();
  for (const Standing& each : behind(czxid))
    if (each.preference == Preference::preferred) earliest = std::min(earliest, each.seen + each.preferredAfter);
  return earliest;
}

}  // namespace tenure
