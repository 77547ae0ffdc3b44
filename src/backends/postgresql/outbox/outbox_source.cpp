#include "backends/postgresql/outbox/outbox_source.hpp"

#include <algorithm>

#include "backends/postgresql/rows/numbering.hpp"
#include "backends/shared/cut_off.hpp"
#include "base/assert.hpp"

namespace tenure::postgresql {
namespace {

using namespace std::chrono_literals;

constexpr std::chrono::milliseconds outboxNet = 1s;  // a table may have no trigger, and a notification may be lost
constexpr auto outboxSleep = 1500ms;                 // renewed by a reader that is still idle after `outboxNet`
constexpr Duration outboxPace = 10ms;
constexpr std::int64_t mostForgotten = 1000;
constexpr Duration slowToForget = 200ms;
constexpr std::int64_t outboxBytes = 8LL << 20U;  // a fetch of large messages stops here

}  // namespace

/// Like a session of the store's, and then with a look at the table.
Result<void> OutboxSource::prepare(const std::stop_token& stop) {
  if (Result<void> fit = ReadingSource::prepare(stop); !fit || connection_) return fit;
  const auto prepared = session_.withoutTerm(stop);
  if (!prepared) return backends::unlessStopped(prepared.error(), stop);
  const backends::CutOff cutOff((*prepared)->socket(), stop);
  const Result<OutboxShape> shape = shapeOf(**prepared, *options_.table);
  if (!shape) return backends::unlessStopped(shape.error(), stop);
  return options_.numberWhenRead ? shape->takesNumbers() : Result<void>{};
}

Result<void> OutboxSource::own(const TermIdentity& term) {
  Result<OutboxShape> shape = shapeOf(*connection_, *options_.table);
  if (!shape) return shape.error();
  if (const Result<void> fit = shape->takesNumbers(); options_.numberWhenRead && !fit) return fit;
  if (Result<void> taken = takeToRead(term); !taken) return taken;
  keepSent_ = shape->keepSent;
  forgetAt_ = forgetNow_ = keepSent_ > 0ms ? BootClock::now() : BootTime::max();
  rows_.emplace(*std::move(shape));
  const Exchange left = connection_->exchange(std::vector{rows_->deadAndWaiting(queue_)});
  if (!left) return left.error();
  handedOut_.begin(*rows_, queue_);
  leaveAsTheyAre(left.answers[0]);
  asleepUntil_ = pacedUntil_ = BootTime::min();
  return {};
}

Result<std::vector<Message>> OutboxSource::fetch(std::size_t max, BootTime deadline, std::stop_token stop) {
  TENURE_ASSERT(connection_ != nullptr);
  for (;;) {
    Result<std::vector<Message>> messages = look(max);
    if (!messages || !messages->empty()) return messages;
    const BootTime now = BootClock::now();
    if (deadline <= now || stop.stop_requested()) return messages;
    // libpq takes what comes with the look's answer off the socket, which then rings no more.
    const auto heard = connection_->takeNotifications();
    if (!heard) return heard.error();
    if (heard->ofQueue || heard->ofTime) continue;
    const Result<bool> asleep = fallAsleep();
    if (!asleep) return asleep.error();
    if (*asleep) continue;
    if (now >= forgetAt_)
      if (const Result<void> forgotten = forgetSent(); !forgotten) return forgotten.error();
    const BootTime paced = now < pacedUntil_ ? pacedUntil_ : BootTime::max();
    if (const Result<void> slept = sleep(std::min({deadline, now + outboxNet, nextTime_, paced}), stop); !slept)
      return slept.error();
    if (BootClock::now() >= deadline) return messages;  // the next fetch begins with a look
  }
}

/// They are handed out for good.
void OutboxSource::leaveAsTheyAre(const Answer& rows) {
  std::vector<std::string> ids;
  for (int row = 0; row < rows.rows(); ++row) {
    ids.push_back(rows.text(row, 0));
    handedOut_.add(ids.back());
  }
  handedOut_.leaveAsTheyAre(ids);
}

/// Once more where the table has changed since its shape was read.
Result<std::vector<Message>> OutboxSource::look(std::size_t max) {
  const auto ask = [&] {
    return connection_->exchange(std::vector{rows_->look(handedOut_.ids(), max, outboxBytes), rows_->untilNext(),
                                             selectFirst(queue_, handedOut_.skips(), max)});
  };
  Exchange looked = ask();
  if (!looked && !connection_->isLost() && HandedOut::mayHaveChanged(looked.failure->sqlState)) {
    Result<OutboxShape> shape = shapeOf(*connection_, *options_.table);
    if (!shape) return shape.error();
    rows_.emplace(*std::move(shape));
    handedOut_.renew(*rows_);
    looked = ask();
  }
  if (!looked) return looked.error();
  if (looked.answers[2].rows() > 0) return skipsOf(looked.answers[2]);
  const BootTime now = BootClock::now();
  const Answer& next = looked.answers[1];
  nextTime_ = BootTime::max();
  if (!next.isNull(0, 0) && next.integer(0, 0) < outboxNet.count())
    nextTime_ = now + std::chrono::milliseconds{next.integer(0, 0)};
  std::vector<Message> messages;
  for (int row = 0; row < looked.answers[0].rows(); ++row)
    messages.push_back(OutboxRows::messageFrom(looked.answers[0], row));
  const Result<bool> numbered = number(messages);
  if (!numbered) return numbered.error();
  if (!*numbered) return std::vector<Message>{};  // some are not as they were read: the next look finds them
  for (Message& message : messages) message.position = handedOut_.add(message.id.value);
  if (!messages.empty()) pacedUntil_ = now + outboxPace;
  return messages;
}

Result<std::vector<Message>> OutboxSource::skipsOf(const Answer& rows) {
  std::vector<Message> skips;
  for (int row = 0; row < rows.rows(); ++row) {
    Result<Message> skip = messageFrom(rows, row);
    if (!skip) return skip.error();
    skip->position = handedOut_.addSkip(skip->position);
    skips.push_back(*std::move(skip));
  }
  return skips;
}

Result<bool> OutboxSource::number(std::vector<Message>& messages) {
  if (!options_.numberWhenRead) return true;
  Unnumbered lacking(messages, [](const Message& message) { return message.id.value; });
  if (lacking.isEmpty()) return true;
  const Result<Answer> given = room_.answerAsReader(rows_->number(queue_, lacking.keys()));
  return given ? Result<bool>(lacking.take(*given)) : given.error();
}

Result<void> OutboxSource::tend() {
  TENURE_ASSERT(connection_ != nullptr);
  return BootClock::now() >= forgetNow_ ? forgetSent() : Result<void>{};
}

/// Rows that cannot be deleted (a foreign key may refer to them) or that others have locked are no trouble of this
/// term.
Result<void> OutboxSource::forgetSent() {
  const BootTime began = BootClock::now();
  const Result<std::int64_t> gone = room_.commitAsReader(rows_->forget(keepSent_, forgetAtOnce_));
  if (!gone && (gone.error().is(Errc::staleTerm) || connection_->isLost())) return gone.error();
  const BootTime now = BootClock::now();
  const Duration took = now - began;
  const bool hasMore = gone && *gone == forgetAtOnce_;
  if (!gone)
    forgetAtOnce_ = std::max<std::int64_t>(forgetAtOnce_ / 4, 1);
  else if (took > slowToForget)
    forgetAtOnce_ = std::max<std::int64_t>(forgetAtOnce_ / 2, 1);
  else
    forgetAtOnce_ = std::min(forgetAtOnce_ * 2, mostForgotten);
  forgetAt_ = hasMore ? now + 1s : now + 1min;
  forgetNow_ = hasMore ? now + std::max<Duration>(1s, 50 * took) : forgetAt_;
  return {};
}

Result<bool> OutboxSource::fallAsleep() {
  const BootTime now = BootClock::now();
  if (now < pacedUntil_ || asleepUntil_ >= now + outboxNet) return false;
  if (const Result<void> asleep = room_.fallAsleep(outboxSleep); !asleep) return asleep.error();
  const bool wasAsleep = now < std::exchange(asleepUntil_, now + outboxSleep);
  return !wasAsleep;
}

Result<void> OutboxSource::sleep(BootTime deadline, const std::stop_token& stop) {
  const BootTime now = BootClock::now();
  if (deadline > now && !stop.stop_requested()) wakeUp_.wait(connection_->socket(), deadline - now, stop);
  return {};
}

/// Under the reader's row: a later term's reader keeps a stale one from marking rows.
Result<void> OutboxSource::acknowledge(std::span<const Message> messages) {
  TENURE_ASSERT(connection_ != nullptr);
  std::vector<std::int64_t> positions;
  for (const Message& message : messages) positions.push_back(message.position);
  HandedOut::Marks marks = handedOut_.marksFor(positions);
  std::int64_t changed = 0;
  for (std::size_t i = 0; i < marks.commands.size(); ++i) {
    const Result<std::int64_t> marked = room_.commitAsReader(std::move(marks.commands[i]));
    if (!marked) return marked.error();
    if (i < marks.ofRows) changed += *marked;
  }
  return handedOut_.committed(*connection_, marks, changed);
}

void OutboxSource::forget() noexcept {
  rows_.reset();
  handedOut_.end();
}

}  // namespace tenure::postgresql
