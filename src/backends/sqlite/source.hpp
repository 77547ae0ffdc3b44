/// SQLite as the queue's consuming end. The cursor lives in memory: one leader consumes, so nothing has to be locked
/// or marked as taken, and a message is gone when its acknowledgement deletes it.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "backends/sqlite/change_watch.hpp"
#include "backends/sqlite/open_file.hpp"
#include "backends/sqlite/waiting_room.hpp"
#include "tenure/events.hpp"
#include "tenure/spi/source.hpp"

namespace tenure::sqlite {

/// Of a row with n, id, grp, body, headers, enqueued_at. Errors: storeFailed.
Result<Message> messageFrom(const Query& row);

class Source final : public IMessageSource {
 public:
  /// `store` is the one of the same file.
  Source(OpenFile& file, const IFencedStore& store, IEventSink& events) : file_(file), store_(store), events_(events) {}

  Result<void> prepare(const std::stop_token&) override;
  Result<QueueIdentity> identity(const std::stop_token& stop) override;
  Result<void> attach(const Term& term) override;
  Result<std::vector<Message>> fetch(std::size_t max, BootTime deadline, std::stop_token stop) override;
  Result<void> tend() override { return promote(); }
  bool sharesTransactionsWith(const IFencedStore& store) const noexcept override { return &store == &store_; }
  Result<void> acknowledge(std::span<const Message> messages) override;
  void detach() noexcept override;

 private:
  void rehearse();
  Result<void> own(const TermIdentity& term);
  /// What is there now, after the cursor, which it moves.
  Result<std::vector<Message>> look(std::size_t max);
  /// The same, where those that lack numbers get them before anybody sees them.
  Result<std::vector<Message>> lookAndNumber(std::size_t max);
  /// Once a second: a file that was replaced, or went back to a backup, has older places than were read.
  ///
  /// Errors:  placeReplaced, staleTerm
  Result<void> checkQueue(BootTime now);
  /// Brings messages that are due to the end of the queue; not while a batch is open on the connection.
  Result<void> promote();

  OpenFile& file_;
  const IFencedStore& store_;
  IEventSink& events_;
  std::shared_ptr<Connection> connection_;
  TermIdentity term_;
  WaitingRoom room_;
  scheduled::Promoter promoter_{room_, events_, systemClock()};
  ChangeWatch watch_;
  std::int64_t queue_ = 0;
  std::int64_t cursor_ = 0;  // position of the last message delivered
  BootTime nextCheck_{};
  std::int64_t end_ = 0;  // the last position that the queue can ever have
};

}  // namespace tenure::sqlite
