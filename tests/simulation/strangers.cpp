#include "strangers.hpp"

#include <algorithm>

#include "simulation.hpp"

namespace tenure::simulation {

void Strangers::begin() {
  for (const StrangerPlan& one : simulation_.plan().strangers) toCome_[one.sender].push_back(&one);
  left_ = simulation_.plan().strangers.size();
  for (auto& [sender, transactions] : toCome_) {
    std::ranges::reverse(transactions);
    beginNext(sender);
  }
}

void Strangers::beginNext(int sender) {
  auto& transactions = toCome_.at(sender);
  if (transactions.empty()) return;
  const StrangerPlan& plan = *transactions.back();
  transactions.pop_back();
  simulation_.loop().after(plan.pause, [this, &plan] {
    const std::int64_t number = newTransaction();
    running_.emplace(number, Transaction{plan});
    insert(number);
  });
}

/// The next of its messages, or its end.
void Strangers::insert(std::int64_t number) {
  Transaction& one = running_.at(number);
  if (one.rows.size() == one.plan.messages.size())
    return void(simulation_.loop().after(one.plan.lasts, [this, number] { end(number); }));
  const MessagePlan& message = one.plan.messages[one.rows.size()];
  simulation_.loop().after(message.at, [this, number, &message] {
    Transaction& inserting = running_.at(number);
    inserting.rows.emplace_back(++lastPlace_, simulation_.make(message));
    simulation_.trace(0, "stranger sends", message.id);
    if (simulation_.mutant() == Mutant::wokenByInsert) lookAtReader(number);
    insert(number);
  });
}

/// Without its server it is rolled back.
void Strangers::end(std::int64_t number) {
  Transaction& one = running_.at(number);
  const bool commits = one.plan.end == StrangerPlan::End::commits || one.plan.end == StrangerPlan::End::failsAtCommit;
  if (!commits || simulation_.sourceDown()) return close(number);
  one.commit.begun = simulation_.loop().now();
  if (simulation_.mutant() != Mutant::wokenByInsert) lookAtReader(number);
  simulation_.loop().after(one.plan.flush, [this, number] { land(number); });
}

void Strangers::lookAtReader(std::int64_t number) {
  Transaction& one = running_.at(number);
  if (one.rows.empty() || !isReaderAsleep()) return;
  one.calls = caller_ == 0 || caller_ == number;
  if (one.calls) caller_ = number;
  one.commit.leavesCall = !one.calls;
}

void Strangers::land(std::int64_t number) {
  Transaction& one = running_.at(number);
  if (one.plan.end == StrangerPlan::End::failsAtCommit || simulation_.sourceDown()) return close(number);
  one.commit.sender = one.plan.sender;
  one.commit.landed = simulation_.loop().now();
  one.commit.isReaderAsleep = isReaderAsleep();
  // A clock that is set ahead ends the sleep that senders see.
  const bool isEndedByClock = !one.commit.isReaderAsleep && !simulation_.plan().storeSteps.empty();
  one.commit.losesCall = isEndedByClock || (one.calls && simulation_.drawOneIn(16));
  simulation_.trace(0, "stranger commits", number);
  if (!seen_.empty() && !one.rows.empty() && one.rows.front().first < seen_.rbegin()->first)
    simulation_.coverage().saw("committed_late");
  for (auto& [place, message] : one.rows) {
    sendings_.committed(message.id, one.commit);
    seen_.emplace(place, std::move(message));
  }
  if (one.calls && !one.commit.losesCall) callReader();
  close(number);
}

void Strangers::close(std::int64_t number) {
  const Transaction& over = running_.at(number);
  const int sender = over.plan.sender;
  if (!over.rows.empty() && over.commit.landed == BootTime{}) simulation_.coverage().saw("rolled_back");
  if (caller_ == number) caller_ = 0;
  running_.erase(number);
  --left_;
  beginNext(sender);
}

void Strangers::callReader() {
  simulation_.loop().after(simulation_.drawTime(simulation_.plan().networkLatency), [this] {
    simulation_.callReaders();
    simulation_.coverage().saw("reader_called");
  });
}

std::optional<std::int64_t> Strangers::firstBehind(std::int64_t place) const {
  const auto first = seen_.upper_bound(place);
  return first == seen_.end() ? std::nullopt : std::optional(first->first);
}

std::vector<std::int64_t> Strangers::behind(std::int64_t place, std::size_t atMost) const {
  std::vector<std::int64_t> places;
  for (auto row = seen_.upper_bound(place); row != seen_.end() && places.size() < atMost; ++row)
    places.push_back(row->first);
  return places;
}

std::int64_t Strangers::oldestRunning() const {
  return running_.empty() ? lastTransaction_ + 1 : running_.begin()->first;
}

NewMessage Strangers::take(std::int64_t place) { return std::move(seen_.extract(place).mapped()); }

void Strangers::fallAsleep(std::chrono::milliseconds forSoLong) {
  if (!isReaderAsleep()) sendings_.fellAsleep(simulation_.loop().now());
  asleepUntil_ = std::max(asleepUntil_, simulation_.serverClock().wallNow() + forSoLong);
}

bool Strangers::isReaderAsleep() const { return simulation_.serverClock().wallNow() < asleepUntil_; }

}  // namespace tenure::simulation
