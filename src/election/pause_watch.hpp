/// Whether work may begin in our term. The election is paused by the data of its `pause` znode, and goes on when that
/// is emptied or deleted, or when its time has passed:
///
///     elected ── unread ──► none ⇄ paused ──► paused, and at rest
///
/// The first read of a term is answered after the write that became leader, so it sees every pause that was written
/// before. A candidate that has accepted the baton reads the pause right after the baton, so that the answer to it is
/// the newer of the two.
#pragma once

#include "election/own_record.hpp"

namespace tenure {

class PauseWatch {
 public:
  PauseWatch(Contention& at, OwnRecord& record) : at_(at), record_(record) {}

  /// We have become leader: nothing is read yet.
  void begin();
  /// We look whether the baton was passed to us.
  void foresee();
  /// Connected again while we lead.
  void resume();
  void tick();
  /// When to look again, or when the pause ends: the sooner of both.
  std::optional<BootTime> wakeAt() const;
  void dropTickets() noexcept {
    watch_ = {};
    isForeseen_ = false;
  }

  // Each tells whether the ticket is ours:
  bool read(Ticket ticket, const Result<Node>& node);
  bool ensured(Ticket ticket, const Result<void>& result);
  bool changed(Ticket ticket);

  /// The career has nothing in hand any more.
  void cameToRest(FencingToken term);

 private:
  bool isOurs(Ticket ticket) const noexcept { return ticket != 0 && ticket == watch_.ticket; }
  void look();
  void ask(bool watched);
  void lookFailed(const Error& error);
  void heed(std::optional<Pause> pause);

  Contention& at_;
  OwnRecord& record_;
  ZnodeWatch watch_;
  std::optional<Pause> pause_;       // that our term keeps to
  BootTime seen_{};                  // when it was read first
  std::optional<BootTime> lookDue_;  // after a look that failed
  bool isForeseen_ = false;          // asked before the term
  bool isRead_ = false;              // in this term
  bool isRefusalTold_ = false;
};

}  // namespace tenure
