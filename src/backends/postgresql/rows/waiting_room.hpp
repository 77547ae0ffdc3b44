/// Messages that wait for their time in PostgreSQL, and how they come to their queue.
///
///   look      the server's clock, the first message without a time and the first time, in one question without a lock
///   promote   BEGIN · the reader's row, NOWAIT · the fence, where it is kept here, NOWAIT · the messages that are due
///             · FOR UPDATE SKIP LOCKED, those that no other transaction has locked
///             · delete these, and append them to the queue · COMMIT
///             Where no message with a time is due, and none is locked or numbered, one statement moves all on the
///             server
///
/// A batch takes messages without a time and messages that are due in turns, so that neither kind starves.
///
/// A look begins behind the messages that are gone for sure (scheduled::SettledBound); of those with a time, a minute
/// before the last look's front: a transaction that lasts longer than that is found by the look at the very front,
/// which comes once a minute.
///
/// A message that another transaction has locked (a handler cancels it) is left for the next turn. Later messages of
/// its group wait with it, for at most the lock limit. The queue's counter and a group's number are waited for as a
/// producer does; where that takes longer than the lock limit, the turn is undone and comes again.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "backends/postgresql/rows/queue_rows.hpp"
#include "backends/postgresql/session/connection.hpp"
#include "storage/driver.hpp"
#include "storage/scheduled/promoter.hpp"
#include "storage/scheduled/settled_bound.hpp"

namespace tenure::postgresql {

Command selectWaiting(const std::string& queue, const storage::WaitingScan& scan);
storage::WaitingPage waitingFrom(const Answer& rows);
Command countWaiting(const std::string& queue, std::int64_t atMost);
storage::WaitingCounts countsFrom(const Answer& row);

/// The waiting room of the queue that a source reads, for one term. Threads: the source's.
class WaitingRoom final : public scheduled::IWaitingRoom {
 public:
  explicit WaitingRoom(const Options& options) : options_(options) {}

  /// Borrows the connection until the next one.
  void attach(Connection* connection, QueuePlace queue, const TermIdentity& term);
  void detach() noexcept { connection_ = nullptr; }

  Result<Front> look() override;
  Result<Promoted> promote(WallTime until, std::size_t atMost) override;
  Result<std::vector<Unread>> unread() override;
  Result<void> fallAsleep(std::chrono::milliseconds forSoLong) override;
  /// A statement in a transaction of its own, which only the queue's present reader can commit. Returns how many rows
  /// it has changed. Errors: staleTerm, storeBusy (nothing was changed), those of the statement; unavailable instead of
  /// outcomeUnknown.
  Result<std::int64_t> commitAsReader(Command statement);
  /// The same, but it waits for the reader's row, and passes no fence: a term that has claimed and does not read yet
  /// finds what a former reader has done. Returns the statement's answer.
  Result<Answer> answerAsReader(Command statement);

 private:
  struct DueMessage {
    std::int64_t due = 0;  // 0: at once
    std::int64_t added = 0;
    std::string group;
  };
  /// In the order in which they come to the queue.
  using Due = std::vector<DueMessage>;
  template <class... Own>
  Command ofReader(const std::string& sql, const std::string& end, Own... own) const;
  bool isHeldUp(const Error& error) const;
  /// Begins the transaction. False: another transaction has locked the reader's row or the fence.
  Result<bool> begin();
  /// The same without the fence, and it waits. Errors: staleTerm.
  Result<void> hold();
  /// Ends the transaction with this statement.
  Result<Answer> finish(Command statement);
  /// Rolls the failed transaction back, and returns its error; unavailable where its outcome is unknown.
  Error undone(const Error& error);
  /// Nullopt: it cannot, and nothing has happened.
  Result<std::optional<Promoted>> moveAll(std::size_t atMost);
  Result<Due> dueMessages(WallTime until, std::size_t atMost);
  Result<storage::WaitingPage> lock(const Due& due);
  /// Leaves out the messages that have to wait for one that another transaction has locked.
  storage::WaitingPage movable(const Due& due, storage::WaitingPage locked);
  Result<Promoted> move(const storage::WaitingPage& page);
  Result<Promoted> commit(std::vector<Command> before, std::size_t messages, std::size_t timed);

  const Options& options_;
  Connection* connection_ = nullptr;
  QueuePlace queue_;
  TermIdentity term_;
  std::map<std::int64_t, BootTime> heldSince_;  // messages that other transactions have locked, by `added`
  scheduled::SettledBound once_;                // where a look at messages without a time begins
  std::int64_t timedFrom_ = 0;                  // where a look at messages with a time begins, in milliseconds
  std::optional<std::int64_t> firstTimed_;      // as the last look has seen it
  BootTime nextFrontLook_{};
  BootTime oneByOneUntil_{};  // until then messages are taken one by one, as others have locked some
};

}  // namespace tenure::postgresql
