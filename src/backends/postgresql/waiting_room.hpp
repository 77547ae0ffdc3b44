/// Messages that wait for their time in PostgreSQL, and how they come to their queue.
///
///   look      the server's clock and the first time, in one question without a lock
///   promote   BEGIN · the reader's row, NOWAIT · the fence, where it is kept here, NOWAIT · what is due
///             · those of them that nobody holds, FOR UPDATE SKIP LOCKED
///             · they leave, and come to the end of the queue · COMMIT
///
/// A row that somebody else holds (a handler that cancels it) is left for the next turn, and so are those of its group
/// that come behind it, for as long as the lock limit. Nobody's lock is waited for.
#pragma once

#include <map>
#include <string>

#include "backends/postgresql/connection.hpp"
#include "backends/postgresql/queue_rows.hpp"
#include "delay/promoter.hpp"
#include "storage/driver.hpp"

namespace tenure::postgresql {

Command selectWaiting(const std::string& queue, const storage::WaitingScan& scan);
storage::WaitingPage waitingFrom(const Answer& rows);
Command countWaiting(const std::string& queue);
storage::WaitingCounts countsFrom(const Answer& row);

/// Makes the term the one that reads the queue. Errors: staleTerm.
Result<void> raiseReader(Connection& connection, const std::string& queue, const TermIdentity& term);

/// Of the source's queue, for one term. Threads: the source's.
class WaitingRoom final : public delay::IWaitingRoom {
 public:
  explicit WaitingRoom(const Options& options) : options_(options) {}

  /// Borrows the connection until the next one.
  void attach(Connection* connection, QueuePlace queue, const TermIdentity& term);
  void detach() noexcept { connection_ = nullptr; }

  Result<Front> look() override;
  Result<Promoted> promote(WallTime until, std::size_t atMost) override;

 private:
  /// What is due, in order, each with its group.
  struct Due {
    std::vector<std::int64_t> added;
    std::vector<std::string> groups;
  };
  /// Begins the transaction; nullopt where somebody holds the reader's row or the fence.
  Result<std::optional<Due>> begin(WallTime until, std::size_t atMost);
  Result<storage::WaitingPage> lock(const Due& due, WallTime until);
  /// Without what has to wait for a row that somebody else holds.
  storage::WaitingPage movable(const Due& due, storage::WaitingPage locked);
  Result<Promoted> move(const storage::WaitingPage& page);

  const Options& options_;
  Connection* connection_ = nullptr;
  QueuePlace queue_;
  TermIdentity term_;
  std::map<std::int64_t, BootTime> heldSince_;  // rows that others hold, by when they were added
};

}  // namespace tenure::postgresql
