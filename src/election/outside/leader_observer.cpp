#include "election/outside/leader_observer.hpp"

namespace tenure {
namespace {

using namespace std::chrono_literals;
using State = Leadership::State;

constexpr auto pauseAfterFailure = 1s;

Leader leaderOf(const MarkerRecord& marker) {
  return {marker.id, marker.candidate, marker.token, marker.holder, marker.since};
}

}  // namespace

std::string_view toString(Leadership::State state) noexcept {
  switch (state) {
    case State::unknown: return "unknown";
    case State::nobody: return "nobody";
    case State::led: return "led";
    case State::unobservable: return "unobservable";
  }
  return "unknown";
}

LeaderObserver::LeaderObserver(ElectionPaths paths, ICoordination& coordination, ILoop& loop, LeadershipCallback tell)
    : paths_(std::move(paths)), coordination_(coordination), loop_(loop), tell_(std::move(tell)) {}

template <class Function>
auto LeaderObserver::inThisSession(Function function) {
  return [this, alive = alive_, generation = generation_, function = std::move(function)](const auto& heard) {
    if (*alive && generation_ == generation) function(heard);
  };
}

void LeaderObserver::say(const Leadership& leadership) {
  if (said_ == leadership) return;
  said_ = leadership;
  tell_(leadership);
}

void LeaderObserver::onConnected(const SessionInfo& session) {
  if (session.generation != generation_) {
    generation_ = session.generation;
    isLooking_ = false;
    watchesMarker_ = false;
    watchedLeader_.clear();
  }
  look();
}

void LeaderObserver::look() {
  isStale_ = isLooking_;
  if (!std::exchange(isLooking_, true)) readMarker();
}

/// An election that was never entered has no marker; the watch is kept all the same.
void LeaderObserver::readMarker() {
  isStale_ = false;
  const auto read = [this] {
    coordination_.get(paths_.marker, {}, inThisSession([this](const Result<Node>& node) {
                        if (node) return findLeader(parseMarkerRecord(node->data));
                        node.error().is(Errc::notFound) ? found({State::nobody}) : missed(node.error());
                      }));
  };
  if (std::exchange(watchesMarker_, true)) return read();
  const auto changed = inThisSession([this](WatchEvent) {
    watchesMarker_ = false;
    look();
  });
  coordination_.exists(paths_.marker, changed, inThisSession([this, read](const Result<NodeStat>& stat) {
                         if (stat) return read();
                         if (stat.error().is(Errc::notFound)) return found({State::nobody});
                         watchesMarker_ = false;
                         missed(stat.error());
                       }));
}

void LeaderObserver::findLeader(const MarkerRecord& marker) {
  if (!marker.known || !marker.busy || marker.nothingRuns) return found({State::nobody});
  coordination_.children(
      paths_.candidates, {},
      inThisSession([this, leader = leaderOf(marker)](const Result<std::vector<std::string>>& names) {
        if (!names) return missed(names.error());
        for (const std::string& name : *names)
          if (candidateOf(name) == leader.candidate) return watchLeader(paths_.candidate(name), leader);
        found({State::nobody});
      }));
}

/// A candidate has one znode after the other: an older one may be there for a moment yet.
void LeaderObserver::watchLeader(const std::string& znode, const Leader& leader) {
  const auto changed = inThisSession([this, znode](WatchEvent) {
    if (watchedLeader_ == znode) watchedLeader_.clear();
    look();
  });
  const bool isWatched = std::exchange(watchedLeader_, znode) == znode;
  coordination_.exists(znode, isWatched ? WatchCallback{} : WatchCallback(changed),
                       inThisSession([this, leader](const Result<NodeStat>& stat) {
                         if (stat && stat->czxid == leader.token.value) return found({State::led, leader});
                         if (stat || stat.error().is(Errc::notFound)) return found({State::nobody});
                         watchedLeader_.clear();
                         missed(stat.error());
                       }));
}

void LeaderObserver::found(const Leadership& leadership) {
  if (isStale_) return readMarker();
  isLooking_ = false;
  say(leadership);
}

/// A lost connection is reported by the session; any other failure may pass.
void LeaderObserver::missed(const Error&) {
  isLooking_ = false;
  loop_.after(pauseAfterFailure, [this, alive = alive_, generation = generation_] {
    if (*alive && generation == generation_) look();
  });
}

}  // namespace tenure
