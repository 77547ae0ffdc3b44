#include "coalescing.hpp"

#include <algorithm>

namespace tenure::simulation {

void Coalescing::produced(int copy, const NewMessage& message) {
  Copy& made = copies_[copy];
  made.group = message.group;
  made.came = ++moment_;
  if (options_.coalesceKey.empty()) made.key = message.group.value;
  for (const auto& [name, value] : message.headers)
    if (name == options_.coalesceKey) made.key = value;
}

void Coalescing::ran(int copy) {
  copies_[copy].ran = ++moment_;
  ended(copy);
}

void Coalescing::ended(int copy) {
  Copy& over = copies_[copy];
  if (over.ended == 0) over.ended = ++moment_;
}

Complaint Coalescing::stoodFor(int copy) {
  for (auto run = copies_.begin(); run != copies_.end() && run->first < copy; ++run) {
    if (!mayStandFor(run->first, copy)) continue;
    ended(copy);
    return std::nullopt;
  }
  const Copy& asked = copies_.at(copy);
  const bool hadRun = std::ranges::any_of(copies_, [&](const auto& one) {
    const Copy& run = one.second;
    return run.ran > 0 && run.began > asked.came && run.key == asked.key && run.group == asked.group;
  });
  const std::string which = "copy " + std::to_string(copy) + " of group " + asked.group.value + ", key " + asked.key;
  if (hadRun) return "C2: a run stands for " + which + ", and for more than what follows it";
  return "C1: no run stands for " + which + ", which is acknowledged";
}

bool Coalescing::hasRunFor(int copy) const {
  return std::any_of(copies_.begin(), copies_.lower_bound(copy),
                     [&](const auto& run) { return mayStandFor(run.first, copy); });
}

bool Coalescing::mayStandFor(int run, int copy) const {
  const Copy& stands = copies_.at(run);
  const Copy& asked = copies_.at(copy);
  if (stands.ran == 0 || asked.key.empty() || stands.key != asked.key || stands.group != asked.group) return false;
  if (stands.began < asked.came) return false;
  if (asked.group.value.empty()) return true;
  return std::all_of(copies_.upper_bound(run), copies_.lower_bound(copy), [&](const auto& between) {
    const Copy& other = between.second;
    return other.group != asked.group || other.key == asked.key || (other.ended > 0 && other.ended < stands.ran);
  });
}

}  // namespace tenure::simulation
