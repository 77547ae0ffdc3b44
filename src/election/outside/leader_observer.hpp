/// Observes from outside which candidate leads: watches the marker, and the znode of the candidate that it names. The
/// term leads while both are there, and no other candidate's coming or going wakes the observer.
#pragma once

#include <memory>
#include <string>

#include "base/loop.hpp"
#include "coordination/coordination.hpp"
#include "election/names.hpp"
#include "election/records.hpp"
#include "tenure/observer.hpp"

namespace tenure {

/// Threads: the loop's. Borrows coordination and loop.
class LeaderObserver final : public ISessionObserver {
 public:
  LeaderObserver(ElectionPaths paths, ICoordination& coordination, ILoop& loop, LeadershipCallback tell);
  ~LeaderObserver() override { *alive_ = false; }

  void onConnected(const SessionInfo& session) override;
  void onSuspended() override { say({}); }
  void onExpired() override { say({}); }
  void onFatal(const Error& error) override { say({Leadership::State::unobservable, {}, error}); }

 private:
  void look();
  void readMarker();
  void findLeader(const MarkerRecord& marker);
  void watchLeader(const std::string& znode, const Leader& leader);
  void found(const Leadership& leadership);
  /// The leadership cannot be read now.
  void missed(const Error& error);
  /// Wraps a callback: called only while we are there, and the session that was asked lasts.
  template <class Function>
  auto inThisSession(Function function);
  void say(const Leadership& leadership);

  ElectionPaths paths_;
  ICoordination& coordination_;
  ILoop& loop_;
  LeadershipCallback tell_;
  std::optional<Leadership> said_;
  std::uint64_t generation_ = 0;
  bool isLooking_ = false;
  bool isStale_ = false;  // something has changed since the look began
  bool watchesMarker_ = false;
  std::string watchedLeader_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace tenure
