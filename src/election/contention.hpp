/// The state that all parts of an election machine share: settings, phase, our candidacy, and of the input that is
/// handled the time and the actions.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "election/election_steps.hpp"
#include "election/names.hpp"
#include "election/records.hpp"

namespace tenure {

struct ElectionMachineSettings {
  ElectionName election;
  std::string root;
  CandidateRecord self;  // the record of each of our candidacies
  CandidateUuid uuid;
  EnsembleUuid freshEnsemble;                               // for a meta that is not there yet
  std::optional<std::chrono::milliseconds> barrierLimit{};  // nullopt: half the negotiated session timeout
  bool spawns = false;                                      // processes that may outlive this one
  bool strictAcl = false;
  bool allowShortSession = false;
  std::string hosts{};
};

enum class ElectionPhase {
  away,           // waits for a session
  preparing,      // makes sure of the election's znodes, reads meta
  settling,       // a quorum write before the search for a lost create
  enrolling,      // create sent
  ranking,        // children listed, their czxids asked for
  standby,        // watches its predecessor
  observing,      // enrolled, and never elected
  readingMarker,  // oldest
  barrier,        // waits for the term before
  marking,        // busy marker sent
  leadership,
  lost,         // term over without our doing; the career is on its way home
  leavingLine,  // its znode is given back, unless the baton was passed to it
  resigning,    // gives its znode back
  yielding,     // its znode is gone: the successor's write goes first
  backingOff,
  closing,
  over,
};

/// A read with a watch, asked anew after a reconnect unless it had been answered.
struct ZnodeWatch {
  Ticket ticket = 0;
  bool answered = false;
};

inline std::chrono::milliseconds inMilliseconds(Duration duration) {
  return std::chrono::duration_cast<std::chrono::milliseconds>(duration);
}

class Contention {
 public:
  /// Our candidacy.
  struct Own {
    std::string path;
    std::string name;
    std::int64_t czxid = 0;
  };

  explicit Contention(ElectionMachineSettings with)
      : settings(std::move(with)), paths(settings.root, settings.election) {}

  Ticket newTicket() noexcept { return ++lastTicket_; }
  FencingToken token() const noexcept { return FencingToken{own ? own->czxid : 0}; }
  bool observes() const noexcept { return settings.self.preference == Preference::never; }
  bool isReady() const noexcept { return settings.self.readiness != Readiness::notReady; }
  /// Where we enrol.
  const std::string& folder() const noexcept { return observes() ? paths.observers : paths.candidates; }
  std::string child(const std::string& name) const { return folder() + '/' + name; }
  template <class T>
  void act(T action) {
    actions.emplace_back(std::move(action));
  }
  template <class Body>
  void tell(Body body, FencingToken term = {}) {
    act(action::Tell{EventBody{std::move(body)}, term});
  }

  ElectionMachineSettings settings;
  const ElectionPaths paths;
  ElectionPhase phase = ElectionPhase::away;
  Now now;
  bool connected = false;
  std::optional<Own> own;
  std::vector<Action> actions;

 private:
  Ticket lastTicket_ = 0;
};

}  // namespace tenure
