/// What goes into the election machine and what comes out.
///
/// Every question the machine asks carries a ticket, and so do the watches it sets. An answer counts only while its
/// ticket is still held: beginning a new candidacy, or asking anew after a reconnect, drops the tickets of before, and
/// with them every late answer and every watch event that belonged to them.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "coordination/coordination.hpp"
#include "election/records.hpp"
#include "election/will.hpp"
#include "lease/term_state.hpp"
#include "process/process_identity.hpp"
#include "tenure/events.hpp"

namespace tenure {

// How a leadership ends, and so what the next term may rely on. A header of its own, light enough for pure machines.

/// How a term is left.
enum class Resignation {
  clean,        // everything committed or rolled back: marker idle and own znode leave in one write
  nothingRuns,  // not in order, but all of it has ended: marker stays busy and says so, without a wait at the barrier
  unclean,      // something may still run: marker stays busy, znode deleted
};

using Ticket = std::uint64_t;  // 0 is never given out

namespace input {

struct Connected {
  SessionInfo session;
};
struct Suspended {};
struct Expired {};
/// The session can never be had: credentials, host list.
struct Refused {
  Error error;
};

/// The znode is there; for EnsurePath.
struct Ensured {
  Ticket ticket = 0;
  Result<void> result;
};
struct AclChecked {
  Ticket ticket = 0;
  std::string path;
  Result<bool> worldWritable;
};
struct NodeRead {
  Ticket ticket = 0;
  Result<Node> node;
};
struct Enrolment {
  Ticket ticket = 0;
  Result<CreatedNode> created;
};
struct Listed {
  Ticket ticket = 0;
  Result<std::vector<std::string>> names;
};
struct Statted {
  Ticket ticket = 0;
  std::string name;
  Result<NodeStat> stat;
};
/// For Write and Remove.
struct Written {
  Ticket ticket = 0;
  BootTime sentAt{};
  Result<void> result;
};
/// A watch set by Read has fired.
struct Changed {
  Ticket ticket = 0;
  WatchEvent event = WatchEvent::dataChanged;
};
struct LivenessTold {
  Ticket ticket = 0;
  Liveness liveness = Liveness::unknown;
};

/// Time has come to wakeAt().
struct Tick {};
/// The program asks for a handover.
struct HandoverWanted {
  FencingToken term;
  std::string by;
  std::optional<CandidateUuid> to;  // nullopt: the next candidate that can follow
  bool leaves = false;              // the leader goes soon, whether a candidate can follow or not
  bool relieves = false;            // the leader cannot work: it goes only where a candidate accepts
};
/// Whether a career could begin here, or has begun.
struct ReadinessTold {
  Readiness readiness = Readiness::unknown;
  std::string whyNot{};
};
/// The election is paused, and the career of this term has nothing in hand any more.
struct RestTold {
  FencingToken term;
};
/// The career is home.
struct ResignAsked {
  Resignation how = Resignation::clean;
  bool failed = false;
};
struct LeaveAsked {
  Resignation how = Resignation::clean;
};
/// For CloseSession.
struct Closed {};

}  // namespace input

namespace action {

/// Create it, persistent, unless it is there.
struct EnsurePath {
  Ticket ticket = 0;
  std::string path;
  std::string data;
};
struct CheckAcl {
  Ticket ticket = 0;
  std::string path;
};
enum class Subject {
  meta,
  marker,
  own,
  visit,
  predecessor,
  handover,
  pause,
  standby,
  leader,
  ourLast,
  baton,
  batonMarker
};
struct Read {
  Ticket ticket = 0;
  Subject subject = Subject::meta;
  std::string path;
  bool watched = false;
};
/// Create the candidacy, ephemeral and sequential.
struct Enrol {
  Ticket ticket = 0;
  std::string path;
  std::string data;
};
struct List {
  Ticket ticket = 0;
  std::string path;
};
struct Stat {
  Ticket ticket = 0;
  std::string name;
  std::string path;
};
enum class Purpose {
  settle,    // a quorum write before a search, so that the list cannot be older than the lost create
  probe,     // check(own): proves the lease
  markBusy,  // check(own), marker busy: becomes leader
  resign,    // check(own), marker idle or over, own deleted: ends its leadership
  report,    // marker over, after our znode had gone: no successor has to wait for that term
  publish,   // check(own), our own record: that we are ready, or not
  offer,     // check(own), baton: offered to one candidacy, whose znode is written with the same data, or taken back
  answer,    // check(own), baton: we accept the offer, or refuse it
  baton,     // check(own), what was accepted unchanged, marker: another's, own deleted: ends its leadership
  sendBack,  // check(own), another's candidacy deleted: it stood between us and the handover target
};
struct Write {
  Ticket ticket = 0;
  Purpose purpose = Purpose::probe;
  std::vector<MultiOp> ops;
};
/// Delete a candidacy of ours.
struct Remove {
  Ticket ticket = 0;
  std::string path;
};
struct AskLiveness {
  Ticket ticket = 0;
  ProcessIdentity process;
};

struct BecomeLeader {
  TermIdentity identity;
  std::chrono::milliseconds sessionTimeout{};
  BootTime confirmedAt{};
  std::optional<BootTime> askedAt{};  // when the leader before was asked to hand over or to stop, if it was
};
/// A probe was committed; the lease counts from then.
struct ConfirmLease {
  BootTime confirmedAt{};
};
struct ShortenLease {
  std::chrono::milliseconds sessionTimeout{};
};
struct LoseTerm {
  EndReason reason = EndReason::none;
};
/// The term is left: from now on no action under it is allowed.
struct EndLease {};
struct AskHandover {
  std::string by;
  BootTime askedAt{};
};
/// Whether the election is paused. Before a term's first HoldWork no work may begin.
struct HoldWork {
  Hold hold = Hold::none;
};
/// We stand by behind others.
struct TellStandby {};
/// Whether we are the next to be elected.
struct TellNext {
  bool next = false;
};
/// A leader offers its leadership to this candidacy, which is prepared: its store has to be asked first.
struct TellOffered {};
struct CloseSession {};
struct ReportLeft {};
struct ReportFatal {
  Error error;
};
/// What another process has to do at once should this one die; nullopt for nothing.
struct Bequeath {
  std::optional<Will> will;
};
struct Tell {
  EventBody event;
  FencingToken token;
};

}  // namespace action

using Input = std::variant<input::Connected, input::Suspended, input::Expired, input::Refused, input::Ensured,
                           input::AclChecked, input::NodeRead, input::Enrolment, input::Listed, input::Statted,
                           input::Written, input::Changed, input::LivenessTold, input::Tick, input::HandoverWanted,
                           input::ReadinessTold, input::RestTold, input::ResignAsked, input::LeaveAsked, input::Closed>;

using Action =
    std::variant<action::EnsurePath, action::CheckAcl, action::Read, action::Enrol, action::List, action::Stat,
                 action::Write, action::Remove, action::AskLiveness, action::BecomeLeader, action::ConfirmLease,
                 action::ShortenLease, action::LoseTerm, action::EndLease, action::AskHandover, action::HoldWork,
                 action::TellStandby, action::TellNext, action::TellOffered, action::CloseSession, action::ReportLeft,
                 action::ReportFatal, action::Bequeath, action::Tell>;

}  // namespace tenure
