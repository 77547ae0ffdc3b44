#include "storage/scheduled/promoter.hpp"

#include <algorithm>
#include <chrono>

#include "base/emit.hpp"
#include "base/text.hpp"

namespace tenure::scheduled {

namespace {

using namespace std::chrono_literals;

constexpr std::chrono::milliseconds net = 1s;
constexpr Duration again = 20ms;                  // where others have locked what is needed
constexpr std::chrono::milliseconds pace = 10ms;  // while messages without a time come
constexpr auto sleep = 1500ms;                    // renewed by a reader that is still idle after `net`
constexpr std::size_t together = 1000;            // messages in one transaction
constexpr auto lateLimit = 5s;
constexpr Duration tellingPace = 1min;

}  // namespace

void Promoter::attach(const TermIdentity& term) {
  const bool isNew = term.token != term_.token || term.generation != term_.generation ||
                     term.ensemble != term_.ensemble || term.election != term_.election;
  if (isNew) {
    dueClock_ = {};
    nextUnreadLook_ = clock_.now() + net;  // and not before the term's first message
    toldUnread_.clear();
  }
  term_ = term;
  asleepUntil_ = BootTime::min();
  next_ = paced_ = BootTime{};
}

Result<void> Promoter::turn() {
  const Result<IWaitingRoom::Front> front = room_.look();
  if (!front) return front.error();
  const BootTime now = clock_.now();
  const bool wasTrusted = dueClock_.isTrusted();
  const WallTime reckoned = dueClock_.reckon(front->now, now);
  tellClock(front->now, wasTrusted);
  if (const Result<void> told = tellUnread(front->now); !told) return told;
  std::optional<WallTime> next = front->due;
  std::chrono::milliseconds most = net;
  if (next && *next <= reckoned) {
    const Result<IWaitingRoom::Promoted> promoted = room_.promote(reckoned, together);
    if (!promoted) return promoted.error();
    if (promoted->isHeld) {
      next_ = now + again;
      return {};
    }
    tellLateness(*promoted);
    next = promoted->next;
    if (promoted->hasOnce) {
      most = pace;
      paced_ = now + pace;
    }
  }
  // In milliseconds: a time that is far away does not fit into a Duration.
  next_ = now + (!next || *next - reckoned > most ? most : std::max<Duration>(*next - reckoned, 0s));
  return {};
}

Result<bool> Promoter::fallAsleep() {
  const BootTime now = clock_.now();
  if (now < paced_ || asleepUntil_ >= now + net) return false;
  const Result<void> asleep = room_.fallAsleep(sleep);
  if (!asleep) return asleep.error();
  asleepUntil_ = now + sleep;
  wake();
  return true;
}

void Promoter::tellLateness(const IWaitingRoom::Promoted& promoted) {
  if (promoted.lateness < lateLimit || clock_.now() < nextTelling_) return;
  nextTelling_ = clock_.now() + tellingPace;
  tell(ScheduledLate{promoted.messages, promoted.lateness});
}

Result<void> Promoter::tellUnread(WallTime now) {
  if (clock_.now() < nextUnreadLook_) return {};
  const Result<std::vector<IWaitingRoom::Unread>> unread = room_.unread();
  if (!unread) return unread.error();
  nextUnreadLook_ = clock_.now() + tellingPace;
  for (const auto& [queue, since] : *unread)
    if (toldUnread_.insert(queue).second) tell(QueueUnread{queue, now - since});
  return {};
}

void Promoter::tellClock(WallTime stores, bool wasTrusted) {
  if (!wasTrusted || dueClock_.isTrusted()) return;
  tell(ClockDistrusted{"the store's", "it jumped to " + formatWallTime(stores) +
                                          ": until it has gone on evenly for ten minutes, times of messages are "
                                          "reckoned by the earlier of it and of the time that has passed since"});
}

void Promoter::tell(EventBody body) { Emitter(events_, clock_, term_.election)(std::move(body), term_.token); }

namespace {

using namespace std::chrono_literals;

constexpr auto jump = 1min;
constexpr Duration untilTrusted = 10min;

bool goesOn(WallTime clock, WallTime expected) { return clock <= expected + jump && expected <= clock + jump; }

}  // namespace

WallTime DueClock::Point::expected(BootTime now) const {
  return wall + std::chrono::floor<std::chrono::milliseconds>(now - at);
}

WallTime DueClock::reckon(WallTime stores, BootTime now) {
  const WallTime expected = trusted_ ? trusted_->expected(now) : stores;
  const bool isEven = goesOn(stores, expected);
  if (!isEven && (!jumped_ || !goesOn(stores, jumped_->expected(now)))) jumped_ = Point{stores, now};
  if (!isEven && now - jumped_->at < untilTrusted) return std::min(stores, expected);
  trusted_ = Point{stores, now};
  jumped_.reset();
  return stores;
}

}  // namespace tenure::scheduled
