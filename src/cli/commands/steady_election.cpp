#include "cli/commands/steady_election.hpp"

#include "base/text.hpp"
#include "election/outside/view.hpp"

namespace tenure::cli {

Result<Meta> readMeta(EnsembleSession& session, const ElectionPaths& paths) {
  const auto node = session.ask<Node>(
      [&](ICoordination& coordination, Callback<Node> done) { coordination.get(paths.meta, {}, std::move(done)); });
  if (!node) return Error{node.error().code, paths.meta + " could not be read: start a replica once, it makes it"};
  const auto record = parseMetaRecord(node->data);
  if (!record) return Error{Errc::configurationRefused, paths.meta + " is damaged"};
  return Meta{*record, node->stat.version};
}

Result<MarkerRecord> lastTermWhereNobodyLeads(EnsembleSession& session, const ElectionPaths& paths) {
  MarkerRecord nobodys;
  nobodys.busy = false;
  const auto view = session.view(paths);
  if (!view) return view.error().is(Errc::notFound) ? Result<MarkerRecord>(nobodys) : view.error();
  const CandidateView* leader = view->leader();
  if (leader != nullptr || !view->candidates.empty())
    return Error{Errc::configurationRefused,
                 escaped((leader != nullptr ? *leader : view->candidates.front()).record.id.value) +
                     (leader != nullptr ? " leads" : " is about to lead") + ": stop all replicas first"};
  return view->marker;
}

}  // namespace tenure::cli
