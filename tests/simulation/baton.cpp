#include "baton.hpp"

#include <algorithm>

#include "election/records.hpp"

namespace tenure::simulation {
namespace {

SetOp* setOf(std::vector<MultiOp>& write, const std::string& path) {
  for (MultiOp& op : write)
    if (auto* set = std::get_if<SetOp>(&op); set != nullptr && set->path == path) return set;
  return nullptr;
}

}  // namespace

Complaint Batons::look(const ensemble::DataTree& tree) {
  const ensemble::ZNode* node = tree.find(paths_.baton);
  if (node == nullptr || std::exchange(lookedAt_, node->mzxid) == node->mzxid) return std::nullopt;
  const std::optional<BatonRecord> baton = parseBatonRecord(node->data);
  const ensemble::ZNode* candidates = tree.find(paths_.candidates);
  if (!baton || baton->state != BatonRecord::State::passed) return std::nullopt;
  if (!inOrder_.contains(baton->term))
    return "O2: term " + std::to_string(baton->term.value) + " has not ended in order, and passes the baton";
  if (candidates == nullptr || candidates->pzxid > node->mzxid) return std::nullopt;
  std::int64_t first = 0;
  for (const std::string& name : candidates->children)
    if (const auto* one = tree.find(paths_.candidate(name)); candidateOf(name) && (first == 0 || one->czxid < first))
      first = one->czxid;
  if (first == baton->czxid) return std::nullopt;
  return "O1: the baton is passed to candidacy " + std::to_string(baton->czxid) + ", and the first in line is " +
         (first == 0 ? "none" : std::to_string(first));
}

std::vector<MultiOp> Batons::broken(Mutant mutant, std::vector<MultiOp> write, const ensemble::DataTree& tree) const {
  SetOp* baton = setOf(write, paths_.baton);
  const std::optional<BatonRecord> record = baton == nullptr ? std::nullopt : parseBatonRecord(baton->data);
  if (!record || record->state != BatonRecord::State::passed) return write;
  if (mutant == Mutant::batonByName) return byName(std::move(write), tree);
  if (mutant == Mutant::batonUnchecked)
    std::erase_if(write, [&](const MultiOp& op) {
      const auto* check = std::get_if<CheckOp>(&op);
      return check != nullptr && check->path == paths_.candidate(record->znode);
    });
  return write;
}

/// To any candidacy of the replica that has accepted.
std::vector<MultiOp> Batons::byName(std::vector<MultiOp> write, const ensemble::DataTree& tree) const {
  SetOp& baton = *setOf(write, paths_.baton);
  SetOp& marker = *setOf(write, paths_.marker);
  BatonRecord record = *parseBatonRecord(baton.data);
  MarkerRecord holder = parseMarkerRecord(marker.data);
  const ensemble::ZNode* candidates = tree.find(paths_.candidates);
  if (candidates == nullptr || tree.find(paths_.candidate(record.znode)) != nullptr) return write;
  const auto anew = std::ranges::find_if(
      candidates->children, [&](const std::string& name) { return candidateOf(name) == holder.candidate; });
  if (anew == candidates->children.end()) return write;
  for (MultiOp& op : write)
    if (auto* check = std::get_if<CheckOp>(&op); check != nullptr && check->path == paths_.candidate(record.znode))
      check->path = paths_.candidate(*anew);
  record.znode = *anew;
  record.czxid = tree.find(paths_.candidate(*anew))->czxid;
  holder.token = FencingToken{record.czxid};
  baton.data = toJson(record);
  marker.data = toJson(holder);
  return write;
}

}  // namespace tenure::simulation
