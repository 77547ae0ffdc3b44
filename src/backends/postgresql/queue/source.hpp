/// PostgreSQL as the queue's consuming end, on a session of its own: it reads what is committed, whatever the store's
/// transaction is doing, and sleeps on that session's notifications. The cursor lives in memory: one leader consumes,
/// so no row has to be locked or marked as taken, and a message is gone when its acknowledgement deletes it.
///
/// While messages come in plenty, the next ones are asked for as soon as some are handed out: the server looks for them
/// while those are in work, and their journey costs no time. No more of them than fits into the connection's buffers,
/// so that a server never waits for a slow handler.
#pragma once

#include <deque>
#include <vector>

#include "backends/postgresql/queue/reading.hpp"
#include "storage/scheduled/promoter.hpp"

namespace tenure::postgresql {

class Source final : public ReadingSource {
 public:
  /// Borrows both; `store` is the one of the same database.
  Source(const Options& options, const storage::FencedSession& store, IEventSink& events)
      : ReadingSource(options, store), promoter_(room_, events, systemClock()) {}

  Result<std::vector<Message>> fetch(std::size_t max, BootTime deadline, std::stop_token stop) override;
  Result<void> tend() override;
  Result<void> acknowledge(std::span<const Message> messages) override;

 private:
  Result<void> own(const TermIdentity& term) override;
  void forget() noexcept override { ahead_.clear(); }
  /// The messages after the cursor: first those read ahead, then those in the table now. Moves the cursor.
  Result<std::vector<Message>> look(std::size_t max);
  Result<void> ask(std::size_t max);
  /// Gives numbers to the messages in `ahead_`, if configured. False: they have to be read again.
  Result<bool> number();
  Result<void> sleep(BootTime deadline, const std::stop_token& stop);
  void askAhead(std::size_t max);
  Result<void> takeAhead();
  Result<void> take(const Answer& rows);

  BootTime nextCheck_{};
  scheduled::Promoter promoter_;
  std::int64_t cursor_ = 0;    // position of the last message that has arrived
  std::deque<Message> ahead_;  // arrived, not handed out yet
};

}  // namespace tenure::postgresql
