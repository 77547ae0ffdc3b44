/// What our candidacy says of us, so that leaders and those behind us can heed it: whether our career could begin here,
/// since when we wait at a barrier, and whether we rest in a pause. It never keeps from being elected who is alone, or
/// among others like it.
#pragma once

#include "election/contention.hpp"

namespace tenure {

/// Writes Contention::settings.self to our znode whenever that has changed, one write at a time.
class OwnRecord {
 public:
  explicit OwnRecord(Contention& at) : at_(at) {}

  /// The record that our next candidacy is created with.
  void enrolWith(CandidateRecord self) { said_ = std::move(self); }
  /// A change wakes only the one behind us, which reads the record.
  void publish();
  /// Whether the answer was awaited here.
  bool published(Ticket ticket, const Result<void>& result);
  /// What the next candidacy says at first, after a term or a place in line.
  void forgetTerm();
  void dropTickets() noexcept { publication_ = 0; }

 private:
  Contention& at_;
  std::optional<CandidateRecord> said_;  // by our znode
  CandidateRecord saying_;
  Ticket publication_ = 0;
};

/// Compares our settings with those of the candidate that stands first, which leads or will.
class LeaderComparison {
 public:
  explicit LeaderComparison(Contention& at) : at_(at) {}

  void look(const std::string& name);
  /// Whether the answer was awaited here.
  bool read(Ticket ticket, const Result<Node>& node);
  void forget() { leader_.clear(); }
  void dropTickets() noexcept { look_ = 0; }

 private:
  Contention& at_;
  std::string leader_;  // whose settings were compared with ours
  Ticket look_ = 0;
};

}  // namespace tenure
