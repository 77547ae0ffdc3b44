#include "election/line.hpp"

#include <algorithm>

#include "base/text.hpp"
#include "election/names.hpp"

namespace tenure {

namespace {

/// Who does not say how ready it is may say so yet.
bool hasSaidSo(const CandidateRecord& record) {
  return mayFollow(record.readiness) && record.readiness != Readiness::unknown;
}

bool mayBePreferred(const StandbyLine::Standing& each) {
  return each.record.preference == Preference::preferred && each.whyNot().empty();
}

}  // namespace

void StandbyLine::list(const std::vector<std::string>& names, const std::string& own, bool anew) {
  std::map<std::string, Standing> kept;
  unanswered_.clear();
  for (const std::string& name : names) {
    if (name == own || !candidateOf(name) || lookalikes_.contains(name)) continue;
    auto known = known_.extract(name);
    if (!known || anew || !hasSaidSo(known.mapped().record)) unanswered_.insert(name);
    if (known) kept.insert(std::move(known));
  }
  known_ = std::move(kept);
}

const StandbyLine::Standing* StandbyLine::answer(const std::string& name, const NodeStat& stat,
                                                 const CandidateRecord& record, BootTime now) {
  if (unanswered_.erase(name) == 0) return nullptr;
  if (stat.ephemeralOwner == 0) {
    lookalikes_.insert(name);
    return nullptr;
  }
  const auto [place, isNew] = known_.try_emplace(name);
  Standing& standing = place->second;
  if (isNew) standing.seen = now;
  standing.name = name;
  standing.uuid = *candidateOf(name);
  standing.czxid = stat.czxid;
  standing.record = record;
  standing.differs = differencesOf(ours_, record.agreement);
  return isNew ? &standing : nullptr;
}

void StandbyLine::vanished(const std::string& name) {
  unanswered_.erase(name);
  known_.erase(name);
}

std::vector<StandbyLine::Standing> StandbyLine::behind(std::int64_t czxid) const {
  std::vector<Standing> found;
  for (const auto& [name, standing] : known_)
    if (standing.czxid > czxid) found.push_back(standing);
  std::sort(found.begin(), found.end(), [](const Standing& a, const Standing& b) { return a.czxid < b.czxid; });
  return found;
}

std::string StandbyLine::Standing::called() const { return record.known ? escaped(record.id.value) : uuid.value; }

StandbyLine::Successor StandbyLine::successor(std::int64_t czxid, const std::optional<CandidateUuid>& to) const {
  Successor nobody;
  if (to) nobody = {{}, true, "it does not stand in line"};
  for (const Standing& each : behind(czxid)) {
    if (to && each.uuid != *to) continue;
    const std::string why = each.whyNot();
    if (why.empty()) return {each.name, false, {}};
    const bool mayCome = each.record.readiness == Readiness::checking && each.differs.empty();
    nobody.mayCome = mayCome || (nobody.mayCome && !to);
    if (to || nobody.why.empty()) nobody.why = to ? why : "nobody in line can follow; " + each.called() + ": " + why;
  }
  return nobody;
}

std::optional<CandidateUuid> StandbyLine::preferred(std::int64_t czxid, BootTime now) const {
  const std::vector<Standing> standing = behind(czxid);
  const auto found = std::find_if(standing.begin(), standing.end(), [now](const Standing& each) {
    return mayBePreferred(each) && now - each.seen >= each.record.preferredAfter;
  });
  return found == standing.end() ? std::nullopt : std::optional(found->uuid);
}

BootTime StandbyLine::preferredAt(std::int64_t czxid) const {
  BootTime earliest = BootTime::max();
  for (const Standing& each : behind(czxid))
    if (mayBePreferred(each)) earliest = std::min(earliest, each.seen + each.record.preferredAfter);
  return earliest;
}

}  // namespace tenure
