/// Judges the log of attempts, by what is committed to it.
///
///   H1 a line tells of an attempt that was made, and came to that
///   H2 an effect, and an attempt that is told as failed, has its line in the log
///   H3 what is forgotten is old, or more than is to be kept
#pragma once

#include <map>
#include <set>
#include <span>
#include <vector>

#include "attempts.hpp"
#include "tenure/spi/store.hpp"

namespace tenure::simulation {

class History {
 public:
  explicit History(const ConsumerOptions& options) : options_(options) {}

  bool isKept() const noexcept { return options_.keepLogFor.count() > 0; }
  void ended(const MessageId& id, const Outcome& outcome);
  /// In one transaction: what it writes to the log, and whose effects it has.
  Complaint committed(std::span<const LoggedAttempt> lines, std::span<const MessageId> effects);
  Complaint failed(const MessageId& id, int attempt) const;
  /// The first of so many.
  Complaint pruned(std::span<const LoggedAttempt> removed, std::size_t of, const LogPruning& step) const;

 private:
  const ConsumerOptions& options_;
  std::map<std::pair<MessageId, AttemptEnd>, int> unlogged_;
  std::set<std::pair<MessageId, int>> failures_;  // on the log
};

}  // namespace tenure::simulation
