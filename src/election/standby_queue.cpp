#include "election/standby_queue.hpp"

#include <algorithm>

#include "base/text.hpp"
#include "election/names.hpp"

namespace tenure {

namespace {

/// A candidate that has not told its readiness may still do so.
bool hasSaidSo(const CandidateRecord& record) {
  return mayFollow(record.readiness) && record.readiness != Readiness::unknown;
}

bool mayBePreferred(const StandbyQueue::StandbyEntry& each) {
  return each.record.preference == Preference::preferred && each.whyNot().empty();
}

/// The leadership can be offered to it.
bool isEligible(const StandbyQueue::StandbyEntry& each) { return each.record.knowsBaton && each.whyNot().empty(); }

}  // namespace

void StandbyQueue::list(const std::vector<std::string>& names, const std::string& own, bool anew) {
  std::map<std::string, StandbyEntry> kept;
  unanswered_.clear();
  for (const std::string& name : names) {
    if (name == own || !candidateOf(name) || lookalikes_.contains(name)) continue;
    auto known = known_.extract(name);
    if (!known || anew || !hasSaidSo(known.mapped().record)) unanswered_.insert(name);
    if (known) kept.insert(std::move(known));
  }
  known_ = std::move(kept);
}

const StandbyQueue::StandbyEntry* StandbyQueue::answer(const std::string& name, const Node& node, BootTime now) {
  if (unanswered_.erase(name) == 0) return nullptr;
  if (node.stat.ephemeralOwner == 0) {
    lookalikes_.insert(name);
    return nullptr;
  }
  const auto [place, isNew] = known_.try_emplace(name);
  StandbyEntry& entry = place->second;
  if (isNew) entry.seen = now;
  entry.name = name;
  entry.uuid = *candidateOf(name);
  entry.czxid = node.stat.czxid;
  entry.data = node.data;
  entry.version = node.stat.version;
  entry.record = parseCandidateRecord(node.data);
  entry.differs = differencesOf(ours_.agreement, entry.record.agreement);
  return isNew ? &entry : nullptr;
}

void StandbyQueue::vanished(const std::string& name) {
  unanswered_.erase(name);
  known_.erase(name);
}

std::vector<StandbyQueue::StandbyEntry> StandbyQueue::behind(std::int64_t czxid) const {
  std::vector<StandbyEntry> found;
  for (const auto& [name, entry] : known_)
    if (entry.czxid > czxid) found.push_back(entry);
  std::sort(found.begin(), found.end(), [](const StandbyEntry& a, const StandbyEntry& b) { return a.czxid < b.czxid; });
  return found;
}

std::string StandbyQueue::StandbyEntry::called() const { return record.known ? escaped(record.id.value) : uuid.value; }

const StandbyQueue::StandbyEntry* StandbyQueue::find(const std::string& name) const {
  const auto found = known_.find(name);
  return found == known_.end() ? nullptr : &found->second;
}

/// The version of the replica that was started last. Older replicas are about to be stopped and would hand over again.
std::string StandbyQueue::newestVersion() const {
  const CandidateRecord* newest = &ours_;
  for (const auto& [name, entry] : known_)
    if (isEligible(entry) && entry.record.started > newest->started) newest = &entry.record;
  return newest->version;
}

StandbyQueue::Successor StandbyQueue::newestSuccessor(std::int64_t czxid) const {
  const std::string newest = newestVersion();
  for (const StandbyEntry& each : behind(czxid))
    if (isEligible(each) && each.record.version == newest) return {each.name, false, {}};
  return successor(czxid, std::nullopt);
}

StandbyQueue::Successor StandbyQueue::successor(std::int64_t czxid, const std::optional<CandidateUuid>& to,
                                                const std::set<std::string>& without) const {
  Successor nobody;
  if (to) nobody = {{}, true, "it does not stand in line"};
  for (const StandbyEntry& each : behind(czxid)) {
    if ((to && each.uuid != *to) || without.contains(each.name)) continue;
    const std::string why = each.whyNot();
    if (why.empty()) return {each.name, false, {}};
    const bool mayCome = each.record.readiness == Readiness::checking && each.differs.empty();
    nobody.mayCome = mayCome || (nobody.mayCome && !to);
    if (to || nobody.why.empty()) nobody.why = to ? why : "nobody in line can follow; " + each.called() + ": " + why;
  }
  return nobody;
}

std::optional<CandidateUuid> StandbyQueue::preferred(std::int64_t czxid, BootTime now) const {
  const std::vector<StandbyEntry> standbys = behind(czxid);
  const auto found = std::find_if(standbys.begin(), standbys.end(), [now](const StandbyEntry& each) {
    return mayBePreferred(each) && now - each.seen >= each.record.preferredAfter;
  });
  return found == standbys.end() ? std::nullopt : std::optional(found->uuid);
}

BootTime StandbyQueue::preferredAt(std::int64_t czxid) const {
  BootTime earliest = BootTime::max();
  for (const StandbyEntry& each : behind(czxid))
    if (mayBePreferred(each)) earliest = std::min(earliest, each.seen + each.record.preferredAfter);
  return earliest;
}

}  // namespace tenure
