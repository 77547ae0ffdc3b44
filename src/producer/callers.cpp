#include "producer/callers.hpp"

#include "producer/send_buffer.hpp"

namespace tenure::producing {

std::optional<Caller> Callers::take(SendNumber number) {
  auto found = byNumber_.extract(number);
  if (found.empty()) return std::nullopt;
  return std::move(found.mapped());
}

std::vector<Caller> Callers::spooled(const std::vector<SendNumber>& numbers, std::int64_t first) {
  std::vector<Caller> reached;
  std::int64_t position = first;
  for (const SendNumber number : numbers) {
    const std::int64_t own = position++;
    std::optional<Caller> caller = take(number);
    if (!caller) continue;
    if (caller->durability != Durability::stored && (caller->promise || caller->reached))
      reached.push_back({std::exchange(caller->promise, {}), {}, std::exchange(caller->reached, {}), {}, {}});
    if (!caller->isWaiting()) continue;
    byPosition_.emplace(own, *std::move(caller));
  }
  return reached;
}

void Callers::watchDeadlines(std::int64_t first, std::int64_t last) {
  const auto end = byPosition_.upper_bound(last);
  for (auto each = byPosition_.lower_bound(first); each != end; ++each)
    if (each->second.deadline != BootTime::max()) deadlines_.emplace(each->second.deadline, each->first);
}

std::optional<Caller> Callers::takeSpooled(std::int64_t position) {
  auto found = byPosition_.extract(position);
  if (found.empty()) return std::nullopt;
  deadlines_.erase({found.mapped().deadline, position});
  return std::move(found.mapped());
}

std::vector<Caller> Callers::takeSpooledBefore(std::int64_t position) {
  std::vector<Caller> taken;
  while (!byPosition_.empty() && byPosition_.begin()->first < position)
    taken.push_back(*takeSpooled(byPosition_.begin()->first));
  return taken;
}

std::vector<Caller> Callers::expired(BootTime now) {
  std::vector<Caller> expired;
  while (earliestDeadline() <= now) expired.push_back(*takeSpooled(deadlines_.begin()->second));
  return expired;
}

std::vector<Caller> Callers::takeAllSpooled() {
  std::vector<Caller> all;
  for (auto& [position, caller] : byPosition_) all.push_back(std::move(caller));
  byPosition_.clear();
  deadlines_.clear();
  return all;
}

std::vector<Result<void>> Outlet::append(std::span<const NewMessage> batch) {
  Errc meaning = Errc::unavailable;
  try {
    if (const Result<void> opened = open(); !opened) return {batch.size(), opened};
    meaning = Errc::outcomeUnknown;
    std::vector<Result<void>> results = sink_->appendEach(batch);
    if (failureOf(results)) sink_.reset();
    return results;
  } catch (const std::exception& thrown) {
    sink_.reset();
    return {batch.size(), Error{meaning, thrown.what()}};
  }
}

Result<void> Outlet::open() {
  if (sink_) return {};
  auto opened = open_();
  if (!opened) return Error{Errc::unavailable, opened.error().message()};
  if (!*opened) return Error{Errc::unavailable, "no sink was opened"};
  sink_ = *std::move(opened);
  return {};
}

}  // namespace tenure::producing
