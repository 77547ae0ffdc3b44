/// Our place in the line of candidates: which ones came before us, and which one we watch.
///
///     look() ─► a list, and the stat of each that we do not know ─► ranked ─► standBy(): watches the one before us
///                                                                    ▲                      │
///                                                                    └──────── stale ◄──────┘
#pragma once

#include <set>
#include <string>
#include <vector>

#include "election/candidates.hpp"
#include "election/own_record.hpp"

namespace tenure {

class PlaceInLine {
 public:
  enum class News {
    foreign,   // not an answer to this
    awaiting,  // another answer is to come, or nothing has changed
    ranked,
    ownGone,    // our znode is not in the list
    unlisted,   // see error()
    stale,      // the one before us has gone
    unwatched,  // the one before us cannot be watched: see error()
  };

  explicit PlaceInLine(Contention& at) : at_(at), candidates_(at.settings.uuid), leader_(at) {}

  void look();
  News listed(Ticket ticket, const Result<std::vector<std::string>>& names);
  News statted(const input::Statted& in);
  /// As of the last look, and of those after it in this candidacy.
  const Candidates& candidates() const noexcept { return candidates_; }

  void standBy(const std::vector<Candidates::Ranked>& ahead);
  void observe();
  News read(Ticket ticket, const Result<Node>& node);
  News changed(Ticket ticket, WatchEvent event);
  const Error& error() const noexcept { return error_; }
  /// Only one candidate stood before us at the last look.
  bool isNext() const noexcept { return ahead_ == 1; }
  /// The candidate next in line may prepare, and so may one to which the leadership is offered.
  void tellNext(bool next);
  void offered(bool isOffered);

  /// Watches do the work; a look now and then is the net below them.
  BootTime recheckDue() const noexcept { return recheckDue_; }
  bool takeRecheck() noexcept;
  void recheckSoon() noexcept;

  void elected() noexcept { isNextTold_ = false; }
  /// A new candidacy begins: nothing that was seen in the last one is known of it.
  void forget();
  void forgetCandidates() { candidates_ = Candidates{at_.settings.uuid}; }
  /// The connection went away under the look.
  void dropQuestion() noexcept { list_ = 0; }
  void dropTickets() noexcept;

  /// For people.
  std::string describe() const;

 private:
  News ranked();
  void recheckIn(Duration delay) noexcept { recheckDue_ = at_.now.boot + delay; }
  void watchPredecessor();
  void reportForeigners();
  void reportForeigner(const std::string& child, const char* reason);

  Contention& at_;
  Candidates candidates_;
  LeaderComparison leader_;
  Ticket list_ = 0;
  Error error_{};
  std::string predecessor_;
  ZnodeWatch predecessorWatch_;
  std::size_t ahead_ = 0;
  bool isOffered_ = false;      // the leadership
  bool isNextTold_ = false;     // TellNext was last sent with it
  bool isStandbyTold_ = false;  // TellStandby was sent
  BootTime recheckDue_{};
  std::set<std::string> reported_;
  std::size_t foreigners_ = 0;
};

}  // namespace tenure
