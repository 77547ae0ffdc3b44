#include "coverage.hpp"

#include <algorithm>
#include <cstdio>

namespace tenure::simulation {

const char* toString(Stage stage) noexcept {
  switch (stage) {
    case Stage::connecting: return "connecting";
    case Stage::createLost: return "create sent, reply lost";
    case Stage::standby: return "standby";
    case Stage::barrier: return "won, in barrier";
    case Stage::beforeClaim: return "marker busy, before claim";
    case Stage::recovering: return "claimed, recovering";
    case Stage::idle: return "idle, attached";
    case Stage::executing: return "executing";
    case Stage::commitLost: return "commit sent, reply lost";
    case Stage::unacknowledged: return "committed, not acked";
    case Stage::poison: return "poison";
    case Stage::draining: return "draining";
    case Stage::away: return "away";
    case Stage::offering: return "leadership offered";
    case Stage::accepted: return "accepted, before the baton";
    case Stage::count: break;
  }
  return "?";
}

const char* toString(Column column) noexcept {
  switch (column) {
    case Column::killed: return "killed";
    case Column::expired: return "expired";
    case Column::storeDown: return "store down";
    case Column::sourceDown: return "source down";
    case Column::terminated: return "SIGTERM";
    case Column::count: break;
  }
  return "?";
}

bool isRow(Stage stage, Column column) noexcept {
  switch (stage) {
    case Stage::connecting: return column != Column::expired;
    case Stage::createLost:
    case Stage::standby:
    case Stage::accepted:
    case Stage::barrier: return column != Column::storeDown && column != Column::sourceDown;
    case Stage::beforeClaim: return column != Column::sourceDown;
    case Stage::poison: return column != Column::sourceDown && column != Column::terminated;
    case Stage::away:
    case Stage::count: return false;
    default: return true;
  }
}

void Coverage::saw(std::string_view event) noexcept {
  const auto* const found = std::ranges::find(way, event);
  if (found != way.end()) ++seen_[static_cast<std::size_t>(found - way.begin())];
}

void Coverage::add(const Coverage& other) noexcept {
  for (std::size_t i = 0; i < seen_.size(); ++i) seen_[i] += other.seen_[i];
  for (std::size_t i = 0; i < counts_.size(); ++i) counts_[i] += other.counts_[i];
}

std::string Coverage::table() const {
  char line[160];
  std::snprintf(line, sizeof line, "%-26s", "phase \\ fault");
  std::string text = line;
  for (std::size_t column = 0; column < columns; ++column) {
    std::snprintf(line, sizeof line, "%13s", toString(static_cast<Column>(column)));
    text += line;
  }
  for (std::size_t stage = 0; stage < stages; ++stage) {
    if (static_cast<Stage>(stage) == Stage::away) continue;
    std::snprintf(line, sizeof line, "\n%-26s", toString(static_cast<Stage>(stage)));
    text += line;
    for (std::size_t column = 0; column < columns; ++column) {
      const auto count = static_cast<unsigned long long>(counts_[stage * columns + column]);
      const char* none = isRow(static_cast<Stage>(stage), static_cast<Column>(column)) ? "NOT HIT" : "-";
      if (count > 0)
        std::snprintf(line, sizeof line, "%13llu", count);
      else
        std::snprintf(line, sizeof line, "%13s", none);
      text += line;
    }
  }
  text += "\n";
  for (std::size_t i = 0; i < way.size(); ++i) {
    const std::string count = seen_[i] > 0 ? std::to_string(seen_[i]) : "NOT HIT";
    std::snprintf(line, sizeof line, "\n%-26s%13s", std::string(way[i]).c_str(), count.c_str());
    text += line;
  }
  return text + '\n';
}

int Coverage::missing() const noexcept {
  int missing = static_cast<int>(std::ranges::count(seen_, 0U));
  for (std::size_t stage = 0; stage < stages; ++stage)
    for (std::size_t column = 0; column < columns; ++column)
      if (isRow(static_cast<Stage>(stage), static_cast<Column>(column)) && counts_[stage * columns + column] == 0)
        ++missing;
  return missing;
}

}  // namespace tenure::simulation
