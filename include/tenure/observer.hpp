/// Tells any process who leads an election, at each change: for gateways that send requests to the leader, for pages
/// that show it. An observer does not contend, and needs no more than the right to read.
///
/// An observation is no evidence: by the time somebody acts on it, another replica may lead. Where an effect must not
/// happen twice, send the token along, and let the store's fence decide.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string_view>

#include "tenure/candidate.hpp"
#include "tenure/term.hpp"

namespace tenure {

/// The present term, as its leader has written it down.
struct Leader {
  CandidateId id;
  CandidateUuid candidate;
  FencingToken token;
  ProcessIdentity process;
  WallTime since{};  // by the leader's calendar clock
  friend bool operator==(const Leader&, const Leader&) = default;
};

struct Leadership {
  enum class State {
    unknown,  // the ensemble is not reached: the last leader may lead still
    nobody,   // between terms, or before the first candidate
    led,
    unobservable,  // `failure` says why, and nothing more will come
  } state = State::unknown;
  std::optional<Leader> leader{};  // when led
  Error failure{};
  friend bool operator==(const Leadership& one, const Leadership& other) {
    return one.state == other.state && one.leader == other.leader && one.failure.code == other.failure.code;
  }
};
std::string_view toString(Leadership::State state) noexcept;

/// Threads: any. Destroyed, it calls nothing any more; not from its own callback.
class IObservation {
 public:
  virtual ~IObservation() = default;
  /// As it was last told.
  virtual Leadership now() const = 0;
};

/// Told at each change, first of what is found. Threads: the observation's own, one call at a time; must not block for
/// long, or the session ends.
using LeadershipCallback = std::function<void(const Leadership&)>;

/// Observes until it is destroyed; connects again for ever.
/// Errors: invalidArgument, configurationRefused.
Result<std::unique_ptr<IObservation>> observe(const ZooKeeperOptions& zookeeper, const ElectionName& election,
                                              LeadershipCallback onChange, const std::string& root = "/tenure");

}  // namespace tenure
