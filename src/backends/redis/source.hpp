/// Redis as the queue's consuming end: a stream, read after a cursor that lives in memory. One leader consumes, so
/// nothing is claimed or pending on the server; a message is gone when its acknowledgement deletes it.
///
/// Between two reads it brings what is due (storage/scheduled/promoter.hpp). Each read asks as well whether a message
/// with an earlier time has come.
///
/// It waits in XREAD BLOCK on a connection of its own, which an append of anybody ends at once. A stop (an eventfd
/// beside the socket) ends only our waiting: what the server was asked for stays asked, and is heard by the next fetch,
/// while acknowledgements go on the other connection. A lost connection is made again; when another server process
/// answers there, the queue has to be attached again, before anything is fetched or acknowledged, because positions may
/// mean something else to it. And when nothing came, and at each acknowledgement, it makes sure that the queue is still
/// there: one that was emptied begins at position 1 again, which is behind the cursor, and what stands there now is
/// somebody's next message.
#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include "backends/redis/connection.hpp"
#include "backends/redis/keys.hpp"
#include "backends/redis/waiting_room.hpp"
#include "tenure/spi/source.hpp"

namespace tenure::redis {

/// Readable once a stop was asked for.
class StopBell {
 public:
  StopBell();
  ~StopBell();
  StopBell(const StopBell&) = delete;
  StopBell& operator=(const StopBell&) = delete;
  int descriptor() const noexcept { return descriptor_; }
  void ring() const noexcept;
  void silence() const noexcept;

 private:
  int descriptor_;
};

class Source final : public IMessageSource {
 public:
  /// `store` is the one of the same Database.
  Source(const Options& options, const IFencedStore& store, IEventSink& events)
      : link_(options),
        waiting_(options),
        keys_(options.queue),
        store_(store),
        promoter_(room_, events, systemClock()) {}

  Result<void> prepare(const std::stop_token& stop) override;
  Result<QueueIdentity> identity(const std::stop_token& stop) override;
  Result<void> attach(const Term& term) override;
  Result<std::vector<Message>> fetch(std::size_t max, BootTime deadline, std::stop_token stop) override;
  Result<void> tend() override;
  bool sharesTransactionsWith(const IFencedStore& store) const noexcept override { return &store == &store_; }
  Result<void> acknowledge(std::span<const Message> messages) override;
  void limitAnswers(AnswerTimer* timer) noexcept override {
    link_.limitAnswers(timer);
    waiting_.limitAnswers(timer);
  }
  void detach() noexcept override;

 private:
  Result<QueueIdentity> askIdentity(const std::stop_token& stop);
  /// The rest of an attachment.
  Result<void> own(const Term& term);
  /// What came ahead, and what is there after the cursor, which both move.
  Result<std::vector<Message>> look(std::size_t max);
  /// Asks for those that come next: while messages come in plenty they make their journey while others are in work.
  void askAhead(std::size_t max);
  void takeAhead();
  Result<std::vector<Message>> messagesFrom(const Reply& reply);
  Result<Connection*> connected() { return connected(link_); }
  Result<Connection*> connected(Link& link);
  Result<void> isStillOwned();
  Arguments readAfterCursor(std::string_view count, std::string_view after, std::string_view block = {}) const;
  /// One page of what is there.
  Result<std::vector<Message>> page(std::size_t max);
  /// The same, after the first message of it has come; none if it did not within `longest`, or before the bell rang.
  Result<std::vector<Message>> await(std::size_t max, Duration longest);
  Result<std::vector<Message>> arrived(const Reply& reply);

  Link link_;
  Link waiting_;
  Keys keys_;
  const IFencedStore& store_;
  StopBell bell_;
  std::string owner_;          // as the queue names it
  std::string runId_;          // of the server that the queue was attached at; empty when detached
  std::int64_t cursor_ = 0;    // position of the last message that has arrived
  std::deque<Message> ahead_;  // those that have arrived and were not handed out
  std::size_t pageSize_ = 16;
  WaitingRoom room_{link_, keys_};
  scheduled::Promoter promoter_;
  std::string heardOf_;  // the newest entry of the stream that tells of an earlier time
};

}  // namespace tenure::redis
