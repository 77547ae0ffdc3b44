/// The record in our candidacy's znode, which the leader and the candidate behind us read: whether our career could
/// begin here, since when we wait at a barrier, and whether our term is at rest in a pause.
#pragma once

#include "election/contention.hpp"

namespace tenure {

/// Writes Contention::settings.self to our znode whenever that has changed, one write at a time.
class OwnRecord {
 public:
  explicit OwnRecord(Contention& at) : at_(at) {}

  /// The record that our next candidacy is created with.
  void enrolWith(CandidateRecord self) { said_ = std::move(self); }
  /// Whether we could lead, and since when we could; publishes it.
  void tell(Readiness readiness, const std::string& whyNot);
  /// A change wakes only the one behind us, which reads the record.
  void publish();
  /// Whether the answer was awaited here.
  bool published(Ticket ticket, const Result<void>& result);
  /// Resets Contention::settings.self for the next candidacy, after a term or a place in line.
  void forgetTerm();
  void dropTickets() noexcept { publication_ = 0; }

 private:
  Contention& at_;
  std::optional<CandidateRecord> said_;  // the record in our znode
  CandidateRecord saying_;               // the record that is being written
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
  std::string leader_;  // znode of the leader whose settings were compared last
  Ticket look_ = 0;
};

}  // namespace tenure
