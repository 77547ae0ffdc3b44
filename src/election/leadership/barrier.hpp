/// The wait between winning and taking office, while the work of the term before may still be going on.
///
///     marker idle, or of a term of which nothing runs any more ─► over at once
///     marker busy, by another term ──► waiting ──► over: the marker turned idle, or says that nothing runs any more,
///                                                  the holder is proven gone, with all that it may have started,
///                                                  or its limit has passed since we saw it with its znode gone
///
/// A holder of which nothing is known gets the full barrier.
#pragma once

#include <optional>
#include <string_view>

#include "election/records.hpp"

namespace tenure {

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

  /// Who held office and left no idle marker.
  const std::optional<ProcessIdentity>& uncleanPredecessor() const noexcept { return predecessor_; }

 private:
  bool waiting_ = false;
  std::string_view how_;
  BootTime began_{};
  MarkerRecord marker_;
  std::optional<ProcessIdentity> predecessor_;
};

}  // namespace tenure
