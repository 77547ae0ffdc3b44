#include "attempts.hpp"

#include <algorithm>

namespace tenure::simulation {
namespace {

std::string inMilliseconds(Duration duration) {
  return std::to_string(std::chrono::duration_cast<std::chrono::milliseconds>(duration).count()) + " ms";
}

}  // namespace

Complaint Attempts::began(FencingToken term, const MessageId& id, int attempt, BootTime now) {
  const Count count = counts_[id];
  if (const auto rest = rests_.find(id); rest != rests_.end() && rest->second.term == term && now < rest->second.until)
    return "R1: " + id.value + " is tried again " + inMilliseconds(rest->second.until - now) + " too early";
  begun_[id] = attempt;
  const auto suspect = suspects_.extract(id);
  if (suspect && ordered_ && !isCharged(id, suspect.mapped(), count, attempt) && !isNarrowedDown(id, suspect.mapped()))
    return "R5: " + id.value + " starts again without a charge though its process has died";
  if (attempt < count.attempts + (count.charge ? 0 : 1))
    return "R2: attempt " + std::to_string(attempt) + " at " + id.value + ", against which " +
           std::to_string(count.attempts) + " count already";
  if (attempt > options_.attempts() && ordered_ && options_.onDead == OnDead::skip)
    return "R3: attempt " + std::to_string(attempt) + " at " + id.value;
  return std::nullopt;
}

bool Attempts::isCharged(const MessageId& id, const Suspect& suspect, const Count& count, int attempt) const {
  if (count.charge) return count.attempts == attempt;
  const bool isNamed = inWork_.ids.size() == 1 && !inWork_.more && !inWork_.areTheirs && inWork_.ids.front() == id;
  return isNamed && count.attempts >= suspect.attempts && count.attempts + 1 == attempt;
}

void Attempts::died(const MessageId& id, const GroupId& group) {
  const auto begun = begun_.find(id);
  const bool wasAlone = counts_[id].charge;
  suspects_.insert_or_assign(
      id, Suspect{group, begun == begun_.end() ? 1 : begun->second, wasAlone, !wasAlone && mayBeMany()});
}

void Attempts::named(InWork inWork) {
  inWork_ = std::move(inWork);
  isClaimed_ = false;
  if (!areFew() || inWork_.ids.empty()) return;
  for (auto& [id, suspect] : suspects_) suspect.leftOut = suspect.amongMany && !isNamed(id);
}

/// A term that ends before it has named anybody leaves them many once more.
void Attempts::claimed() {
  if (std::exchange(isClaimed_, true))
    for (auto& [id, suspect] : suspects_) suspect.amongMany = !suspect.wasAlone && mayBeMany();
}

/// Where the record leaves open who may be in work that is whole batches, and with lanes what each has named besides.
bool Attempts::mayBeMany() const noexcept {
  if (areFew()) return false;
  const std::size_t batches = 2 * options_.maxBatch * std::max<std::size_t>(options_.ordering.lanes, 1);
  return inWork_.ids.size() + (inWork_.more || isClaimed_ ? batches : 0) > consuming::fewSuspects;
}

bool Attempts::isNarrowedDown(const MessageId& id, const Suspect& suspect) const {
  if (isClaimed_) return false;
  if (suspect.leftOut) return isNamed(id) || inWork_.more || inWork_.ids.empty();  // where the lanes name their own
  return suspect.amongMany && areFew() && isNamed(id);
}

void Attempts::ended(FencingToken term, const MessageId& id, const Outcome& outcome, BootTime now) {
  rests_.insert_or_assign(id, Rest{term, now, now});
  // In a lane it waits at the scheduler, where it comes when that is durable.
  const bool waitsAtOnce = options_.ordering == Ordering::total();
  if (waitsAtOnce && outcome.kind == Outcome::Kind::retryLater) rest(term, id, outcome.retryAfter);
}

Complaint Attempts::failed(FencingToken term, const MessageId& id, int attempt, Duration wait) {
  rest(term, id, wait);
  const Duration doubled = options_.retryBase * (std::int64_t{1} << std::clamp(attempt - 1, 0, 30));
  const Duration most =
      attempt < options_.attempts() ? std::min<Duration>(options_.retryMax, doubled) : options_.retryMax;
  if (wait <= most) return std::nullopt;
  return "R4: " + id.value + " waits " + inMilliseconds(wait) + " after attempt " + std::to_string(attempt);
}

void Attempts::postponed(FencingToken term, const MessageId& id, Duration wait) { rest(term, id, wait); }

void Attempts::parked(const GroupId& group) {
  if (!group.value.empty())
    std::erase_if(suspects_, [&](const auto& suspect) { return suspect.second.group == group; });
}

void Attempts::recorded(const MessageId& id, int attempts, bool charge, bool blocks) {
  counts_[id] = {attempts, charge};
  if (blocks) suspects_.erase(id);
}

/// From when its attempt ended: what is said of it is heard later.
void Attempts::rest(FencingToken term, const MessageId& id, Duration wait) {
  const auto rest = rests_.find(id);
  if (rest != rests_.end() && rest->second.term == term)
    rest->second.until = std::max(rest->second.until, rest->second.ended + wait);
}

}  // namespace tenure::simulation
