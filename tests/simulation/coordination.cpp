#include "coordination.hpp"

#include "election/records.hpp"
#include "simulation.hpp"

namespace tenure::simulation {
namespace {

bool isAcceptance(const std::vector<MultiOp>& ops) {
  for (const MultiOp& op : ops)
    if (const auto* set = std::get_if<SetOp>(&op); set != nullptr && set->path.ends_with("/baton")) {
      const auto record = parseBatonRecord(set->data);
      return record && record->state == BatonRecord::State::accepted;
    }
  return false;
}

}  // namespace

void Coordination::create(std::string path, std::string data, CreateMode mode, Callback<CreatedNode> done) {
  const bool enrols = mode == CreateMode::ephemeralSequential;
  inner_.create(std::move(path), std::move(data), mode, [this, enrols, done](Result<CreatedNode> created) {
    if (enrols && !created && created.error().is(Errc::outcomeUnknown)) process_.enter(Stage::createLost);
    if (created) falsify(created->path, created->stat);
    done(std::move(created));
  });
}

void Coordination::get(std::string path, WatchCallback watch, Callback<Node> done) {
  const bool ofMarker = path.ends_with("/marker");
  inner_.get(path, std::move(watch), [this, path, ofMarker, done](Result<Node> node) {
    if (node) falsify(path, node->stat);
    if (node && ofMarker && mutant_ == Mutant::leaseFromMarker) takeLeaseFrom(*node);
    if (node && ofMarker && mutant_ == Mutant::noBarrier) {
      MarkerRecord marker = parseMarkerRecord(node->data);
      marker.busy = false;
      node->data = toJson(marker);
    }
    done(std::move(node));
  });
}

void Coordination::exists(std::string path, WatchCallback watch, Callback<NodeStat> done) {
  inner_.exists(path, std::move(watch), [this, path, done](Result<NodeStat> stat) {
    if (stat) falsify(path, *stat);
    done(std::move(stat));
  });
}

void Coordination::multi(std::vector<MultiOp> ops, Callback<std::vector<std::string>> done) {
  const bool probes = ops.size() == 1;
  const BootTime sent = loop_.trueNow();
  Simulation& simulation = process_.simulation();
  ops = simulation.batons().broken(mutant_, std::move(ops), simulation.ensemble().tree());
  const bool accepts = isAcceptance(ops);
  inner_.multi(std::move(ops), [this, sent, probes, accepts, done](const Result<std::vector<std::string>>& result) {
    if (result) proven_ = std::max(proven_, sent);
    if (result && accepts) process_.enter(Stage::accepted);
    if (result && probes && mutant_ == Mutant::leaseFromReply) loop_.runBehind(loop_.trueNow() - sent);
    done(result);
  });
}

void Coordination::takeLeaseFrom(const Node& marker) {
  const MarkerRecord record = parseMarkerRecord(marker.data);
  if (!process_.leading() && record.busy && record.candidate == process_.uuid())
    loop_.runBehind(loop_.trueNow() - proven_);
}

void Coordination::falsify(const std::string& path, NodeStat& stat) const {
  if (mutant_ != Mutant::rankBySequence || path.find("/candidates/") == std::string::npos) return;
  stat.czxid = 1 + std::stoll(path.substr(path.rfind('-') + 1));
}

}  // namespace tenure::simulation
