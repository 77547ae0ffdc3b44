#include "consumer/reading.hpp"

#include <algorithm>
#include <utility>

#include "base/emit.hpp"
#include "base/text.hpp"
#include "consumer/errors.hpp"
#include "consumer/limits.hpp"

namespace tenure::consuming {

namespace {

using namespace std::chrono_literals;

supply::Resequencer::Rules rulesOf(const ConsumerOptions& options, const ConsumerName& name) {
  return {.consumer = name,
          .gapLimit = options.gapLimit,
          .maxKept = options.maxKept,
          .skipsGaps = options.whenGapIsOld == GapPolicy::skip,
          .isUnfit = [](const Message& message) { return !brokenLimit(message).empty(); }};
}

}  // namespace

Reading::Reading(IMessageSource& source, IFencedStore& store, const ConsumerOptions& options, bool shares,
                 const Term& term, IEventSink& events, const IClock& clock)
    : source_(source),
      store_(&store),
      options_(options),
      shares_(shares),
      term_(term),
      events_(events),
      clock_(clock),
      name_(options.name.value.empty() ? ConsumerName{term.identity().election.value} : options.name) {
  if (options.followNumbers) resequencer_.emplace(rulesOf(options, name_));
}

void Reading::workBeside(Beside lanes) {
  store_ = lanes.store;
  beside_ = std::move(lanes);
  mustClaim_ = true;
}

Result<std::vector<Message>> Reading::ask(std::size_t max, BootTime until, const std::stop_token& stop) {
  const SerialAccess::Pass pass = beside_ ? beside_->passToRead() : SerialAccess::Pass{};
  return source_.fetch(max, until, stop);
}

void Reading::attached() {
  page_.clear();
  plan_ = {};
  written_ = writing_ = 0;
  oneByOne_ = mayHaveLanded_ = false;
  mustRestore_ = true;
}

Result<supply::Arrivals> Reading::fetch(std::size_t max, BootTime until, const std::stop_token& stop) {
  storeIsAtFault_ = false;
  if (!resequencer_) {
    Result<std::vector<Message>> messages = ask(max, until, stop);
    if (!messages) return messages.error();
    return supply::Arrivals(std::move(*messages));
  }
  if (const Result<void> restored = restore(); !restored) return restored.error();
  tellOfGaps();
  if (page_.empty() && isWritten() && plan_.items.empty() && !hasReady()) {
    Result<std::vector<Message>> messages = ask(max, until, stop);
    if (!messages) return messages.error();
    if (messages->empty()) return supply::Arrivals(std::move(*messages));
    page_ = std::move(*messages);
  }
  if (const Result<void> learnt = learn(); !learnt) return learnt.error();
  if (isWritten() && plan_.items.empty()) {
    const std::lock_guard lock(mutex_);
    plan_ = resequencer_->sort(std::exchange(page_, {}), clock_.wallNow());
    written_ = 0;
  }
  if (const Result<void> written = write(); !written) return written.error();
  return handOut(max);
}

bool Reading::settled(std::span<const MessagePtr> messages) {
  if (!resequencer_) return false;
  const WallTime now = clock_.wallNow();
  const std::lock_guard lock(mutex_);
  for (const MessagePtr& message : messages) resequencer_->settled(message->group, message.standing(), now);
  return resequencer_->hasReady();
}

bool Reading::isIdle() const {
  const std::lock_guard lock(mutex_);
  return !resequencer_ || resequencer_->isIdle();
}

bool Reading::hasReady() const {
  const std::lock_guard lock(mutex_);
  return resequencer_->hasReady();
}

bool Reading::isWritten() const noexcept { return plan_.writes.turns.empty() && written_ == plan_.writes.kept.size(); }

// --- old gaps

Duration Reading::pace() const { return std::clamp<Duration>(options_.gapLimit / 10, 10ms, 1s); }

void Reading::tellOfGaps() {
  if (!resequencer_ || clock_.now() < nextTelling_) return;
  nextTelling_ = clock_.now() + pace();
  std::unique_lock lock(mutex_);
  const std::vector<supply::Gap> gaps = resequencer_->tell(clock_.wallNow());
  lock.unlock();
  for (const supply::Gap& gap : gaps) tell(GapFound{gap.group.value, gap.first, gap.waiting, gap.age});
}

bool Reading::mayGiveUp() const {
  if (!resequencer_ || options_.whenGapIsOld == GapPolicy::wait || clock_.now() < nextCheck_) return false;
  return !mustRestore_ && isWritten() && plan_.items.empty() && isIdle();
}

Result<void> Reading::giveUpOldGaps() {
  storeIsAtFault_ = false;
  if (!mayGiveUp()) return {};
  nextCheck_ = clock_.now() + pace();
  for (;;) {
    {
      const std::lock_guard lock(mutex_);
      const auto gap = resequencer_->overdue(clock_.wallNow());
      if (!gap) return {};
      if (options_.whenGapIsOld == GapPolicy::stop)
        return Error{Errc::gapTooOld,
                     "group \"" + escaped(gap->group.value) + "\" waits for number " + std::to_string(gap->first)};
      plan_ = resequencer_->skip(*gap, clock_.wallNow());
      written_ = 0;
    }
    if (const Result<void> written = write(); !written) return written;
    if (!plan_.items.empty()) return {};
  }
}

void Reading::tell(EventBody body) const {
  Emitter(events_, clock_, term_.identity().election)(std::move(body), term_.token());
}

// --- the store

Result<void> Reading::restore() {
  if (mustClaim_)
    if (const Result<void> claimed = store_->claim(term_); !claimed) return atStore(claimed.error());
  mustClaim_ = false;
  if (!mustRestore_) return {};
  Result<std::vector<NumberedGroup>> groups = store_->openGroups(name_);
  if (!groups) return atStore(groups.error());
  const std::lock_guard lock(mutex_);
  resequencer_->restore(*std::move(groups));
  mustRestore_ = false;
  return {};
}

/// Where the page's groups stand, in a transaction that is rolled back.
Result<void> Reading::learn() {
  std::vector<GroupId> unknown;
  {
    const std::lock_guard lock(mutex_);
    if (plan_.items.empty()) resequencer_->forgetWhatCanBeRead();
    unknown = resequencer_->unknownOf(page_);
  }
  if (unknown.empty()) return {};
  if (const Result<void> begun = begin(); !begun) return atStore(begun.error());
  std::vector<std::pair<GroupId, GroupTurn>> turns;
  for (GroupId& group : unknown) {
    const Result<GroupTurn> turn = transaction_->turnOf(name_, group);
    if (!turn) return atStore(turn.error());
    turns.emplace_back(std::move(group), *turn);
  }
  end();
  const std::lock_guard lock(mutex_);
  resequencer_->learn(turns);
  return {};
}

/// The plan's news are told when all of it is durable.
Result<void> Reading::write() {
  while (!isWritten()) {
    const Result<void> some = writeSome();
    if (some) continue;
    if (!isRefusal(some.error()) || !storeIsAtFault_ || written_ == plan_.writes.kept.size()) return some;
    if (std::exchange(oneByOne_, true)) handOutRefused(some.error());
  }
  oneByOne_ = false;
  for (EventBody& body : std::exchange(plan_.news, {})) tell(std::move(body));
  return {};
}

/// As many kept messages as fit well into a transaction, the first one with all else.
Result<void> Reading::writeSome() {
  const std::span left = std::span<const KeptMessage>{plan_.writes.kept}.subspan(written_);
  if (const Result<void> begun = begin(); !begun) return atStore(begun.error());
  const Result<bool> landed = std::exchange(mayHaveLanded_, false) ? hasLanded(left) : Result<bool>(false);
  if (!landed) {
    mayHaveLanded_ = true;
    return atStore(landed.error());
  }
  if (!*landed) {
    Result<void> done = put(left);
    if (done && !term_.valid()) done = Error{Errc::leaseLost, "before early messages were kept"};
    if (done) done = transaction_->commit();
    mayHaveLanded_ = !done && isOutcomeUnknown(done.error().code);
    if (mayHaveLanded_ && beside_)
      if (const Result<void> resolved = resolve(); !resolved) return atStore(resolved.error());
    if (!done) return atStore(done.error());
    transaction_.reset();
  }
  end();
  plan_.writes.turns.clear();
  plan_.writes.dropped.clear();
  plan_.writes.notes.clear();
  written_ += writing_;
  if (shares_ || writing_ == 0) return {};
  return source_.acknowledge(stubsOf(left.first(writing_)));
}

/// Where the store is used by one at a time, no lane can go on before that: so it is asked again and again, until the
/// term ends.
Result<void> Reading::resolve() {
  transaction_.reset();
  for (const BootTime began = clock_.now();; clock_.waitUntil(clock_.now() + 20ms, beside_->stop)) {
    const Result<CommitFate> fate = store_->resolve(term_);
    if (fate) return {};
    const bool isLong = clock_.now() - began >= options_.outageLimit;
    if (isLong && term_.hasRelief()) term_.seekRelief();
    const bool goesOn = isTransient(fate.error()) && term_.valid() && !beside_->stop.stop_requested();
    if (!goesOn || (isLong && !term_.hasRelief())) {
      store_->release();
      return Error{term_.valid() ? Errc::storeFailed : Errc::leaseLost, fate.error().message()};
    }
    term_.reportProgress();
  }
}

Result<void> Reading::put(std::span<const KeptMessage> kept) {
  const supply::NumberWrites& writes = plan_.writes;
  Result<void> done;
  for (const auto& [group, number] : writes.dropped)
    if (done) done = transaction_->dropKept(name_, group, number);
  for (const auto& [group, turn] : writes.turns)
    if (done) done = transaction_->recordTurn(name_, group, turn);
  for (const DeadLetter& note : writes.notes)
    if (done) done = transaction_->deadLetter(name_, note);
  const std::size_t most = oneByOne_ ? 1 : std::min(together, store_->maxBatch());
  for (writing_ = 0; done && writing_ < std::min(most, kept.size()); ++writing_) {
    if (writing_ > 0 && transaction_->isFull()) break;
    done = transaction_->keep(name_, kept[writing_]);
  }
  if (done && shares_ && writing_ > 0) done = transaction_->acknowledge(stubsOf(kept.first(writing_)));
  return done;
}

/// The outcome of the last transaction was unknown: whether all of it is there, as its first write is.
Result<bool> Reading::hasLanded(std::span<const KeptMessage> kept) {
  if (writing_ > 0) {
    const Message& first = kept.front().message;
    const auto found = transaction_->kept(name_, first.group, kept.front().number);
    if (!found) return found.error();
    return found->has_value() && (*found)->message.id == first.id;
  }
  const auto& [group, turn] = plan_.writes.turns.back();
  const Result<GroupTurn> found = transaction_->turnOf(name_, group);
  if (!found) return found.error();
  return *found == turn;
}

/// The next message is not kept: it goes on, and becomes a dead letter.
void Reading::handOutRefused(const Error& why) {
  const auto next = plan_.writes.kept.begin() + static_cast<std::ptrdiff_t>(written_);
  tell(Warned{"message \"" + escaped(next->message.id.value) +
              "\" comes before its turn, and cannot be kept until then: " + why.message()});
  std::erase_if(plan_.news, [&](const EventBody& body) {
    const auto* kept = body.as<MessageKept>();
    return kept != nullptr && kept->message == next->message.id.value;
  });
  const auto isOfIt = [&](const supply::Resequencer::Item& item) {
    return item.isInStore && item.standing.number == next->number && item.message.group == next->message.group;
  };
  if (const auto item = std::ranges::find_if(plan_.items, isOfIt); item != plan_.items.end()) {
    item->message = std::move(next->message);  // its turn has come already
    item->isInStore = item->standing.isKept = false;
  } else {
    const std::lock_guard lock(mutex_);
    plan_.items.push_back(resequencer_->refused(next->message));
  }
  plan_.writes.kept.erase(next);
}

Result<supply::Arrivals> Reading::handOut(std::size_t max) {
  supply::Arrivals arrivals;
  std::size_t count = 0;
  std::size_t read = 0;
  Result<void> sound;
  for (; count < std::min(max, plan_.items.size()) && read < together; ++count) {
    supply::Resequencer::Item& item = plan_.items[count];
    if (item.isInStore) {
      ++read;
      Result<Message> message = keptMessage(item);
      if (!message) return atStore(message.error());
      item = {*std::move(message), item.standing};
    }
  }
  end();
  for (std::size_t i = 0; i < count; ++i) {
    arrivals.messages.push_back(std::move(plan_.items[i].message));
    arrivals.standings.push_back(plan_.items[i].standing);
  }
  plan_.items.erase(plan_.items.begin(), plan_.items.begin() + static_cast<std::ptrdiff_t>(count));
  return arrivals;
}

Result<Message> Reading::keptMessage(const supply::Resequencer::Item& item) {
  const GroupId& group = item.message.group;
  const std::int64_t number = item.standing.number;
  for (const KeptMessage& kept : plan_.writes.kept)
    if (kept.number == number && kept.message.group == group) return kept.message;
  if (const Result<void> begun = begin(); !begun) return begun.error();
  Result<std::optional<KeptMessage>> found = transaction_->kept(name_, group, number);
  if (!found) return found.error();
  if (!*found)
    return Error{Errc::storeFailed, "a kept message is missing: number " + std::to_string(number) + " of group \"" +
                                        escaped(group.value) + "\""};
  return std::move((*found)->message);
}

Result<void> Reading::begin() {
  if (transaction_) return {};
  Result<std::unique_ptr<IFencedTransaction>> begun = store_->begin(term_);
  if (!begun) return begun.error();
  transaction_ = std::move(*begun);
  return {};
}

void Reading::end() noexcept {
  if (transaction_) transaction_->rollback();
  transaction_.reset();
}

Error Reading::atStore(Error error) {
  storeIsAtFault_ = true;
  end();
  return error;
}

}  // namespace tenure::consuming
