/// Worth knowing of a candidate: its session, its candidacy and its terms. See events.hpp.
#pragma once

#include "tenure/detail/event_level.hpp"
#include "tenure/term.hpp"
#include "tenure/values.hpp"

namespace tenure {

// --- session
struct SessionConnected {
  TENURE_EVENT("session_connected", info)
  std::int64_t session = 0;
  std::chrono::milliseconds timeout{};
  std::string server;
  void fields(auto&& f) const { f("session", session), f("timeout_ms", timeout), f("server", server); }
};
struct NotConnected {
  TENURE_EVENT("not_connected", warn)  // again and again, as long as that is so
  std::string hosts;
  std::chrono::milliseconds lasted{};
  std::string why{};  // unknown host, refused, silent, or no ZooKeeper
  void fields(auto&& f) const { f("hosts", hosts), f("for_ms", lasted), f("why", why); }
};
struct SessionSuspended {
  TENURE_EVENT("session_suspended", warn)
  std::int64_t session = 0;
  void fields(auto&& f) const { f("session", session); }
};
struct SessionExpired {
  TENURE_EVENT("session_expired", warn)
  std::int64_t session = 0;
  void fields(auto&& f) const { f("session", session); }
};

// --- election
struct Enrolled {
  TENURE_EVENT("enrolled", info)
  std::string znode;
  std::int64_t czxid = 0;
  bool foundAgain = false;  // the create's reply had been lost
  void fields(auto&& f) const { f("znode", znode), f("czxid", czxid), f("found_again", foundAgain); }
};
struct EnrolledAsObserver {
  TENURE_EVENT("enrolled_as_observer", info)
  std::string znode;
  void fields(auto&& f) const { f("znode", znode); }
};
struct StoodBy {
  TENURE_EVENT("stood_by", info)
  int ahead = 0;
  std::string predecessor;
  void fields(auto&& f) const { f("ahead", ahead), f("predecessor", predecessor); }
};
struct ForeignChildIgnored {
  TENURE_EVENT("foreign_child_ignored", warn)
  std::string child;  // escaped
  std::string reason;
  void fields(auto&& f) const { f("child", child), f("reason", reason); }
};
struct BarrierBegan {
  TENURE_EVENT("barrier_began", info)
  std::int64_t predecessorToken = 0;
  std::string holder;
  std::chrono::milliseconds limit{};
  std::string why{};
  void fields(auto&& f) const {
    f("predecessor_token", predecessorToken), f("holder", holder), f("limit_ms", limit), f("why", why);
  }
};
struct BarrierEnded {
  TENURE_EVENT("barrier_ended", info)
  std::string how;  // idle, nothing_runs, holder_gone, limit
  std::chrono::milliseconds waited{};
  void fields(auto&& f) const { f("how", how), f("waited_ms", waited); }
};
struct Elected {
  TENURE_EVENT("elected", info)
  std::string znode;
  std::chrono::milliseconds idle{};  // since the term before ended in order, by its leader's clock; 0: not known
  std::optional<std::chrono::microseconds> sinceRequest{};  // to hand over, as its leader heard of it; none: no request
  void fields(auto&& f) const { f("znode", znode), f("idle_ms", idle), f("since_request_us", sinceRequest); }
};
struct CandidacyLost {
  TENURE_EVENT("candidacy_lost", warn)
  std::string reason;
  void fields(auto&& f) const { f("reason", reason); }
};
struct ElectionFailed {
  TENURE_EVENT("election_failed", error)
  std::string error;
  std::chrono::milliseconds retryIn{};
  void fields(auto&& f) const { f("error", error), f("retry_in_ms", retryIn); }
};
struct HandoverAsked {
  TENURE_EVENT("handover_asked", info)
  std::string by;
  std::string to{};  // a candidate's uuid; empty: the next in line
  void fields(auto&& f) const {
    f("by", by);
    if (!to.empty()) f("to", to);
  }
};
struct HandoverScheduled {
  TENURE_EVENT("handover_scheduled", info)
  std::string by;
  std::string to;
  std::chrono::milliseconds in{};
  void fields(auto&& f) const { f("by", by), f("to", to), f("in_ms", in); }
};
struct HandoverDeclined {
  TENURE_EVENT("handover_declined", warn)
  std::string by;
  std::string to;
  std::string why;
  void fields(auto&& f) const { f("by", by), f("to", to), f("why", why); }
};
struct HandoverCancelled {
  TENURE_EVENT("handover_cancelled", info)
  std::string by;  // whose request it was
  void fields(auto&& f) const { f("by", by); }
};
struct HandoverOffered {
  TENURE_EVENT("handover_offered", info)
  std::string replica;  // escaped
  std::string znode;
  void fields(auto&& f) const { f("replica", replica), f("znode", znode); }
};
struct HandoverAccepted {
  TENURE_EVENT("handover_accepted", info)
  std::string replica;  // escaped
  std::chrono::milliseconds waited{};
  void fields(auto&& f) const { f("replica", replica), f("waited_ms", waited); }
};
struct HandoverRefused {
  TENURE_EVENT("handover_refused", warn)  // the leader goes on, and asks the next in line
  std::string replica;                    // escaped
  std::string why;                        // escaped
  void fields(auto&& f) const { f("replica", replica), f("why", why); }
};
struct BatonPassed {
  TENURE_EVENT("baton_passed", info)  // the write that ended the term has made this replica the leader
  std::string replica;                // escaped
  void fields(auto&& f) const { f("replica", replica); }
};
struct CandidateSentBack {
  TENURE_EVENT("candidate_sent_back", info)  // it stood between the leader and the target of a handover
  std::string znode;
  void fields(auto&& f) const { f("znode", znode); }
};
struct SettingsDiffer {
  TENURE_EVENT("settings_differ", warn)  // told by both: the leader, and the one who stands by
  std::string replica;                   // the other one; escaped
  std::string what;                      // names of what they should agree on
  void fields(auto&& f) const { f("replica", replica), f("what", what); }
};
struct SteppedAside {
  TENURE_EVENT("stepped_aside", warn)  // not ready, it let those behind it pass who are
  void fields(auto&&) const {}
};
struct LeaseSoftLimitPassed {
  TENURE_EVENT("lease_soft_limit_passed", warn)
  std::chrono::milliseconds sinceConfirmed{};
  void fields(auto&& f) const { f("since_confirmed_ms", sinceConfirmed); }
};

// --- career
struct Prepared {
  TENURE_EVENT("prepared", info)
  std::chrono::milliseconds took{};
  void fields(auto&& f) const { f("took_ms", took); }
};
struct NotReady {
  TENURE_EVENT("not_ready", warn)  // a standby that could not begin a term if it were elected now
  std::string why;
  std::chrono::milliseconds retryIn{};
  void fields(auto&& f) const { f("why", why), f("retry_in_ms", retryIn); }
};
struct Ready {
  TENURE_EVENT("ready", info)  // a standby that looked and found nothing amiss, at first and after it was not ready
  void fields(auto&&) const {}
};
struct TermBegan {
  TENURE_EVENT("term_began", info)
  void fields(auto&&) const {}
};
struct Inaugurated {
  TENURE_EVENT("inaugurated", info)
  std::chrono::milliseconds took{};
  std::optional<std::chrono::microseconds> sinceRequest{};  // see Elected
  void fields(auto&& f) const { f("took_ms", took), f("since_request_us", sinceRequest); }
};
struct PhaseFailed {
  TENURE_EVENT("phase_failed", error)
  std::string phase;
  std::string error;
  void fields(auto&& f) const { f("phase", phase), f("error", error); }
};
struct PhaseOverran {
  TENURE_EVENT("phase_overran", error)
  std::string phase;
  std::chrono::milliseconds limit{};
  void fields(auto&& f) const { f("phase", phase), f("limit_ms", limit); }
};
struct Paused {
  TENURE_EVENT("paused", warn)  // told by each leader: nothing new begins
  std::string by;
  std::string why;
  WallTime until{};  // 1970: until an operator resumes the election
  void fields(auto&& f) const {
    f("by", by), f("why", why);
    if (until != WallTime{}) f("until", until);
  }
};
struct CameToRest {
  TENURE_EVENT("came_to_rest", info)  // paused, and nothing is in hand any more
  std::chrono::milliseconds took{};   // since the leader has heard of the pause
  void fields(auto&& f) const { f("took_ms", took); }
};
struct Resumed {
  TENURE_EVENT("resumed", info)
  std::chrono::milliseconds lasted{};  // since the pause was asked for
  void fields(auto&& f) const { f("lasted_ms", lasted); }
};
struct TermEnded {
  TENURE_EVENT("term_ended", info)
  EndReason reason = EndReason::none;
  std::chrono::milliseconds served{};
  bool clean = true;                                        // the marker was set idle
  std::optional<std::chrono::microseconds> sinceRequest{};  // to hand over or to stop; none: nothing was asked
  void fields(auto&& f) const {
    f("reason", toString(reason)), f("served_ms", served), f("clean", clean), f("since_request_us", sinceRequest);
  }
};
struct GaveUp {
  TENURE_EVENT("gave_up", error)  // the replica leaves the race for good
  std::string why;
  void fields(auto&& f) const { f("why", why); }
};
struct Left {
  TENURE_EVENT("left", info)
  void fields(auto&&) const {}
};

// --- last will
struct LastWillReady {
  TENURE_EVENT("last_will_ready", info)  // the helper watches: a sudden death costs milliseconds
  std::int64_t pid = 0;
  void fields(auto&& f) const { f("pid", pid); }
};
struct LastWillOff {
  TENURE_EVENT("last_will_off", info)  // none was started: a sudden death costs the session timeout
  std::string why;
  void fields(auto&& f) const { f("why", why); }
};
struct LastWillLost {
  TENURE_EVENT("last_will_lost", warn)  // no helper from now on: a sudden death costs the session timeout
  std::string why;
  void fields(auto&& f) const { f("why", why); }
};

}  // namespace tenure
