#include "chaos/schedule.hpp"

#include <array>

namespace tenure::chaos {
namespace {

constexpr std::array<std::string_view, faultKinds> names{
    "kill_leader",      "kill_standby",      "kill_all",         "freeze_leader",     "freeze_before_write",
    "freeze_in_write",  "freeze_succession", "cut_leader",       "stall_leader",      "mute_leader",
    "deaf_leader",      "cut_standby",       "isolate_follower", "isolate_zk_leader", "kill_zk_leader",
    "freeze_zk_leader", "lose_majority",     "rolling_restart",  "zxid_rollover",     "disk_full",
    "slow_fsync",       "sigusr1_storm",     "sigterm_storm",    "kill_database",     "restart_database",
    "kill_db_process",  "end_db_sessions",   "cut_database",     "stall_database",    "kill_broker",
    "restart_broker",   "end_broker_conns",  "cut_broker",       "stall_broker"};

bool strikesAt(FaultKind kind, StorageKind storage) {
  if (kind == FaultKind::fillDisk || kind == FaultKind::slowDisk) return storage == StorageKind::sqlite;
  if (kind >= FaultKind::killBroker) return storage == StorageKind::rabbitmqAndPostgresql;
  if (kind >= FaultKind::killDatabase) return storage != StorageKind::sqlite;
  return true;
}

}  // namespace

std::string_view toString(FaultKind kind) noexcept { return names[static_cast<std::size_t>(kind)]; }

std::optional<FaultKind> kindNamed(std::string_view name) noexcept {
  for (std::size_t i = 0; i < faultKinds; ++i)
    if (names[i] == name) return static_cast<FaultKind>(i);
  return std::nullopt;
}

std::vector<FaultKind> kindsFor(StorageKind storage) {
  std::vector<FaultKind> kinds;
  for (std::size_t i = 0; i < faultKinds; ++i)
    if (strikesAt(static_cast<FaultKind>(i), storage)) kinds.push_back(static_cast<FaultKind>(i));
  return kinds;
}

Schedule::Schedule(std::uint64_t seed, std::vector<FaultKind> kinds)
    : random_(seed), kinds_(std::move(kinds)), dealt_(kinds_.size()) {}

FaultKind Schedule::next() {
  if (dealt_ == kinds_.size()) {
    for (std::size_t left = kinds_.size(); left > 1; --left) std::swap(kinds_[left - 1], kinds_[random_.below(left)]);
    dealt_ = 0;
  }
  return kinds_[dealt_++];
}

}  // namespace tenure::chaos
