#include "cli/output/status_json.hpp"

#include <array>
#include <nlohmann/json.hpp>

#include "base/text.hpp"
#include "cli/output/state_pages.hpp"

namespace tenure::cli {
namespace {

using Json = nlohmann::ordered_json;

/// Null: no candidate waits at the barrier.
Json barrierJson(const ElectionView& view) {
  const CandidateView* waiting = view.waiting();
  if (waiting == nullptr) return nullptr;
  Json out{{"of", nullptr}, {"token", nullptr}};
  if (view.marker.known) out["of"] = view.marker.id.value;
  if (view.marker.known) out["token"] = std::to_string(view.marker.token.value);
  out["waiting"] = waiting->record.id.value;
  out["since"] = formatWallTime(waiting->record.waitsSince);
  out["until"] = formatWallTime(waiting->record.waitsSince + view.marker.barrierLimit);
  out["why"] = whyItWaits(view.marker);
  return out;
}

Json toJson(const CandidateView& candidate, const ElectionView& view) {
  Json out{{"id", nullptr},
           {"token", std::to_string(candidate.czxid)},
           {"uuid", candidate.uuid.value},
           {"host", nullptr},
           {"pid", nullptr},
           {"version", nullptr},
           {"since", nullptr},
           {"preference", nullptr},
           {"readiness", nullptr},
           {"not_ready", nullptr},
           {"ready_since", nullptr},
           {"differs", nullptr},
           {"session", std::to_string(candidate.session)}};
  if (!candidate.record.known) return out;
  out["id"] = candidate.record.id.value;
  out["host"] = candidate.record.process.host;
  out["pid"] = candidate.record.process.pid;
  out["version"] = candidate.record.version;
  out["since"] = formatWallTime(candidate.record.since);
  out["preference"] = toString(candidate.record.preference);
  if (candidate.record.readiness != Readiness::unknown) out["readiness"] = toString(candidate.record.readiness);
  if (candidate.record.readySince != WallTime{}) out["ready_since"] = formatWallTime(candidate.record.readySince);
  if (candidate.record.readiness == Readiness::notReady) out["not_ready"] = candidate.record.whyNot;
  if (const std::string differs = view.differencesOf(candidate); !differs.empty()) out["differs"] = differs;
  return out;
}

Json handoverJson(const HandoverRequest& request) {
  Json out{{"by", request.by}, {"to", nullptr}, {"at", nullptr}, {"until", formatWallTime(request.until)}};
  if (request.to) out["to"] = request.to->value;
  if (request.at != WallTime{}) out["at"] = formatWallTime(request.at);
  return out;
}

Json batonJson(const BatonRecord& baton) {
  constexpr std::array states{"offered", "accepted", "refused", "passed"};
  const bool isRefused = baton.state == BatonRecord::State::refused;
  return {{"state", states.at(static_cast<std::size_t>(baton.state))},
          {"to", baton.znode},
          {"token", std::to_string(baton.czxid)},
          {"at", formatWallTime(baton.since)},
          {"why", isRefused ? Json(baton.whyNot) : Json(nullptr)}};
}

Json pauseIn(const ElectionView& view) {
  const Pause* pause = view.pauseAt(systemClock().wallNow());
  return pause == nullptr ? Json(nullptr) : Json::parse(pauseJson(*pause, view.isAtRest()));
}

Json markerJson(const MarkerRecord& marker, bool between) {
  Json out{{"state", marker.busy ? "busy" : "idle"}, {"known", marker.known}};
  if (!marker.known) return out;
  out["token"] = std::to_string(marker.token.value);
  out["id"] = marker.id.value;
  out["since"] = formatWallTime(marker.since);
  out["barrier_limit_ms"] = marker.barrierLimit.count();
  out["nothing_runs"] = !marker.busy || marker.nothingRuns;
  out["why"] = marker.busy && between ? Json(whyItWaits(marker)) : Json(nullptr);
  return out;
}

}  // namespace

std::string candidateName(const CandidateView& candidate) {
  return candidate.record.known ? candidate.record.id.value : "unknown";
}

const HandoverRequest* openRequest(const ElectionView& view) {
  const bool stands = view.leader() != nullptr && view.request && view.request->until >= systemClock().wallNow();
  return stands ? &*view.request : nullptr;
}

std::int64_t unattended(const ElectionView& view, const std::optional<QueueReport>& report) {
  return report && view.leader() == nullptr ? waitingNow(*report) : 0;
}

std::string statusJson(const ElectionAddress& address, const ElectionView& view,
                       const std::optional<QueueReport>& report, const std::string& replica) {
  Json out{{"election", address.election.value}, {"path", address.path()}};
  out["ensemble"] = view.meta ? Json(view.meta->ensemble.value) : Json(nullptr);
  out["generation"] = view.meta ? Json(view.meta->generation) : Json(nullptr);
  const CandidateView* leader = view.leader();
  out["leader"] = leader != nullptr ? toJson(*leader, view) : Json(nullptr);
  if (leader != nullptr) out["leader"]["since"] = formatWallTime(view.marker.since);
  out["marker"] = markerJson(view.marker, leader == nullptr);
  out["barrier"] = barrierJson(view);
  out["candidates"] = Json::array();
  for (const CandidateView& candidate : view.candidates) out["candidates"].push_back(toJson(candidate, view));
  out["observers"] = Json::array();
  for (const CandidateView& observer : view.observers) out["observers"].push_back(toJson(observer, view));
  out["handover"] = openRequest(view) != nullptr ? handoverJson(*openRequest(view)) : Json(nullptr);
  out["baton"] = view.baton ? batonJson(*view.baton) : Json(nullptr);
  out["paused"] = pauseIn(view);
  out["offenders"] = Json::array();
  for (const OffenderView& offender : view.offenders)
    out["offenders"].push_back({{"child", escaped(offender.child)}, {"reason", offender.reason}});
  out["polluted"] = view.polluted;
  if (report) out["queue"] = Json::parse(reportJson(*report, systemClock().wallNow()));
  if (report) out["blocked_by"] = out["queue"]["blocked"];
  if (report) out["unattended"] = unattended(view, report);
  if (!replica.empty()) out["replica"] = Json::parse(replica);
  return out.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace tenure::cli
