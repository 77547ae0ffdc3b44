/// Where one replica stands, as told by the event stream: what `--status-file` and health checks show. Pure.
///
///     connecting → standby → elected → leading → resigned → standby …  → left
///                → observing
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "tenure/events.hpp"

namespace tenure {

class StatusBoard {
 public:
  StatusBoard(ElectionName election, CandidateId id, std::int64_t pid)
      : election_(std::move(election)), id_(std::move(id)), pid_(pid) {}

  /// True when somebody who watches would want to know at once; counts alone can wait.
  bool on(const Event& event);
  std::string_view state() const noexcept { return state_; }
  WallTime since() const noexcept { return since_; }
  bool isConnected() const noexcept { return connected_; }
  /// Whether a term could begin here; nullopt before the first look.
  const std::optional<bool>& isReady() const noexcept { return ready_; }
  const std::string& whyNotReady() const noexcept { return notReady_; }
  bool isPaused() const noexcept { return isPaused_; }
  /// A message is out of attempts, and those behind it wait.
  bool isBlocked() const noexcept { return !blockedBy_.empty(); }
  /// At too many dead letters in a row.
  bool isStopped() const noexcept { return isStopped_; }
  /// Why its store, its queue or its target is away, as last told; empty: all answer.
  const std::string& outage() const noexcept { return outage_; }

  /// Since when the command runs that has run longest, of those that have run for a minute; nullopt: none has.
  std::optional<WallTime> slowSince() const noexcept;

  /// One JSON object and a line break. The token is a decimal string: it does not fit a double.
  std::string json() const;

 private:
  void forgetTerm();
  void forgetOutages();
  void outageEnded();
  void enter(const char* state, const Event& event);

  ElectionName election_;
  CandidateId id_;
  std::int64_t pid_;
  const char* state_ = "connecting";
  WallTime since_{};
  WallTime updated_{};
  FencingToken token_;
  bool connected_ = false;
  std::optional<bool> ready_;  // to lead; nothing before it has looked
  std::string notReady_;
  std::int64_t terms_ = 0;
  std::int64_t messages_ = 0;
  std::int64_t duplicates_ = 0;
  std::int64_t failedAttempts_ = 0;
  std::int64_t deadLetters_ = 0;
  std::int64_t fenced_ = 0;
  std::string lastTrouble_;
  std::set<std::string> blockedBy_;       // each in a group of its own
  std::map<std::string, WallTime> slow_;  // by message, since when its command runs
  bool isPaused_ = false;                 // as the leader was told
  bool isStopped_ = false;
  std::size_t outages_ = 0;  // that began and have not ended, of any lane
  std::string outage_;       // the last of them that began
};

}  // namespace tenure
