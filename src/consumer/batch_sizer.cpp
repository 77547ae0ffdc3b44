#include "consumer/batch_sizer.hpp"

#include <algorithm>
#include <cmath>

namespace tenure::consuming {
namespace {

constexpr double memory = 0.9;       // of each commit, what is left of it after the next one
constexpr double leastSpread = 0.1;  // of sizes around their mean, below which they draw no line
constexpr double unnoticed = 1e-3;
constexpr double firstWork = 2e-3;

double secondsOf(Duration duration) { return std::chrono::duration<double>(duration).count(); }

}  // namespace

BatchSizer::BatchSizer(std::size_t most, Duration target, bool fixed)
    : most_(most), target_(secondsOf(target)), fixed_(fixed), size_(most) {}

Duration BatchSizer::workLimit(std::size_t messages) const noexcept {
  const double commit = fixed_ ? 0 : commitFixed_ + commitEachMessage_ * static_cast<double>(messages);
  double limit = std::max(target_ - commit, target_ / 2);
  if (!fixed_ && sums_.commits <= 0) limit = std::min(limit, firstWork);
  return std::chrono::duration_cast<Duration>(std::chrono::duration<double>(limit));
}

void BatchSizer::committed(std::size_t messages, Duration work, Duration commit) {
  if (messages == 0) return;
  const auto count = static_cast<double>(messages);
  const double took = secondsOf(commit);
  sums_.commits = sums_.commits * memory + 1;
  sums_.messages = sums_.messages * memory + count;
  sums_.messagesSquared = sums_.messagesSquared * memory + count * count;
  sums_.work = sums_.work * memory + secondsOf(work);
  sums_.took = sums_.took * memory + took;
  sums_.messagesTook = sums_.messagesTook * memory + count * took;
  if (fixed_) return;
  fitCommits();
  const auto now = static_cast<double>(size_);
  const bool wasFull = messages >= size_;
  const double next = std::clamp(fitting(), wasFull ? now / 2 : now, now * 2);
  size_ = std::clamp<std::size_t>(static_cast<std::size_t>(next), 1, most_);
}

std::size_t BatchSizer::quickOnes() const noexcept {
  if (sums_.messages <= 0) return 0;
  const double each = sums_.work / sums_.messages;
  const double time = std::max(sums_.took / sums_.commits, unnoticed);
  return each * static_cast<double>(most_) <= time ? most_ : static_cast<std::size_t>(time / each);
}

/// While all batches are of one size the slope stays as it was found when they were not. Before that, all of a commit
/// counts as its messages' part: where the target is missed, the batch shrinks, and that tells.
void BatchSizer::fitCommits() noexcept {
  const double meanSize = sums_.messages / sums_.commits;
  const double meanTook = sums_.took / sums_.commits;
  const double variance = sums_.messagesSquared / sums_.commits - meanSize * meanSize;
  const double most = meanTook / meanSize;
  if (variance > std::pow(leastSpread * meanSize, 2)) {
    commitEachMessage_ = (sums_.messagesTook / sums_.commits - meanSize * meanTook) / variance;
    knowsSlope_ = true;
  }
  commitEachMessage_ = knowsSlope_ ? std::clamp(commitEachMessage_, 0.0, most) : most;
  commitFixed_ = meanTook - commitEachMessage_ * meanSize;
}

double BatchSizer::fitting() const noexcept {
  const double each = sums_.work / sums_.messages + commitEachMessage_;
  const double available = std::max(target_ - commitFixed_, target_ / 2);
  const auto most = static_cast<double>(most_);
  return each * most <= available ? most : available / each;
}

}  // namespace tenure::consuming
