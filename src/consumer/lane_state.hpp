/// State that the parts of one lane share: their term, what they know of messages, and what the open transaction will
/// write.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <iterator>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "consumer/charges.hpp"
#include "consumer/clock_watch.hpp"
#include "consumer/dead_letter_streak.hpp"
#include "consumer/sweep_pace.hpp"
#include "consumer/values.hpp"
#include "messages/headers.hpp"
#include "messages/message_numbers.hpp"
#include "tenure/consumer.hpp"
#include "tenure/message.hpp"
#include "tenure/spi/store.hpp"

namespace tenure::consuming {

/// The messages that the runs of one transaction stand for, where the supply coalesces. The supply names them
/// when a run begins, and hears of them when the transaction is over (supply/coalescer.hpp). Pure.
class CoalescedSet {
 public:
  void begins(const MessagePtr& message, std::vector<Message> others) {
    of_ = message.place();
    others_ = std::move(others);
  }
  /// The message ran in the open transaction. Returns how many others it stood for.
  std::size_t ran(const MessagePtr& message) {
    if (of_ != message.place()) return 0;
    settled_.insert(settled_.end(), others_.begin(), others_.end());
    return others_.size();
  }
  void dropped(const MessagePtr& message) { dropped_.push_back(message.place()); }
  /// The open transaction was undone, or is over.
  void forget() noexcept {
    settled_.clear();
    dropped_.clear();
  }

  std::span<const Message> toAcknowledge() const noexcept { return settled_; }
  bool hadRun(const MessagePtr& message) const {
    return std::ranges::find(dropped_, message.place()) == dropped_.end();
  }

 private:
  std::optional<supply::Place> of_;  // the last that began
  std::vector<Message> others_;
  std::vector<Message> settled_;
  std::vector<supply::Place> dropped_;
};

/// Collects what the next commit adds to the consume log, and decides when the log is shortened. Pure.
///
/// A line is written in the transaction that has the attempt's effect, or the record of its failure. A transaction that
/// comes to nothing takes its lines with it, but for those of an external handler, whose run was real.
class AttemptLog {
 public:
  explicit AttemptLog(const ConsumerOptions& options)
      : keepFor_(options.keepLogFor),
        mostKept_(options.keepLogLines),
        outlivesTransaction_(options.handlerIsExternal) {}

  bool isKept() const noexcept { return keepFor_.count() > 0; }
  void began(WallTime at) noexcept { beganAt_ = at; }
  void ended(const MessageId& id, int attempt, AttemptEnd end, const std::string& why, WallTime at) {
    if (isKept()) lines_.push_back({id, attempt, end, why, beganAt_, at});
  }
  /// The last attempt on record did not come home.
  void died(const AttemptRecord& record) {
    if (!isKept()) return;
    lines_.push_back({record.id, record.attempts, AttemptEnd::died, record.lastError, record.lastAt, record.lastAt});
  }
  std::span<const LoggedAttempt> lines() const noexcept { return lines_; }
  void committed() noexcept { lines_.clear(); }
  void undone() noexcept {
    if (!outlivesTransaction_) lines_.clear();
  }

  void start(BootTime now) noexcept {
    if (isKept()) pace_.start(now);
  }
  bool isDue(bool idle, BootTime now) const noexcept { return pace_.isDue(idle, now); }
  LogPruning step(WallTime wall) const {
    return {.consumer = {}, .before = wall - keepFor_, .atMost = SweepPace::step, .mostKept = mostKept_};
  }
  void pruned(std::size_t removed, BootTime now) noexcept { pace_.stepped(removed < SweepPace::step, now); }

 private:
  const std::chrono::hours keepFor_;
  const std::size_t mostKept_;
  const bool outlivesTransaction_;
  std::vector<LoggedAttempt> lines_;
  WallTime beganAt_{};
  SweepPace pace_;
};

/// State that the lanes of a term share.
struct Notes {
  explicit Notes(const ConsumerOptions& options) : streak(options), clock(options.keepIdsFor) {}
  DeadLetterStreak streak;
  std::mutex clockMutex;
  ClockWatch clock;  // under the mutex: each lane looks at it when it commits
  StuckAlarm stuck;
  std::optional<BootTime> requestedAt{};  // see Term
  std::atomic<bool> hasCommitted = false;
};

/// Histories of messages that failed, or had to wait.
class Histories {
 public:
  const AttemptRecord* attemptsOf(const MessageId& id) const {
    if (attempts_.empty()) return nullptr;
    const auto found = attempts_.find(id);
    return found == attempts_.end() ? nullptr : &found->second;
  }
  void put(const AttemptRecord& record) { attempts_.insert_or_assign(record.id, record); }
  void release(const MessageId& id) { attempts_.at(id).state = AttemptState::released; }
  bool hasDied(const MessageId& id) const {
    const AttemptRecord* before = attemptsOf(id);
    return before != nullptr && before->processDied;
  }
  bool isReleased(const MessageId& id) const {
    const AttemptRecord* before = attemptsOf(id);
    return before != nullptr && before->state == AttemptState::released;
  }
  /// The message is done.
  void clearAttempts(const MessageId& id) {
    attempts_.erase(id);
    block.lift(id);
  }
  /// Counts one postponement more, on top of those that an earlier term has recorded.
  const Postponements& postpone(const MessageId& id, WallTime now) {
    const auto [known, isNew] = postponements_.try_emplace(id, Postponements{0, now});
    if (const AttemptRecord* before = attemptsOf(id); isNew && before != nullptr && before->postponements.times > 0)
      known->second = before->postponements;
    ++known->second.times;
    return known->second;
  }
  /// Since when, in this term and before.
  std::optional<WallTime> putOffSince(const MessageId& id) const {
    if (const auto known = postponements_.find(id); known != postponements_.end()) return known->second.since;
    const AttemptRecord* before = attemptsOf(id);
    const bool wasPutOff = before != nullptr && before->postponements.times > 0;
    return wasPutOff ? std::optional(before->postponements.since) : std::nullopt;
  }
  /// Whether it was postponed.
  bool settle(const MessageId& id) { return !postponements_.empty() && postponements_.erase(id) > 0; }

  void know(std::vector<MessageHistory> histories) {
    for (MessageHistory& history : histories) {
      if (history.postponements.times > 0) postponements_.insert_or_assign(history.id, history.postponements);
      if (history.block) block.put(history.id, *history.block);
      if (history.attempt) attempts_.insert_or_assign(history.id, std::move(*history.attempt));
    }
  }
  /// Moves the history out, for the lane that gets the message next.
  MessageHistory take(const MessageId& id) {
    MessageHistory history{.id = id};
    if (auto known = attempts_.extract(id)) history.attempt = std::move(known.mapped());
    if (auto known = postponements_.extract(id)) history.postponements = known.mapped();
    history.block = block.take(id);
    return history;
  }

  std::vector<MessageHistory> takeAll() {
    std::vector<MessageId> ids;
    for (const auto& [id, record] : attempts_) ids.push_back(id);
    for (const auto& [id, times] : postponements_)
      if (!attempts_.contains(id)) ids.push_back(id);
    std::vector<MessageHistory> histories;
    for (const MessageId& id : ids) histories.push_back(take(id));
    return histories;
  }

  HeadOfLineBlock block;

 private:
  std::unordered_map<MessageId, AttemptRecord> attempts_;
  std::unordered_map<MessageId, Postponements> postponements_;  // by their handlers, in this term and before
};

/// Pending writes of the open transaction about its messages.
struct PendingWrites {
  std::optional<AttemptRecord> record{};  // of the head
  std::optional<MessageId> cleared{};     // the message whose attempts are over
  std::vector<EventBody> news{};          // told when it is durable
  bool ends = false;                      // commit before anything else begins
  bool charges = false;                   // the record charges a suspect with the attempt that follows
  bool takes = false;                     // it acknowledges what its handler has not seen
  bool leavesSuccessors = false;          // a message that the record cannot name comes next
  std::vector<supply::Place> unbegun{};   // messages that did not need their token
  int deaths = 0;                         // dead letters that it adds to the streak
  bool succeeded = false;                 // and something was done in it since
};

struct LaneState {
  LaneState(const ConsumerOptions& of, bool readsItself, bool ofMany, FencingToken by, std::shared_ptr<Notes> with,
            bool skipsToo = false, bool byValues = false)
      : options(of),
        reads(readsItself),
        together(ofMany),
        answers(byValues),
        takesSkips(skipsToo),
        token(by),
        notes(with ? std::move(with) : std::make_shared<Notes>(of)),
        log(of) {}

  /// The lane has all messages, in the order of the source.
  bool isOneLine() const noexcept { return options.ordering.lanes == 0; }
  /// The lane has messages that an earlier term may have died of, and then the others begin.
  bool precedesLanes() const noexcept { return reads && !isOneLine(); }
  bool coalesces() const noexcept { return options.coalesce == Coalesce::byKey; }
  bool dedups() const noexcept { return options.delivery != Guarantee::atLeastOnce; }
  bool blocks() const noexcept { return options.onDead == OnDead::block; }
  bool takesFirst() const noexcept { return options.delivery == Guarantee::atMostOnce; }
  /// One at a time, and each on record by itself when it begins: a successor knows what was in work.
  bool namesEach() const noexcept { return isOneLine() && options.handlerIsExternal && !takesFirst(); }
  /// Why its number is skipped; nullptr: it is for the handler.
  const std::string* skipReasonOf(const Message& message) const noexcept {
    const bool isSkip = !takesSkips && options.followNumbers && messages::isSkip(message);
    return isSkip ? headerOf(message, skipHeader) : nullptr;
  }
  void tell(EventBody body) { news.push_back(std::move(body)); }
  DeadLetterStreak& streak() const noexcept { return notes->streak; }

  const ConsumerOptions options;
  const bool reads;       // its thread reads the source
  const bool together;    // the handler takes many at once
  const bool answers;     // it answers with values, before the transaction begins
  const bool takesSkips;  // and messages that only skip their number
  const FencingToken token;
  const std::shared_ptr<Notes> notes;
  Histories histories;
  AttemptLog log;
  CoalescedSet coalesced;  // messages that the open transaction's runs stand for
  PendingWrites pendingWrites;
  std::vector<EventBody> news;  // worth telling now
};

}  // namespace tenure::consuming
