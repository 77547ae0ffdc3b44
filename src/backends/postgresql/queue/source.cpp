#include "backends/postgresql/queue/source.hpp"

#include <algorithm>
#include <iterator>

#include "backends/postgresql/rows/numbering.hpp"
#include "backends/postgresql/rows/queue_rows.hpp"
#include "base/assert.hpp"

namespace tenure::postgresql {
namespace {

using namespace std::chrono_literals;

constexpr Duration safetyNet = 1s;                // a notification may be lost with whatever stands in between
constexpr Duration checkPause = 5s;               // a database that went back to a backup is noticed by then
constexpr std::int64_t enoughBytes = 8LL << 20U;  // a fetch of large messages stops here
// A receive window of the least common size takes it, so that the server has sent all of it, however long we are away.
constexpr std::int64_t bufferedBytes = 48LL << 10U;

bool isLight(const std::vector<Message>& messages) {
  std::size_t bytes = 0;
  for (const Message& message : messages) bytes += message.body.size();
  return bytes <= static_cast<std::size_t>(bufferedBytes);
}

}  // namespace

Result<void> Source::own(const TermIdentity& term) {
  if (Result<void> taken = takeToRead(term); !taken) return taken;
  cursor_ = 0;
  nextCheck_ = BootClock::now() + checkPause;
  promoter_.attach(term);
  return {};
}

Result<std::vector<Message>> Source::fetch(std::size_t max, BootTime deadline, std::stop_token stop) {
  TENURE_ASSERT(connection_ != nullptr);
  for (;;) {
    if (const Result<void> tended = tend(); !tended) return tended.error();
    Result<std::vector<Message>> messages = look(max);
    if (!messages || !messages->empty()) return messages;
    const BootTime now = BootClock::now();
    if (deadline <= now || stop.stop_requested()) return messages;
    // libpq takes what comes with the look's answer off the socket, which then rings no more.
    const auto heard = connection_->takeNotifications();
    if (!heard) return heard.error();
    if (heard->ofTime) promoter_.wake();
    if (heard->ofQueue || promoter_.isTime()) continue;
    const auto asleep = promoter_.fallAsleep();
    if (!asleep) return asleep.error();
    if (*asleep) continue;
    if (const Result<void> slept = sleep(std::min(deadline, now + safetyNet), stop); !slept) return slept.error();
  }
}

/// Until a message may have come to the queue's end, or until it is time to look at those that wait.
Result<void> Source::sleep(BootTime deadline, const std::stop_token& stop) {
  for (;;) {
    const BootTime until = std::min(deadline, promoter_.next());
    const BootTime now = BootClock::now();
    if (until <= now || stop.stop_requested()) return {};
    wakeUp_.wait(connection_->socket(), until - now, stop);
    const auto heard = connection_->takeNotifications();
    if (!heard) return heard.error();
    if (heard->ofTime) promoter_.wake();
    if (heard->ofQueue) return {};
  }
}

Result<void> Source::tend() {
  TENURE_ASSERT(connection_ != nullptr);
  const auto heard = connection_->takeNotifications();
  if (!heard) return heard.error();
  if (heard->ofTime) promoter_.wake();
  const bool checks = BootClock::now() >= nextCheck_;
  if (!checks && !promoter_.isTime()) return {};
  if (const Result<void> arrived = takeAhead(); !arrived) return arrived;
  if (checks) {
    if (const Result<void> same = checkQueue(cursor_); !same) return same;
    nextCheck_ = BootClock::now() + checkPause;
  }
  return promoter_.isTime() ? promoter_.turn() : Result<void>{};
}

/// Bounds are hidden from the planner (row_sets.hpp).
Result<void> Source::ask(std::size_t max) {
  if (ahead_.size() >= max) return {};
  const Result<Answer> rows = connection_->ask(
      "SELECT n, id, grp, body, headers, enqueued_at FROM ("
      " SELECT *, sum(octet_length(body)) OVER (ORDER BY n) - octet_length(body) AS before FROM ("
      "  SELECT * FROM tenure_message WHERE queue = $1 AND n > (SELECT $2) ORDER BY n LIMIT (SELECT $3)) AS next"
      ") AS measured WHERE before < $4 ORDER BY n",
      queue_, cursor_, static_cast<std::int64_t>(max - ahead_.size()), enoughBytes);
  return rows ? take(*rows) : Result<void>(rows.error());
}

/// After a failure all are read again: some may have their numbers by then.
Result<bool> Source::number() {
  if (!options_.numberWhenRead) return true;
  Unnumbered lacking(ahead_, [](const Message& message) { return std::to_string(message.position); });
  if (lacking.isEmpty()) return true;
  const Result<Answer> given = room_.answerAsReader(giveNumbers(queue_, lacking));
  if (given && lacking.take(*given)) return true;
  cursor_ = ahead_.front().position - 1;
  ahead_.clear();
  return given ? Result<bool>(false) : given.error();
}

Result<std::vector<Message>> Source::look(std::size_t max) {
  if (const Result<void> arrived = takeAhead(); !arrived) return arrived.error();
  for (bool isSound = false; !isSound;) {
    if (const Result<void> asked = ask(max); !asked) return asked.error();
    const Result<bool> numbered = number();
    if (!numbered) return numbered.error();
    isSound = *numbered;
  }
  const auto end = ahead_.begin() + static_cast<std::ptrdiff_t>(std::min(max, ahead_.size()));
  std::vector<Message> messages(std::move_iterator(ahead_.begin()), std::move_iterator(end));
  ahead_.erase(ahead_.begin(), end);
  if (messages.size() == max && isLight(messages)) askAhead(max);
  return messages;
}

void Source::askAhead(std::size_t max) {
  if (ahead_.size() >= max) return;
  connection_->start(std::vector{command(
      "SELECT n, id, grp, body, headers, enqueued_at FROM ("
      " SELECT *, sum(64 + octet_length(id) + octet_length(grp) + octet_length(body) + coalesce(octet_length(headers), "
      "0)) OVER (ORDER BY n) AS size FROM ("
      "  SELECT * FROM tenure_message WHERE queue = $1 AND n > (SELECT $2) ORDER BY n LIMIT (SELECT $3)) AS next"
      ") AS measured WHERE size <= $4 ORDER BY n",
      queue_, cursor_, static_cast<std::int64_t>(max - ahead_.size()), bufferedBytes)});
}

Result<void> Source::takeAhead() {
  if (!connection_->isUnderWay()) return {};
  const Exchange arrived = connection_->finish();
  return arrived ? take(arrived.answers[0]) : Result<void>(arrived.error());
}

Result<void> Source::take(const Answer& rows) {
  for (int row = 0; row < rows.rows(); ++row) {
    Result<Message> message = messageFrom(rows, row);
    if (!message) return message.error();
    cursor_ = message->position;
    ahead_.push_back(std::move(*message));
  }
  return {};
}

/// What is sent in one go is one transaction.
Result<void> Source::acknowledge(std::span<const Message> messages) {
  TENURE_ASSERT(connection_ != nullptr);
  if (messages.empty()) return {};
  if (Result<void> arrived = takeAhead(); !arrived) return arrived;
  std::vector<std::int64_t> positions;
  for (const Message& message : messages) positions.push_back(message.position);
  const Exchange deleted = connection_->exchange(std::vector{deleteByPosition(queue_, std::move(positions))});
  return deleted ? Result<void>{} : deleted.error();
}

}  // namespace tenure::postgresql
