#include "election/candidates.hpp"

#include <algorithm>

#include "election/names.hpp"

namespace tenure {
namespace {

std::vector<Candidates::Ranked> inOrder(std::vector<Candidates::Ranked> candidates) {
  std::sort(candidates.begin(), candidates.end(), [](const auto& a, const auto& b) { return a.czxid < b.czxid; });
  return candidates;
}

}  // namespace

void Candidates::list(const std::vector<std::string>& names, const std::string& own) {
  std::map<std::string, Ranked> kept;
  unanswered_.clear();
  foreign_.clear();
  behind_.clear();
  ownListed_ = false;
  for (const std::string& name : names) {
    const std::optional<CandidateUuid> candidate = candidateOf(name);
    if (!candidate) {
      foreign_.push_back(name);
    } else if (name == own) {
      ownListed_ = true;
    } else if (const auto known = known_.find(name); known != known_.end()) {
      kept.insert(*known);
    } else if (lookalikes_.count(name) == 0 && (own.empty() ? *candidate == self_ : !rankedOnce_)) {
      unanswered_.insert(name);
    } else if (rankedOnce_ && lookalikes_.count(name) == 0) {
      behind_.insert(*candidate);
    }
  }
  known_ = std::move(kept);
  rankedOnce_ = rankedOnce_ || (ownListed_ && unanswered_.empty());
}

void Candidates::answer(const std::string& name, const NodeStat* stat) {
  if (unanswered_.erase(name) == 0) return;
  if (stat != nullptr && stat->ephemeralOwner == 0) lookalikes_.insert(name);
  if (stat != nullptr && stat->ephemeralOwner != 0) known_[name] = Ranked{name, stat->czxid, stat->ephemeralOwner};
  rankedOnce_ = rankedOnce_ || (ownListed_ && unanswered_.empty());
}

std::vector<Candidates::Ranked> Candidates::before(std::int64_t czxid) const {
  std::vector<Ranked> found;
  for (const auto& [name, candidate] : known_)
    if (candidate.czxid < czxid) found.push_back(candidate);
  return inOrder(std::move(found));
}

std::vector<Candidates::Ranked> Candidates::ours(const std::string& own) const {
  std::vector<Ranked> found;
  for (const auto& [name, candidate] : known_)
    if (name != own && candidateOf(name) == self_) found.push_back(candidate);
  return inOrder(std::move(found));
}

}  // namespace tenure
