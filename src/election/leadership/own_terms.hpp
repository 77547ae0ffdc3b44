/// Our terms, the term before each, and what the marker says of them:
///
///     marker read ─► barrier ─► claimed: busy, ours ─► a term ─► how it ended ─► last words: idle, over, or still busy
///                                                        └─ the process dies ─► the will's words
///
/// Whether the marker may say that a term has ended is decided in lastWords() and in the will alone.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "election/candidates.hpp"
#include "election/leadership/baton_offer.hpp"
#include "election/own_record.hpp"
#include "election/records.hpp"
#include "election/session_health.hpp"

namespace tenure {

/// The wait between winning and becoming leader, while the work of the term before may still be going on.
///
///     marker idle, or of a term of which nothing runs any more ─► over at once
///     marker busy, by another term ──► waiting ──► over: the marker turned idle, or says that nothing runs any more,
///                                                  the holder is proven gone, with all that it may have started,
///                                                  or its limit has passed since we saw it with its znode gone
///
/// An unknown holder gets the full barrier.
class Barrier {
 public:
  /// Takes in the marker as read at `now` by the candidate whose znode (`own`) is the oldest. The same busy term read
  /// again does not restart the wait; another one does.
  void see(const MarkerRecord& marker, FencingToken own, BootTime now);
  /// The holder's process was looked up, and is no more.
  void holderGone() noexcept;

  /// Why the wait is over: none (there was none), idle, nothing_runs, holder_gone, limit. Empty while it goes on.
  std::string_view over(BootTime now) const noexcept;
  bool waiting() const noexcept { return waiting_; }
  BootTime began() const noexcept { return began_; }
  /// When the limit passes.
  BootTime limit() const noexcept { return began_ + marker_.barrierLimit; }
  const MarkerRecord& marker() const noexcept { return marker_; }
  /// Whether the wait would be over if the holder's process were no more. What that process has started may outlive it.
  bool endsWithHolder() const noexcept;

  /// The process that led before and left no idle marker.
  const std::optional<ProcessIdentity>& uncleanPredecessor() const noexcept { return predecessor_; }

 private:
  bool waiting_ = false;
  std::string_view how_;
  BootTime began_{};
  MarkerRecord marker_;
  std::optional<ProcessIdentity> predecessor_;
};

class OwnTerms {
 public:
  OwnTerms(Contention& at, const SessionHealth& health, OwnRecord& record)
      : at_(at), health_(health), record_(record) {}

  // --- the term before

  /// Takes in the marker as it was read.
  void see(const Node& marker);
  /// Tells that the wait at the barrier begins and, once it is over, how it ended. Empty: it goes on.
  std::string_view judgeBarrier();
  Barrier& barrier() noexcept { return barrier_; }
  const Barrier& barrier() const noexcept { return barrier_; }
  void forgetBarrier();
  /// The marker, as it was read last, names us.
  bool isMarkedOurs() const noexcept { return isMarkedOurs_; }

  // --- our term

  /// The write that proves us a candidate, meta and the marker unchanged since we read them, and makes the marker ours.
  std::vector<MultiOp> claim(std::int32_t metaVersion, const Candidates& candidates);
  void claimed() noexcept { ++markerVersion_; }
  /// The marker that the leader before shall write when it passes the baton to us: its term will have ended in order.
  /// Until then nothing of ours rests on that.
  MarkerRecord accept(MarkerRecord leader);
  /// The marker names us: that leader has passed the baton.
  void receive(std::int32_t markerVersion, const BatonRecord& passed);
  TermIdentity begin(const MetaRecord& meta);
  /// For how long the election had no leader; 0: the term before did not end in order, or there was none.
  std::chrono::milliseconds idleBefore() const;
  /// How long ago the leader before was asked to hand over or to stop; nullopt: its term ended otherwise.
  std::optional<std::chrono::microseconds> sinceRequest() const;

  // --- its end

  /// Whether the career of our last term has come home: nothing that it had in work has killed us.
  void setCareerHome(bool isHome) noexcept { careerIsHome_ = isHome; }
  /// `asked`: when we were asked to hand over or to stop, if we were.
  void end(Resignation how, std::optional<Now> asked);
  /// After a clean end: the last words pass the baton, and send the candidates `between` us and the heir to the back.
  /// After any other end it does nothing.
  void passTo(const BatonOffer::Acceptance& heir, std::vector<std::string> between);
  bool isPassing() const noexcept { return heir_.has_value(); }
  const std::vector<std::string>& between() const noexcept { return between_; }
  /// The baton was not passed because one of those between has gone. It is left out, and the last words may be sent
  /// again.
  bool leaveOutGone(const Error& error);
  /// The baton could not be passed, or it is not known whether it was. False: our znode had gone, or the marker is no
  /// longer ours.
  bool endPlainly(const Error& error);
  Resignation resignation() const noexcept { return resignation_; }
  /// After Resignation::nothingRuns: the marker of our last term, to be written later if the resignation does not
  /// arrive.
  MarkerRecord lateReport() const;
  /// The write that gives our znode back, and the marker its last words; nullopt: nothing may be said, only the znode
  /// goes.
  std::optional<std::vector<MultiOp>> lastWords() const;
  /// Our znode had gone before, or the marker is no longer ours. False: nothing else is left to do.
  bool concede();

  /// Tells what another process has to do should this one die, where that has changed. Told before what else an input
  /// brings about: a will that is taken back must not outlive the reason for it.
  void bequeath();

 private:
  /// Our last will is written again when one of these changes. Holds no secret of the session.
  struct Bequest {
    std::uint64_t generation = 0;
    std::int64_t session = 0;
    std::string server;
    std::string resigns;  // the znode, empty when only the session is to be closed
    LostTerms lost;
    friend bool operator==(const Bequest&, const Bequest&) = default;
  };

  MarkerRecord overMarker(std::string why, HolderFate fate) const;
  MarkerRecord ownMarker(bool busy, HolderFate fate = HolderFate::untold) const;
  std::vector<MultiOp> giveBack(const MarkerRecord& marker) const;
  std::vector<MultiOp> passBaton() const;
  LostTerms lostAfter(const MarkerRecord& before, const Candidates& candidates) const;
  std::optional<ProcessIdentity> uncleanPredecessor() const;
  std::optional<Bequest> bequest() const;

  Contention& at_;
  const SessionHealth& health_;
  OwnRecord& record_;
  Barrier barrier_;
  BootTime barrierTold_{};     // when the barrier of the last BarrierBegan began
  BootTime barrierEndTold_{};  // the same for BarrierEnded
  std::int32_t markerVersion_ = 0;
  bool isMarkedOurs_ = false;
  MarkerRecord acceptedFrom_;                   // marker of the leader whose offer we accepted, after an end in order
  LostTerms lost_;                              // as of the term that begins
  std::vector<FencingToken> served_;            // the newest terms of this very process, which lives
  MarkerRecord servedAs_;                       // what our last term wrote when it began
  std::optional<ProcessIdentity> servedAfter_;  // the process whose unclean term it followed
  FencingToken ended_;                          // the last of our terms of which nothing runs any more
  Resignation resignation_ = Resignation::clean;
  std::optional<Now> asked_;
  std::optional<BatonOffer::Acceptance> heir_;  // the candidacy that gets the baton
  std::vector<std::string> between_;            // znodes of the candidates before the heir
  bool careerIsHome_ = false;
  std::optional<Bequest> bequeathed_;
};

/// A term of ours that was lost, and has come home since: its marker may be busy still, and the next leader waits. No
/// version of before the loss is trusted: a marker that was made again counts from zero.
class LateReport {
 public:
  enum class News {
    foreign,   // not an answer to this
    awaiting,  // another answer is to come, or there is nothing to report any more
    ended,     // said, not needed, or to be tried again when we are connected again
  };

  explicit LateReport(Contention& at) : at_(at) {}

  void keep(MarkerRecord report) { report_ = std::move(report); }
  void drop() { report_.reset(); }
  /// If there is one, and a connection.
  void look();
  bool isUnderWay() const noexcept { return look_ != 0; }
  News read(Ticket ticket, const Result<Node>& node);
  News written(Ticket ticket, const Result<void>& result);

 private:
  News end(const Result<void>& result);

  Contention& at_;
  std::optional<MarkerRecord> report_;
  Ticket look_ = 0;
  Ticket write_ = 0;
};

}  // namespace tenure
