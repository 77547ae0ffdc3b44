/// A short ZooKeeper session for one command: connect, ask, wait for the answer, close.
#pragma once

#include <boost/asio/io_context.hpp>
#include <functional>
#include <memory>
#include <optional>

#include "base/asio_loop.hpp"
#include "coordination/coordination.hpp"
#include "election/names.hpp"
#include "election/outside/view.hpp"
#include "election/records.hpp"
#include "tenure/candidate.hpp"

namespace tenure::cli {

/// Threads: one; every call waits on it, at most for the limit given to connect().
class EnsembleSession final : private ISessionObserver {
 public:
  /// Errors: unavailable (no server answered within the limit), authenticationFailed, configurationRefused
  static Result<std::unique_ptr<EnsembleSession>> connect(const ZooKeeperOptions& options,
                                                          std::chrono::milliseconds limit = std::chrono::seconds{10});
  ~EnsembleSession() override;

  /// Asks one question and waits for its answer.
  ///
  /// Errors:  timedOut, and the question's own
  template <class T>
  Result<T> ask(const std::function<void(ICoordination&, Callback<T>)>& question);

  /// The leader and the candidates in line.
  /// Errors: as readElection's, and timedOut
  Result<ElectionView> view(const ElectionPaths& paths);
  /// The names of the elections under the root, in their order; none where no candidate has ever entered one.
  Result<std::vector<std::string>> electionsUnder(const std::string& root);
  /// Sets `changed` once the znode, or its being there, has changed.
  Result<NodeStat> watch(const std::string& path, const std::shared_ptr<bool>& changed);

  /// As it was last connected.
  const SessionInfo& info() const noexcept { return info_; }

  /// Runs the loop until `condition` holds; false when `deadline` passes first.
  bool runUntil(const std::function<bool()>& condition, BootTime deadline);

 private:
  explicit EnsembleSession(std::chrono::milliseconds limit) : limit_(limit) {}
  void onConnected(const SessionInfo& session) override {
    info_ = session;
    connected_ = true;
  }
  void onSuspended() override {}
  void onExpired() override {}
  void onFatal(const Error& error) override { fatal_ = error; }

  boost::asio::io_context context_;
  AsioLoop loop_{context_};
  std::unique_ptr<ICoordination> coordination_;
  std::chrono::milliseconds limit_;
  bool connected_ = false;
  SessionInfo info_;
  std::optional<Error> fatal_;
};

template <class T>
Result<T> EnsembleSession::ask(const std::function<void(ICoordination&, Callback<T>)>& question) {
  // Shared with the callback: an answer may come after we have given up.
  const auto answer = std::make_shared<std::optional<Result<T>>>();
  question(*coordination_, [answer](Result<T> result) { answer->emplace(std::move(result)); });
  runUntil([&] { return answer->has_value() || fatal_; }, BootClock::now() + limit_);
  if (answer->has_value()) return **answer;
  return fatal_ ? *fatal_ : Error{Errc::timedOut, "ZooKeeper did not answer"};
}

// Questions to the ensemble before a command changes which election a store obeys.

/// What an ensemble says of itself, and the version under which it said so.
struct Meta {
  MetaRecord record;
  std::int32_t version = 0;
};
Result<Meta> readMeta(EnsembleSession& session, const ElectionPaths& paths);

/// The marker of an election without a leader or candidate; an idle one where the ensemble does not know the election.
/// Errors: configurationRefused (there is one), and the session's
Result<MarkerRecord> lastTermWhereNobodyLeads(EnsembleSession& session, const ElectionPaths& paths);

}  // namespace tenure::cli
