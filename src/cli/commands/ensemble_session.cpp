#include "cli/commands/ensemble_session.hpp"

#include <algorithm>

#include "base/text.hpp"
#include "coordination/zookeeper.hpp"
#include "election/outside/view.hpp"

namespace tenure::cli {

Result<std::unique_ptr<EnsembleSession>> EnsembleSession::connect(const ZooKeeperOptions& options,
                                                                  std::chrono::milliseconds limit) {
  std::unique_ptr<EnsembleSession> session(new EnsembleSession(limit));
  auto coordination = makeZooKeeper(session->loop_, options);
  if (!coordination) return coordination.error();
  session->coordination_ = *std::move(coordination);
  session->coordination_->start(*session);
  session->runUntil([&] { return session->connected_ || session->fatal_; }, BootClock::now() + limit);
  if (session->fatal_) return *session->fatal_;
  if (!session->connected_)
    return Error{Errc::unavailable, "no server of " + escaped(options.hosts) + " answered within " +
                                        formatDuration(limit) + ": " + session->coordination_->whyNotConnected()};
  return session;
}

EnsembleSession::~EnsembleSession() {
  if (!coordination_) return;
  bool closed = false;
  coordination_->close([&closed] { closed = true; });
  runUntil([&] { return closed; }, BootClock::now() + std::chrono::seconds{5});
}

Result<ElectionView> EnsembleSession::view(const ElectionPaths& paths) {
  return ask<ElectionView>([&](ICoordination& coordination, Callback<ElectionView> done) {
    readElection(coordination, paths, std::move(done));
  });
}

Result<std::vector<std::string>> EnsembleSession::electionsUnder(const std::string& root) {
  auto names = ask<std::vector<std::string>>([&](ICoordination& coordination, auto done) {
    coordination.children(ElectionPaths(root, {}).elections, nullptr, std::move(done));
  });
  if (!names && names.error().is(Errc::notFound)) return std::vector<std::string>{};
  if (names) std::ranges::sort(*names);
  return names;
}

Result<NodeStat> EnsembleSession::watch(const std::string& path, const std::shared_ptr<bool>& changed) {
  return ask<NodeStat>([&](ICoordination& coordination, Callback<NodeStat> done) {
    coordination.exists(
        path, [changed](WatchEvent) { *changed = true; }, std::move(done));
  });
}

bool EnsembleSession::runUntil(const std::function<bool()>& condition, BootTime deadline) {
  constexpr std::chrono::milliseconds look{50};
  context_.restart();
  while (!condition()) {
    if (BootClock::now() >= deadline) return false;
    context_.run_one_for(look);
    if (context_.stopped()) context_.restart();
  }
  return true;
}

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
