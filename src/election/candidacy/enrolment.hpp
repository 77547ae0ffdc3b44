/// Our candidacy's znode: created, found again where the reply to its create was lost, and watched.
///
///     create ─► enrolled, watched
///        └─ its reply is lost ─► a quorum write ─► a list of the candidates ─► adopted, or created anew
///
/// A znode that is found is adopted only if this session owns it and no term of ours had it.
#pragma once

#include <string>

#include "election/candidates.hpp"
#include "election/own_record.hpp"
#include "election/session_health.hpp"

namespace tenure {

class Enrolment {
 public:
  enum class News {
    foreign,   // not an answer to this
    awaiting,  // another answer is to come, or nothing has changed
    settled,   // a list of the candidates cannot be older than the create that was lost
    absent,    // our znode is to be created
    enrolled,
    unsent,   // the create: there is no connection
    failed,   // see error()
    gone,     // our znode: error() says why
    touched,  // our znode: its data was written
  };

  Enrolment(Contention& at, const SessionHealth& health, OwnRecord& record)
      : at_(at), health_(health), record_(record) {}

  /// `failures`: how many of our last terms in a row failed. Where terms fail, a preferred candidate stands by for
  /// longer before it wants the leadership back.
  void create(int failures);
  /// Before a search.
  void settle();
  /// Looks for our znode among the candidates.
  News search(const Candidates& candidates);
  /// A znode of ours may be there without our knowing.
  void mustSearch() noexcept { mustSearch_ = true; }
  bool isToSearch() const noexcept { return mustSearch_; }
  /// Deletes our znode, which may take a while.
  void remove();

  News created(const input::Enrolment& in);
  News written(Ticket ticket, const Result<void>& result);
  /// Watches our znode.
  void watch();
  /// Connected again.
  void resume() {
    if (at_.own && !watch_.answered) watch();
  }
  News read(Ticket ticket, const Result<Node>& node);
  News changed(Ticket ticket, WatchEvent event);
  const Error& error() const noexcept { return error_; }

  void unwatch() noexcept { watch_ = {}; }
  /// The connection went away under it.
  void dropQuestion() noexcept { flow_ = 0; }
  void dropTickets() noexcept;

 private:
  bool isOurs(Ticket ticket) const noexcept { return ticket != 0 && ticket == flow_; }
  News adopt(const std::string& path, const NodeStat& stat, bool foundAgain);
  News end(News news, Error error);

  Contention& at_;
  const SessionHealth& health_;
  OwnRecord& record_;
  Ticket flow_ = 0;
  ZnodeWatch watch_;
  bool mustSearch_ = false;
  bool isReadYet_ = false;      // our znode
  std::int64_t lastCzxid_ = 0;  // of our newest candidacy; an older znode is never adopted
  std::string lastPath_;
  Error error_{};
};

}  // namespace tenure
