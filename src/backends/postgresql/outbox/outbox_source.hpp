/// A user's table as the queue's consuming end (OutboxTable), on a session of its own.
///
/// Of the waiting room it uses only the reader's row: no message of this queue waits there. Of the queue's own messages
/// there are skips alone, which a relay appends behind dead rows with numbers; they are delivered before the rows.
///
/// Each look begins at the front: the first rows that wait, but for those that this attachment has handed out
/// (handed_out.hpp). There is no cursor, so a row that is committed late, in front of others, is never passed over.
///
/// Rows that were sent long ago are deleted, some at a time: once a minute; where there are more, once a second, and
/// where that takes long, for a fiftieth of the time.
///
/// Idle, it sleeps on the session's notifications, which the trigger tenure_wake_outbox sends, until the next row's
/// time, and for a second at most: a table without the trigger is looked at once a second.
#pragma once

#include <optional>
#include <vector>

#include "backends/postgresql/queue/reading.hpp"
#include "backends/postgresql/rows/handed_out.hpp"

namespace tenure::postgresql {

class OutboxSource final : public ReadingSource {
 public:
  /// Borrows them; `store` is the one of the same database, whose drivers mark what is `handedOut`.
  OutboxSource(const Options& options, const storage::FencedSession& store, HandedOut& handedOut)
      : ReadingSource(options, store), handedOut_(handedOut) {}

  Result<void> prepare(const std::stop_token& stop) override;
  Result<std::vector<Message>> fetch(std::size_t max, BootTime deadline, std::stop_token stop) override;
  Result<void> tend() override;
  Result<void> acknowledge(std::span<const Message> messages) override;

 private:
  Result<void> own(const TermIdentity& term) override;
  void forget() noexcept override;
  void leaveAsTheyAre(const Answer& rows);
  Result<std::vector<Message>> look(std::size_t max);
  Result<std::vector<Message>> skipsOf(const Answer& rows);
  /// Gives numbers to those that lack them, durably. False: some rows are not as they were read.
  Result<bool> number(std::vector<Message>& messages);
  /// Asks writers to wake this reader. True: they had not been asked, so look again.
  Result<bool> fallAsleep();
  /// Deletes some of the rows that were sent long ago.
  Result<void> forgetSent();
  Result<void> sleep(BootTime deadline, const std::stop_token& stop);

  HandedOut& handedOut_;
  std::optional<OutboxRows> rows_;
  std::chrono::milliseconds keepSent_{0};
  BootTime asleepUntil_ = BootTime::min();
  BootTime pacedUntil_ = BootTime::min();  // rows come in plenty: writers need not wake us before
  BootTime forgetAt_ = BootTime::max();    // when there is nothing else to do
  BootTime forgetNow_ = BootTime::max();   // whatever there is to do
  std::int64_t forgetAtOnce_ = 1000;       // rows: fewer where that takes long
  BootTime nextTime_ = BootTime::max();    // that of the next row that has one
};

}  // namespace tenure::postgresql
