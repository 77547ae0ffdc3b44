/// Decides how one replica contends in one election: for ever, one candidacy after the other.
///
///            ┌────────────────────────── backing off / resigning ◄──────────────────┐
///            ▼                                                                      │
///     away ─► preparing ─► enrolling ─► ranking ─► standby ─► reading marker ─► marking ─► office
///               (znodes,     │   ▲       │   ▲       │            │   ▲            │         │
///                meta)       ▼   │       │   └───────┘            ▼   │            │         ▼
///                           settling     └──── oldest? ───────►  barrier ──────────┘        lost
///                        (reply lost)
///
/// - One candidacy is one znode, ranked by its czxid, which becomes the term's token. A create whose reply was lost is
///   looked for by uuid after a quorum write, and adopted only if this session owns it and it never served before.
/// - The oldest candidate reads the marker, waits for the barrier, and takes office with one write that checks its own
///   znode and the marker's version: that write is the proof, its send time the first confirmation of the lease.
/// - Out of office it reads something every sixth of the session timeout, so that its session is known to be fresh when
///   it is elected. If it is not, after a silence, it waits until it is: a quarter of the timeout after an answer.
/// - In office a probe goes out every sixth of the session timeout, one at a time. Whatever says that the znode is gone
///   ends the term at once; silence ends it at the lease's hard limit. A reconnect restores nothing.
/// - The leader alone heeds requests to hand over. The office goes to the one it is meant for, or to the first who is
///   ready and agrees with us: those between are sent to the back, and the leader leaves when the target is next. It
///   also looks for candidates that are preferred, and tells whose settings differ.
/// - While the election is paused its leader leads on, and begins no work; it has read whether that is so before it
///   begins any.
/// - Each candidacy says whether its career is ready. A candidate that is next, or oldest, and is not ready goes to the
///   back when somebody behind it is.
/// - A candidate that cannot go on gets out of the way (its znode is deleted), says why, and comes back after a
/// backoff.
///   Only refused credentials or settings end the contending.
/// - An observer enrols in a folder of its own and stays there.
///
/// Pure: one input in, a list of actions out. No clock, no I/O; the randomness of its backoff is seeded.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/backoff.hpp"
#include "election/barrier.hpp"
#include "election/candidates.hpp"
#include "election/election_steps.hpp"
#include "election/line.hpp"
#include "election/names.hpp"
#include "election/records.hpp"
#include "fencing/lease.hpp"
#include "fencing/session_touches.hpp"

namespace tenure {

struct ElectionMachineSettings {
  ElectionName election;
  std::string root;
  CandidateRecord self;  // what our candidacies say
  CandidateUuid uuid;
  EnsembleUuid freshEnsemble;                               // for a meta that is not there yet
  std::optional<std::chrono::milliseconds> barrierLimit{};  // nullopt: half the negotiated session timeout
  bool spawns = false;                                      // processes that may outlive this one
  bool strictAcl = false;
  bool allowShortSession = false;
  std::string hosts{};
};

class ElectionMachine {
 public:
  enum class Phase {
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
    office,
    lost,       // term over without our doing; the career is on its way home
    resigning,  // gives its znode back
    backingOff,
    closing,
    over,
  };

  ElectionMachine(ElectionMachineSettings settings, Random random);

  std::vector<Action> on(const Input& input, const Moment& now);
  /// When it wants a Tick, at the latest.
  std::optional<BootTime> wakeAt() const;

  Phase phase() const noexcept { return phase_; }
  /// For people: where we stand.
  std::string describe() const;

 private:
  static std::chrono::milliseconds inMilliseconds(Duration duration) {
    return std::chrono::duration_cast<std::chrono::milliseconds>(duration);
  }

  struct Own {
    std::string path;
    std::string name;
    std::int64_t czxid = 0;
  };
  /// Whom the office is meant for, and since when.
  struct Wish {
    HandoverRequest request;
    bool written = false;    // in the znode, where it can be taken back
    bool wayMade = false;    // the candidates between were sent back once
    std::string waitsFor{};  // somebody who may come
    int looks = 0;           // for that one
  };
  /// A read with a watch, asked anew after a reconnect unless it had been answered.
  struct Watch {
    Ticket ticket = 0;
    bool answered = false;
  };

  // election_machine.cpp: session, time, requests
  void handle(const input::Connected& in);
  void handle(const input::Suspended& in);
  void handle(const input::Expired& in);
  void handle(const input::Refused& in);
  void handle(const input::NodeRead& in);
  void handle(const input::Written& in);
  void handle(const input::Changed& in);
  void handle(const input::Tick& in);
  void handle(const input::LeaveAsked& in);
  void handle(const input::Closed& in);
  void sessionGone(EndReason reason);
  void resume();
  void begin();
  void newCandidacy(Duration delay);
  void loseCandidacy(EndReason reason, const std::string& why);
  void endTerm(EndReason reason);
  void checkLease();
  void pause();
  Duration drawBackoff();
  void fail(const Error& error);
  void fatal(const Error& error);
  void close();
  void dropTickets();
  bool pausedBy(const Error& error);

  // election_candidacy.cpp: from preparing to standby
  void handle(const input::Ensured& in);
  void handle(const input::AclChecked& in);
  void handle(const input::Enrolment& in);
  void handle(const input::Listed& in);
  void handle(const input::Statted& in);
  void prepare();
  void prepareNext();
  void away(Duration patience);
  void tellAbsence();
  void metaRead(const Result<Node>& node);
  void metaSeen(const Result<Node>& node);
  void proceed();
  void enrol();
  void settle();
  void settled(const Result<void>& result);
  void enrolled(const std::string& path, const NodeStat& stat, bool foundAgain);
  void watchOwn();
  void ownRead(const Result<Node>& node);
  void rank();
  void decide();
  void search();
  void standBy(const std::vector<Candidates::Ranked>& ahead);
  void watchPredecessor();
  void observe();
  void tellNext(bool next);
  void predecessorRead(const Result<Node>& node);
  void parentGone();
  void reportForeigners();
  void reportForeigner(const std::string& child, const char* reason);

  // election_office.cpp: from winning to resigning
  void handle(const input::LivenessTold& in);
  void handle(const input::ResignAsked& in);
  void lookAtMarker();
  void readMarker();
  void useMarker();
  void markerRead(const Result<Node>& node);
  void judgeBarrier();
  void tellBarrierBegan();
  void visit();
  void visited(const Result<Node>& node);
  BootTime visitDue() const noexcept { return visitedAt_ + touches_.interval(); }
  void mark();
  void marked(BootTime sentAt, const Result<void>& result);
  std::optional<ProcessIdentity> uncleanPredecessor() const;
  std::chrono::milliseconds idleBefore() const;
  void takeOffice(BootTime confirmedAt);
  MarkerRecord ownMarker(bool busy, HolderFate fate = HolderFate::untold) const;
  void probe();
  void probed(BootTime sentAt, const Result<void>& result);
  void resign(Resignation how, bool failed);
  void writeResignation(const MarkerRecord& marker);
  std::vector<MultiOp> resignation(const MarkerRecord& marker) const;
  MarkerRecord overMarker(std::string why, HolderFate fate) const;
  void lookAtOurLast();
  void ourLastRead(const Result<Node>& node);
  void reported(const Result<void>& result);
  void bequeath();
  void sendResignation();
  void resigned(const Result<void>& result);
  void finishResignation();

  /// What is told of our will, without the secrets.
  struct Bequest {
    std::uint64_t generation = 0;
    std::int64_t session = 0;
    std::string server;
    std::string resigns;  // the znode, empty when only the session is to be closed
    LostTerms lost;
    friend bool operator==(const Bequest&, const Bequest&) = default;
  };
  std::optional<Bequest> bequest() const;
  void findLostTerms();

  // election_steering.cpp: who follows
  void handle(const input::HandoverWanted& in);
  void handOverTo(const StandbyLine::Successor& successor);
  void watchHandover();
  void handoverRead(const Result<Node>& node);
  void pursue(Wish wish);
  void steer();
  std::optional<BootTime> steerAt() const;
  void honour();
  void decline(const std::string& why);
  void makeWay(const std::string& target);
  Duration lookInterval() const;
  bool looksBack() const noexcept;
  void lookAtLine();
  void lineListed(const Result<std::vector<std::string>>& names);
  void standbyRead(const std::string& name, const Result<Node>& node);
  void standbyStatted(const std::string& name, const Result<NodeStat>& stat);
  void lineSeen();
  void lineLost();

  // election_pause.cpp: whether work may begin
  void handle(const input::RestTold& in);
  void watchPause();
  void pauseRead(const Result<Node>& node);
  void pauseEnsured(const Result<void>& result);
  void pauseLookFailed(const Error& error);
  void heed(std::optional<Pause> pause);
  void lookAtPauseAgain();
  std::optional<BootTime> pauseAt() const;

  // election_readiness.cpp: what our candidacy says, and what others make of it
  void handle(const input::ReadinessTold& in);
  void publish();
  void published(const Result<void>& result);
  void forgetTerm();
  bool isReady() const noexcept { return settings_.self.readiness != Readiness::notReady; }
  bool letsPass() const noexcept;
  void lookBehind();
  void letPass();
  void lookAtLeader(const std::string& name);
  void leaderRead(const Result<Node>& node);

  Ticket newTicket() noexcept { return ++lastTicket_; }
  Ticket ask() noexcept { return flow_ = newTicket(); }
  FencingToken token() const noexcept { return FencingToken{own_ ? own_->czxid : 0}; }
  bool observes() const noexcept { return settings_.self.preference == Preference::never; }
  /// Where we enrol.
  const std::string& folder() const noexcept { return observes() ? paths_.observers : paths_.candidates; }
  std::string child(const std::string& name) const { return folder() + '/' + name; }
  bool probing() const noexcept { return phase_ == Phase::barrier || phase_ == Phase::office; }
  bool visiting() const noexcept {
    return connected_ && !probing() && !observes() && phase_ != Phase::closing && phase_ != Phase::over;
  }
  template <class T>
  void act(T action) {
    actions_.emplace_back(std::move(action));
  }
  template <class Body>
  void tell(Body body, FencingToken term = {}) {
    act(action::Tell{EventBody{std::move(body)}, term});
  }

  ElectionMachineSettings settings_;
  ElectionPaths paths_;
  Phase phase_ = Phase::away;
  Moment now_;
  std::vector<Action> actions_;
  Ticket lastTicket_ = 0;

  std::optional<SessionInfo> session_;
  bool connected_ = false;
  SessionTouches touches_;
  std::optional<BootTime> awaySince_;  // without a connection
  BootTime awayDue_{};                 // when to say so next

  std::vector<Action> preparation_;  // still to be done, last one first
  bool prepared_ = false;
  MetaRecord meta_;
  std::int32_t metaVersion_ = 0;
  Ticket metaLook_ = 0;  // a look at it before taking office

  std::optional<Own> own_;
  Candidates candidates_;
  std::int64_t lastCzxid_ = 0;  // of our newest candidacy: what is not newer is never adopted
  std::string lastPath_;
  bool mustSearch_ = false;  // something of ours may be there without our knowing
  std::string predecessor_;
  std::size_t ahead_ = 0;
  bool next_ = false;    // as told
  bool stands_ = false;  // as told
  std::string leader_;   // whose settings were compared with ours
  Ticket leaderLook_ = 0;
  std::optional<CandidateRecord> said_;  // by our znode
  CandidateRecord saying_;
  Ticket publication_ = 0;

  Barrier barrier_;
  LostTerms lost_;                    // as of the term that begins
  std::vector<FencingToken> served_;  // the newest terms of this very process, which lives
  BootTime barrierTold_{};            // the one whose beginning was told last
  BootTime barrierEndTold_{};         // and whose end
  std::int32_t markerVersion_ = 0;
  std::optional<Lease> lease_;
  bool softLimitTold_ = false;
  bool handoverHonoured_ = false;
  std::optional<Wish> wish_;
  StandbyLine line_;
  Ticket lineLook_ = 0;
  std::map<Ticket, std::string> lineReads_;
  BootTime lookDue_{};

  Resignation resignation_ = Resignation::clean;
  MarkerRecord servedAs_;                       // what our last term wrote when it took office
  std::optional<ProcessIdentity> servedAfter_;  // whom it followed uncleanly
  FencingToken ended_;                          // the last of our terms of which nothing runs any more
  std::optional<MarkerRecord> report_;          // what others still have to be told of it
  Ticket reportLook_ = 0;
  Ticket reportWrite_ = 0;
  bool failedTerm_ = false;
  bool careerIsHome_ = false;
  bool leaving_ = false;
  std::optional<Error> fatal_;
  std::optional<Bequest> bequeathed_;

  Ticket flow_ = 0;  // the question on which the phase waits
  Ticket probe_ = 0;
  Ticket visit_ = 0;
  Ticket liveness_ = 0;
  Watch ownWatch_;
  Watch predecessorWatch_;
  Watch markerWatch_;
  std::optional<Result<Node>> markerSeen_;  // read while the candidates were listed
  Watch handoverWatch_;
  Watch pauseWatch_;
  std::optional<Pause> pause_;  // in office, and heeded
  BootTime pauseSeen_{};
  std::optional<BootTime> pauseLookDue_;  // after a look that failed
  bool pauseIsRead_ = false;              // in this term
  bool pauseRefusalTold_ = false;

  BootTime probeDue_{};
  BootTime visitedAt_{};
  BootTime livenessDue_{};
  BootTime recheckDue_{};
  std::optional<BootTime> retryAt_;
  std::optional<BootTime> leaveBy_;
  Backoff electionBackoff_;
  Backoff termBackoff_;

  std::set<std::string> reported_;
  std::size_t foreigners_ = 0;
  bool aclWarned_ = false;
};

}  // namespace tenure
