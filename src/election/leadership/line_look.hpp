/// Looks at the line of candidates behind us: a list, and a read of each that is new or was not known to be ready.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "election/contention.hpp"
#include "election/standby_queue.hpp"

namespace tenure {

class LineLook {
 public:
  enum class News {
    foreign,   // not an answer to this look
    awaiting,  // more answers
    seen,
    lost,  // an answer did not come: it looks again in a while, from the start
  };

  static constexpr std::chrono::milliseconds lookAgainAfter{500};

  explicit LineLook(Contention& at) : at_(at), line_(at.settings.self) {}

  /// If it is due, and no look is under way.
  void look();
  void dueAt(BootTime due) noexcept { due_ = due; }
  BootTime dueAt() const noexcept { return due_; }
  bool isUnderWay() const noexcept { return look_ != 0; }
  /// `anew`: all are read, not only those that were not known to be ready.
  News listed(Ticket ticket, const Result<std::vector<std::string>>& names, bool anew);
  News read(Ticket ticket, const Result<Node>& node);
  News statted(Ticket ticket, const std::string& name, const Result<NodeStat>& stat);
  void dropTickets();
  /// Nothing is known of the line.
  void forget() { line_ = StandbyQueue{at_.settings.self}; }

  const StandbyQueue& line() const noexcept { return line_; }

 private:
  News judge();
  News lost();

  Contention& at_;
  StandbyQueue line_;
  Ticket look_ = 0;
  std::map<Ticket, std::string> reads_;
  BootTime due_{};
};

}  // namespace tenure
