/// Where one replica stands, as told by the event stream: what `--status-file` shows. Pure.
///
///     connecting → standby → elected → leading → resigned → standby …  → left
#pragma once

#include <optional>
#include <string>
#include <utility>

#include "tenure/events.hpp"

namespace tenure::cli {

class StatusBoard {
 public:
  StatusBoard(ElectionName election, CandidateId id, std::int64_t pid)
      : election_(std::move(election)), id_(std::move(id)), pid_(pid) {}

  /// True when somebody who watches would want to know at once; counts alone can wait.
  bool on(const Event& event);
  /// One JSON object and a line break. The token is a decimal string: it does not fit a double.
  std::string json() const;

 private:
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
  std::string blockedBy_;
};

}  // namespace tenure::cli
