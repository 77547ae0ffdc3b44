/// What the election's znodes say, as JSON. Whatever is found there is read: garbage, a newer version or another
/// program's data become "unknown", never an error that could stop an election. Numbers of 64 bits are decimal strings,
/// since other readers' numbers are doubles.
#pragma once

#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "tenure/candidate.hpp"

namespace tenure {

/// Both clocks, read once. Processes on one boot of a machine share the first, others agree on the second at best.
struct Now {
  BootTime boot{};
  WallTime wall{};
  friend bool operator==(const Now&, const Now&) = default;
};

/// The longest barrier there is: half of the longest session timeout.
constexpr std::chrono::milliseconds longestBarrier{30 * 60 * 1000};
/// The one after a term of which nothing is known.
constexpr std::chrono::milliseconds fullBarrier{30'000};

/// The longest a preferred candidate can be told to stand by.
constexpr std::chrono::milliseconds longestPreferredAfter{24 * 60 * 60 * 1000};

/// Whether a candidate could lead. It says so itself, in its candidacy; the leader heeds it when handing over.
enum class Readiness {
  unknown,      // it does not say: an earlier version, or a record that cannot be read
  checking,     // it has just come
  ready,        // it has looked: a term could begin here
  prepared,     // the same, and as the next in line it keeps open what it will need
  notReady,     // it has looked, and something is amiss
  inaugurated,  // it leads, and its term has begun
};
std::string_view toString(Readiness readiness) noexcept;
/// Whether a candidate with this readiness may follow. A candidate that does not say is trusted.
constexpr bool mayFollow(Readiness readiness) noexcept {
  return readiness != Readiness::checking && readiness != Readiness::notReady;
}

/// Why a candidate that says so, and differs from the leader in `differs`, may not follow; empty: it may.
std::string whyNotFollow(Readiness readiness, const std::string& why, const std::string& differs);

/// Digests of what replicas must agree on, by name.
using AgreementDigests = std::map<std::string, std::string>;
AgreementDigests digestsOf(const Agreement& agreement);
/// The names under which both have one, and not the same: "delivery, queue". Empty: they agree.
std::string differencesOf(const AgreementDigests& one, const AgreementDigests& other);

/// The data of a candidacy, for people, for tools, and for a leader that looks for a successor. The order of the line
/// does not depend on it. Its readiness, `waitsSince` and `rests` change.
struct CandidateRecord {
  bool known = false;
  CandidateId id;
  ProcessIdentity process;
  std::string version;
  std::string status;  // address of its status page, empty for none
  WallTime since{};
  WallTime started{};  // the replica, before its first candidacy; 1970: it does not say
  Preference preference = Preference::normal;
  std::chrono::milliseconds preferredAfter{0};  // of a preferred one
  AgreementDigests agreement{};
  Readiness readiness = Readiness::unknown;
  std::string whyNot{};     // not ready
  WallTime readySince{};    // 1970: it is not, or does not say
  bool knowsBaton = false;  // this replica's version answers an offer in the znode `baton`
  WallTime waitsSince{};    // at the barrier of the term before, which it is to follow; 1970: it does not
  WallTime rests{};         // leader only: `since` of the pause in which it has nothing in hand; 1970: none
};
std::string toJson(const CandidateRecord& record);
CandidateRecord parseCandidateRecord(std::string_view json);

/// What became of the process that led.
enum class HolderFate {
  untold,    // idle: it resigned by itself; busy: not known
  outlived,  // its term could not end in order, but it lives
  died,      // its last will has ended the term
};

/// The last term: still led (busy), or properly ended (idle).
struct MarkerRecord {
  bool known = false;
  bool busy = true;
  FencingToken token;
  CandidateUuid candidate;
  CandidateId id;
  ProcessIdentity holder;
  WallTime since{};            // when it began; idle: when it ended, or began where only a last will has ended it
  std::optional<Now> asked{};  // idle: when its leader was asked to hand over or to stop, if it was
  std::chrono::milliseconds barrierLimit = fullBarrier;
  bool spawns = false;  // the holder's end is not the end of all that it has started
  /// Busy, but proven to be over: the successor looks for locks that are left, and does not wait.
  bool nothingRuns = false;
  std::string why{};  // for people: why a term that is over left the marker busy
  HolderFate fate = HolderFate::untold;
  LostTerms lost{};  // as the holder knew of them when it became leader
};
/// True unless the marker says that the holder's process outlived its term.
bool mayHaveDied(const MarkerRecord& record) noexcept;
std::string toJson(const MarkerRecord& record);
/// What cannot be understood is busy, by an unknown holder, with the full barrier.
MarkerRecord parseMarkerRecord(std::string_view json);
/// For people: why a successor waits after that busy term, or does not.
std::string whyItWaits(const MarkerRecord& marker);

/// Identifies an ensemble's data; a rebuilt ensemble has another uuid or generation.
struct MetaRecord {
  EnsembleUuid ensemble;
  std::int64_t generation = 1;
};
std::string toJson(const MetaRecord& record);
std::optional<MetaRecord> parseMetaRecord(std::string_view json);

/// Asks the leader of one term to hand over. When that term ends, a scheduled request lapses, too.
struct HandoverRequest {
  FencingToken term;
  std::string by;
  std::optional<CandidateUuid> to;  // nullopt: the next candidate in line
  WallTime until{};                 // the last moment to begin
  WallTime at{};                    // the first one, by the leader's calendar clock
  friend bool operator==(const HandoverRequest&, const HandoverRequest&) = default;
};
std::string toJson(const HandoverRequest& request);
std::optional<HandoverRequest> parseHandoverRequest(std::string_view json);

/// A handover: the leadership is offered to one candidacy, which accepts or refuses it. The write that ends the
/// leader's term passes it on.
struct BatonRecord {
  enum class State { offered, accepted, refused, passed };

  State state = State::offered;
  FencingToken term;             // the leader's
  std::string znode;             // name of the candidacy's znode
  std::int64_t czxid = 0;        // of the same
  std::string marker{};          // from its acceptance on: the data with which the marker names it the leader
  std::int32_t metaVersion = 0;  // of the meta that it had read when it accepted
  std::string whyNot{};          // refused
  std::optional<Now> asked{};    // passed: when the leader was asked to hand over or to stop
  WallTime since{};              // when this was written, by the writer's calendar clock
};
std::string toJson(const BatonRecord& record);
/// Nullopt: nothing is offered, or the text cannot be understood.
std::optional<BatonRecord> parseBatonRecord(std::string_view json);

/// While an election is paused no new work begins, under any leader.
struct Pause {
  std::string by;
  std::string why;
  WallTime since{};
  WallTime until{};  // it ends by itself then, by the leader's calendar clock; 1970: when an operator resumes it
  bool isOver(WallTime now) const noexcept { return until != WallTime{} && now >= until; }
  friend bool operator==(const Pause&, const Pause&) = default;
};
std::string toJson(const Pause& pause);
/// Nullopt: the election is not paused, or the text cannot be understood.
std::optional<Pause> parsePause(std::string_view json);

/// A leader handed over because it could have worked and did not.
struct StuckRecord {
  FencingToken term;
  std::string message;  // the first that waited; empty: its queue does not show it
  WallTime since{};
  friend bool operator==(const StuckRecord&, const StuckRecord&) = default;
};
/// The last of them, one for each message, the newest first.
using StuckRecords = std::vector<StuckRecord>;
std::string toJson(const StuckRecords& records);
StuckRecords parseStuckRecords(std::string_view json);

/// Decides for a leader that is stuck at `mine` and has read the records `known`.
struct StuckVerdict {
  bool isBlamed = false;                // another term stopped there in the last 24 hours: no handover
  std::optional<StuckRecords> write{};  // in place of those, before any handover; nullopt: they may stay
};
StuckVerdict judge(const StuckRecord& mine, const StuckRecords& known);

}  // namespace tenure
