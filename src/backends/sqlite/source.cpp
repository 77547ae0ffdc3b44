#include "backends/sqlite/source.hpp"

#include <algorithm>

#include "backends/sqlite/driver.hpp"
#include "backends/sqlite/queue_rows.hpp"
#include "backends/sqlite/schema.hpp"
#include "base/assert.hpp"
#include "messages/headers.hpp"
#include "messages/message_numbers.hpp"
#include "storage/waiting_rows.hpp"

namespace tenure::sqlite {
namespace {

using namespace std::chrono_literals;

constexpr Duration safetyNet = 1s;
constexpr Duration withoutWatch = 20ms;  // where the kernel gives no inotify watch
constexpr std::size_t usualPage = 256;
constexpr std::size_t enoughBytes = 8U << 20U;  // a fetch of large messages stops here

bool isOwnedBy(const QueueOwner& owner, const TermIdentity& term) {
  return owner.election == term.election.value && owner.path == term.electionPath;
}

}  // namespace

Result<Message> messageFrom(const Query& row) {
  Message message;
  message.position = row.integer(0);
  message.id.value = row.bytes(1);
  message.group.value = row.bytes(2);
  message.body = row.bytes(3);
  messages::readSentHeaders(row.bytes(4), message);
  message.enqueuedAt = row.time(5);
  return message;
}

Result<void> Source::prepare(const std::stop_token&) {
  const Result<void> usable = lookAsStandby(file_.options());
  connection_ = usable ? file_.openAhead() : nullptr;
  if (connection_ != nullptr) rehearse();
  connection_.reset();
  return usable;
}

/// Compiles the statements of an attachment and of a first look, before the term that runs them. All results are
/// dropped.
void Source::rehearse() {
  const Connection::Rehearsal rehearsal(*connection_);
  const std::string& name = file_.options().queue;
  static_cast<void>(readQueue(*connection_, whichQueue(file_.options())));
  static_cast<void>(isReader(*connection_, name, {}));
  room_.attach(connection_, 0, name, {});
  static_cast<void>(room_.look());
  static_cast<void>(room_.unread());
  room_.detach();
  static_cast<void>(look(1));
}

Result<QueueIdentity> Source::identity(const std::stop_token&) {
  const Result<std::shared_ptr<Connection>> opened = file_.acquire();
  if (!opened) return opened.error();
  Connection& connection = **opened;
  if (const auto known = findQueue(connection, whichQueue(file_.options())); known)
    return identityOf(connection, *known);
  if (const Result<void> locked = connection.lock(); !locked) return locked.error();
  const Result<std::int64_t> made = ensureQueue(connection, whichQueue(file_.options()));
  const Result<void> committed = made ? connection.commit() : Result<void>{};
  if (!made || !committed) connection.rollback();
  if (!made) return made.error();
  if (!committed) return committed.error();
  return identityOf(connection, *made);
}

Result<void> Source::attach(const Term& term) {
  Result<std::shared_ptr<Connection>> opened = file_.acquire();
  if (!opened) return opened.error();
  connection_ = std::move(*opened);
  const Result<void> owned = own(term.identity());
  if (!owned) {
    connection_->rollback();
    detach();
    return owned;
  }
  if (!watch_.watch(connection_->file()))
    events_.on({systemClock().wallNow(), term.identity().election, term.token(),
                Warned{"no inotify watch to be had: looking for messages every 20 ms"}});
  return {};
}

Result<void> Source::own(const TermIdentity& term) {
  const std::string& name = file_.options().queue;
  const auto begin = [&](std::int64_t queue) {
    queue_ = queue;
    term_ = term;
    cursor_ = positionIn(queue, 0);
    nextCheck_ = BootClock::now() + safetyNet;
    end_ = lastPositionIn(queue);
    room_.attach(connection_, queue, name, term);
    promoter_.attach(term);
  };
  // After a claim in the same file the queue is ours already, and nothing has to be locked.
  if (const Result<Queue> known = readQueue(*connection_, whichQueue(file_.options()));
      known && isOwnedBy(known->owner, term)) {
    const Result<bool> reads = isReader(*connection_, name, term);
    if (!reads) return reads.error();
    if (*reads) {
      begin(known->number);
      return {};
    }
  }
  if (Result<void> locked = connection_->lock(); !locked) return locked;
  const Result<Queue> queue = readOrAddQueue(*connection_, whichQueue(file_.options()));
  if (!queue) return queue.error();
  if (!queue->owner.election.empty() && !isOwnedBy(queue->owner, term))
    return Error{Errc::queueOwned, "it is consumed by election " + queue->owner.election + " at " + queue->owner.path};
  if (Result<void> written = writeOwner(*connection_, queue->number, storage::ownerOf(term)); !written) return written;
  if (Result<void> raised = raiseReader(*connection_, name, term); !raised) return raised;
  begin(queue->number);
  return connection_->commit();
}

Result<std::vector<Message>> Source::fetch(std::size_t max, BootTime deadline, std::stop_token stop) {
  TENURE_ASSERT(connection_ != nullptr);
  LookAgain lookAgain(watch_.isWatching() ? safetyNet : withoutWatch);
  for (;;) {
    watch_.forget();
    if (const Result<void> same = checkQueue(BootClock::now()); !same) return same.error();
    if (const Result<void> promoted = promote(); !promoted) return promoted.error();
    Result<std::vector<Message>> messages = file_.options().numberWhenRead ? lookAndNumber(max) : look(max);
    if (!messages || !messages->empty()) return messages;
    const BootTime now = BootClock::now();
    if (deadline <= now || stop.stop_requested()) return messages;
    const Duration untilDue = std::max<Duration>(promoter_.next() - now, 0ms);
    const ChangeWatch::Woke woke = watch_.wait(std::min({deadline - now, lookAgain.next(), untilDue}), stop);
    if (woke == ChangeWatch::Woke::changed) lookAgain.changed();
  }
}

Result<void> Source::checkQueue(BootTime now) {
  if (now < nextCheck_) return {};
  if (Result<void> same = connection_->checkPlace(); !same) return same;
  if (const Result<void> left = connection_->leaveStrangersWal(); !left) return left;
  const std::string& name = file_.options().queue;
  Query queue = connection_->query("SELECT last FROM tenure_queue WHERE number = ?1 AND name = ?2", queue_, name);
  const Result<bool> found = queue.next();
  if (!found) return found.error();
  if (!*found || queue.integer(0) < cursor_) return storage::wentBack(name);
  const Result<void> reads = checkReader(*connection_, name, term_);
  if (reads) nextCheck_ = now + safetyNet;
  return reads;
}

/// Looks at the waiting room each time: one look at an index, which needs no word from a sender.
Result<void> Source::promote() { return connection_->inTransaction() ? Result<void>{} : promoter_.turn(); }

Result<std::vector<Message>> Source::look(std::size_t max) {
  std::vector<Message> messages;
  messages.reserve(std::min(max, usualPage));
  Query rows = connection_->query(
      "SELECT n, id, grp, body, headers, enqueued_at FROM tenure_message WHERE n > ?1 AND n <= ?2 ORDER BY n LIMIT ?3",
      cursor_, end_, static_cast<std::int64_t>(max));
  for (std::size_t bytes = 0; bytes < enoughBytes;) {
    const Result<bool> row = rows.next();
    if (!row) return row.error();
    if (!*row) break;
    Result<Message> message = messageFrom(rows);
    if (!message) return message.error();
    bytes += message->body.size();
    messages.push_back(std::move(*message));
  }
  if (!messages.empty()) cursor_ = messages.back().position;
  return messages;
}

/// A look without the lock shows whether there is anything to do. Within a transaction that is open, and may be undone,
/// no number can be given: what lacks one comes after it.
Result<std::vector<Message>> Source::lookAndNumber(std::size_t max) {
  const std::int64_t before = cursor_;
  Result<std::vector<Message>> seen = look(max);
  if (!seen) return seen;
  const auto lacking = std::ranges::find_if(*seen, messages::mayGetNumber);
  if (lacking == seen->end()) return seen;
  if (connection_->inTransaction()) {
    seen->erase(lacking, seen->end());
    cursor_ = seen->empty() ? before : seen->back().position;
    return seen;
  }
  cursor_ = before;
  if (const Result<void> locked = connection_->lock(); !locked) return locked.error();
  const auto inTransaction = [&]() -> Result<std::vector<Message>> {
    const Result<bool> ours = isReader(*connection_, file_.options().queue, term_);
    if (!ours) return ours.error();
    if (!*ours) return storage::newerReader(file_.options().queue);
    Result<std::vector<Message>> messages = look(max);
    const Result<void> given = messages ? giveNumbers(*connection_, queue_, *messages) : Result<void>{};
    return given ? std::move(messages) : given.error();
  };
  Result<std::vector<Message>> numbered = inTransaction();
  const Result<void> committed = numbered ? connection_->commit() : Result<void>{};
  if (numbered && committed) return numbered;
  connection_->rollback();
  cursor_ = before;  // they are read again, and have their numbers then or not
  if (!numbered) return numbered;
  const bool isUnknown = isOutcomeUnknown(committed.error().code);
  return isUnknown ? Error{Errc::unavailable, committed.error().detail} : committed.error();
}

Result<void> Source::acknowledge(std::span<const Message> messages) {
  TENURE_ASSERT(connection_ != nullptr);
  if (Result<void> locked = connection_->lock(); !locked) return locked;
  std::vector<std::int64_t> positions;
  for (const Message& message : messages) positions.push_back(message.position);
  if (Result<void> deleted = deleteByPosition(*connection_, positions); !deleted) {
    connection_->rollback();
    return deleted;
  }
  return connection_->commit();
}

void Source::detach() noexcept {
  watch_.unwatch();
  room_.detach();
  connection_.reset();
  file_.closeAhead();
}

}  // namespace tenure::sqlite
