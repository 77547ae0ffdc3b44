/// After our resignation the successor's write goes first, the one that takes the leadership. What we would write next,
/// a new enrolment or the end of our session, waits until the marker has changed hands, for 100 ms at most, and not at
/// all where we were the only candidate.
#pragma once

#include <string>
#include <vector>

#include "election/contention.hpp"

namespace tenure {

class SuccessorWatch {
 public:
  enum class News {
    foreign,   // not an answer to this
    awaiting,  // another answer, or the successor
    over,
  };

  explicit SuccessorWatch(Contention& at) : at_(at) {}

  /// Our candidacy of that term is gone.
  void begin(FencingToken ours);
  News listed(Ticket ticket, const Result<std::vector<std::string>>& names);
  News read(Ticket ticket, const Result<Node>& node);
  News changed(Ticket ticket) const noexcept;
  bool isDue() const noexcept { return at_.now.boot >= until_; }
  BootTime until() const noexcept { return until_; }
  void dropTickets() noexcept { list_ = marker_ = 0; }

 private:
  Contention& at_;
  FencingToken ours_;
  BootTime until_{};
  Ticket list_ = 0;
  Ticket marker_ = 0;
};

}  // namespace tenure
