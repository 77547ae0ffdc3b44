/// Judges for whom a run may stand.
///
///   C1 what is acknowledged without a run of its own has group and key in common with a run that began after it came,
///      and has had its effect
///   C2 between the two there is no other message of their group that had not come to its end by then
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "attempts.hpp"

namespace tenure::simulation {

class Coalescing {
 public:
  explicit Coalescing(const ConsumerOptions& options) : options_(options) {}

  void produced(int copy, const NewMessage& message);
  void began(int copy) { copies_[copy].began = ++moment_; }
  void ran(int copy);
  void ended(int copy);
  /// It is acknowledged, and has had no run.
  Complaint stoodFor(int copy);
  /// Whether one stands for it that has had its effect.
  bool hasRunFor(int copy) const;

 private:
  using Now = std::int64_t;
  struct Copy {
    GroupId group;
    std::string key;
    Now came = 0;
    Now began = 0;  // its last run; 0: none
    Now ran = 0;
    Now ended = 0;
  };
  bool mayStandFor(int run, int copy) const;

  const ConsumerOptions& options_;
  std::map<int, Copy> copies_;  // in source order
  Now moment_ = 0;
};

}  // namespace tenure::simulation
