/// Decides how many messages share a commit. Pure.
///
/// A message is visible to others when its batch is committed, so the latency target covers both halves of a batch:
///
///   ◀───────── work: messages · h ─────────▶◀─ commit: f + messages · m ─▶
///
///   size = (target − f) / (h + m), at most the maximum; at most doubled with each commit, at most halved with each
///   full one
///
/// h, f and m are measured, the last ten commits or so weighing most; f and m are told apart by a straight line through
/// commits of different sizes. A larger batch is never dearer a message, so the size grows as long as the target holds.
/// A commit that takes more than half of the target by its fixed part alone gets no cheaper by carrying less: then work
/// has half of the target, and the target is missed, rather than every message waiting for the disk alone.
///
/// The first batch of a term may have the maximum, as nothing is measured yet. Its work ends after 2 ms, so that a new
/// leader commits soon, however many messages have waited.
#pragma once

#include <cstddef>

#include "tenure/values.hpp"

namespace tenure::consuming {

class BatchSizer {
 public:
  /// `fixed`: always `most`, and the target is for the work alone.
  BatchSizer(std::size_t most, Duration target, bool fixed);

  /// The most messages that the next commit should carry, 1..most.
  std::size_t size() const noexcept { return size_; }
  /// When a batch of so many messages has to be committed, counted from its first message's beginning.
  Duration workLimit(std::size_t messages) const noexcept;

  /// How many messages are handled during one commit, or in a negligible time; 0 until that is measured.
  std::size_t quickOnes() const noexcept;

  void committed(std::size_t messages, Duration work, Duration commit);

 private:
  void fitCommits() noexcept;
  double fitting() const noexcept;

  const std::size_t most_;
  const double target_;  // seconds, as all below
  const bool fixed_;
  std::size_t size_;

  // Decaying sums over commits, each weighing one when it is new.
  struct Sums {
    double commits = 0;
    double messages = 0;
    double messagesSquared = 0;
    double work = 0;
    double took = 0;
    double messagesTook = 0;
  } sums_;
  double commitFixed_ = 0;  // f
  bool knowsSlope_ = false;
  double commitEachMessage_ = 0;  // m
};

}  // namespace tenure::consuming
