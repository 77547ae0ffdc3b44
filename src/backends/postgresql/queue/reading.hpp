/// What the sources of this room have in common: a session of the term's own, which is the queue's reader and listens.
#pragma once

#include <memory>
#include <optional>
#include <stop_token>

#include "backends/postgresql/rows/waiting_room.hpp"
#include "backends/postgresql/session/connection.hpp"
#include "backends/postgresql/store/session.hpp"
#include "storage/fenced_session.hpp"
#include "tenure/spi/source.hpp"
#include "tenure/values.hpp"

namespace tenure::postgresql {

/// Sleeps until something arrives on a session's socket, a deadline passes, or a stop is asked for: an idle consumer
/// costs nothing and a NOTIFY wakes it at once.
class WakeUp {
 public:
  WakeUp();
  ~WakeUp();
  WakeUp(const WakeUp&) = delete;
  WakeUp& operator=(const WakeUp&) = delete;

  void wait(int socket, Duration atMost, const std::stop_token& stop);

 private:
  int stopEvent_;
};

class ReadingSource : public IMessageSource {
 public:
  Result<void> prepare(const std::stop_token& stop) override;
  Result<QueueIdentity> identity(const std::stop_token& stop) final;
  Result<void> attach(const Term& term) final;
  bool sharesTransactionsWith(const IFencedStore& store) const noexcept final { return &store == &store_; }
  void limitAnswers(AnswerTimer* timer) noexcept final;
  void detach() noexcept final;

 protected:
  /// Borrows both; `store` is the one of the same database.
  ReadingSource(const Options& options, const storage::FencedSession& store)
      : options_(options), room_(options), session_(options, "tenure standby", sourceSession), store_(store) {}

  /// The rest of an attachment, on a session that is open.
  virtual Result<void> own(const TermIdentity& term) = 0;
  /// Drops what was read or handed out in this attachment.
  virtual void forget() noexcept = 0;
  /// Makes the term the queue's reader, and the queue its election's where it has none. From then on the session
  /// listens for what comes to it, so that nothing falls between this and the first look.
  ///
  /// Errors:  queueOwned, staleTerm; those of checkSchema()
  Result<void> takeToRead(const TermIdentity& term);
  /// Whether the database still has the queue that this term reads, and has read up to `cursor`: tables may be brought
  /// back from a backup while a session goes on.
  ///
  /// Errors:  placeReplaced, staleTerm
  Result<void> checkQueue(std::int64_t cursor);

  const Options& options_;
  std::shared_ptr<Connection> connection_;
  WaitingRoom room_;
  Session session_;
  WakeUp wakeUp_;
  std::int64_t queue_ = 0;

 private:
  void drop() noexcept;
  Result<QueuePlace> ownedPlace(const TermIdentity& term);
  Result<bool> becomeReader(const QueuePlace& place, const TermIdentity& term);

  const storage::FencedSession& store_;
  TermIdentity term_;
  std::string channel_;
  std::optional<QueuePlace> prepared_;  // where prepare() has found the queue: a guess
};

}  // namespace tenure::postgresql
