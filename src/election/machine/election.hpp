/// The shell of the election: performs what ElectionMachine decides on an ICoordination, and feeds the replies back.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>

#include "base/emit.hpp"
#include "base/loop.hpp"
#include "base/random.hpp"
#include "coordination/coordination.hpp"
#include "election/election_steps.hpp"
#include "election/records.hpp"
#include "election/will.hpp"
#include "lease/term_state.hpp"
#include "process/process_identity.hpp"
#include "tenure/candidate.hpp"

namespace tenure {

/// What an election tells its owner, on the loop. From inside these calls the owner may call back.
class IElectionListener {
 public:
  virtual ~IElectionListener() = default;
  /// We lead: enrolled first, barrier passed, busy marker written. Begin the career.
  virtual void onElected(std::shared_ptr<TermState> term) = 0;
  /// The term is over without our doing: its lease is ended and its end reason set. Bring the career home, then call
  /// resign().
  virtual void onTermLost(EndReason reason) = 0;
  /// Whether the election is paused. First called when the read after onElected() is answered; until then the term's
  /// hold is `unread`.
  virtual void onHold(Hold hold) = 0;
  /// The term is to be handed over, which was asked for at `askedAt`.
  virtual void onHandoverRequested(const std::string& by, BootTime askedAt) = 0;
  /// We stand by behind others, once a candidacy.
  virtual void onStandby() = 0;
  /// We are the next to be elected, or no longer; said before onStandby() where both hold. An election says it by
  /// itself, and so may come without.
  virtual void onNextInLine(bool next) = 0;
  /// A leader offers its leadership: it is accepted once the readiness `prepared` is told anew.
  virtual void onOffered() = 0;
  /// leave() has finished.
  virtual void onLeft() = 0;
  /// The election cannot go on: credentials, configuration. Nothing else follows. A present term was lost before,
  /// and this waits for its resign().
  virtual void onFatal(const Error& error) = 0;
};

struct ElectionSettings {
  ElectionName election;
  std::string root;  // absolute
  CandidateId id;
  CandidateUuid uuid;
  Preference preference = Preference::normal;
  std::chrono::milliseconds preferredAfter{60'000};
  Agreement agreement{};
  /// The candidacy's readiness before tellReadiness(). Unknown: it says nothing, and no leader waits for it.
  Readiness readiness = Readiness::unknown;
  /// As in CandidateOptions.
  std::optional<std::chrono::milliseconds> barrierLimit{};
  /// We start processes that may outlive this one.
  bool spawns = false;
  bool strictAcl = false;
  bool allowShortSession = false;
  std::string hosts{};                      // shown to people
  std::string version{};                    // of the program, shown to people
  std::string statusAddress{};              // of its status page, empty for none
  EnsembleUuid freshEnsemble{freshUuid()};  // for a meta that is not there yet
  ProcessIdentity process = thisProcess();
  /// Whether the holder of an earlier term, and all it left running, is gone.
  std::function<Liveness(const ProcessIdentity&)> livenessOf = tenure::livenessOf;
  /// Told, on the loop, whenever that changes which has to be done at once should this process die; nullopt for
  /// nothing. Must not wait.
  std::function<void(const std::optional<Will>&)> bequeath{};
};

/// Threads: the loop's. Once destroyed it calls nothing; unless it has left, the coordination object goes first.
class Election final {
 public:
  /// Borrows loop, coordination and listener.
  Election(ElectionSettings settings, ILoop& loop, ICoordination& coordination, IElectionListener& listener,
           Emitter emit, Random random);
  ~Election();

  /// Connects and contends, for ever.
  void start();
  /// Ends the current term, once its career is home, and enrols again at the back with a new znode, after a backoff
  /// when `failed`. Without a term it does nothing.
  void resign(Resignation how, bool failed);
  /// Brings the leadership to the candidate called `to`, or with that uuid, if `term` leads: onHandoverRequested()
  /// comes when it is next. An id of no candidate that could follow is declined, and that is told as an event.
  void handOver(FencingToken term, const CandidateId& to, const std::string& by);
  /// The same for the first in line who is ready and agrees with us; alone, to ourselves.
  void handOver(FencingToken term, const std::string& by);
  /// Before leave(): offers the leadership as handOver() does. onHandoverRequested() comes when a candidate has
  /// accepted, and after about a second where none has.
  void seekSuccessor(FencingToken term);
  /// The leader of this term cannot work: where a standby accepts, onHandoverRequested() follows.
  void seekRelief(FencingToken term);
  /// Whether our career could begin here, or has begun: our candidacy says so from now on.
  void tellReadiness(Readiness readiness, const std::string& whyNot = {});
  /// The election is paused and nothing is in hand: our candidacy says so until it is resumed.
  void tellRest(FencingToken term);
  /// Deletes what is ours and closes the session; calls onLeft within about three seconds. From standby or after the
  /// career is home; with a present term it resigns that way first.
  void leave(Resignation how);
  /// For the status page and signals: one line about where we stand.
  std::string describe() const;

 private:
  class Impl;
  std::shared_ptr<Impl> impl_;
};

}  // namespace tenure
