/// Who is told what became of a message: those that wait for its future or gave a callback. Pure.
#pragma once

#include <functional>
#include <future>
#include <map>
#include <optional>
#include <set>
#include <unordered_map>
#include <utility>
#include <vector>

#include "producer/send_buffer.hpp"

namespace tenure::producing {

struct Caller {
  /// Nullopt once its durability is reached.
  std::optional<std::promise<Result<void>>> promise{};
  std::function<void(const Result<void>&)> done{};
  Durability durability = Durability::stored;
  BootTime deadline = BootTime::max();

  bool isWaiting() const noexcept { return promise.has_value() || done != nullptr; }
};

class Callers {
 public:
  void add(SendNumber number, Caller caller) {
    if (caller.isWaiting()) byNumber_.emplace(number, std::move(caller));
  }
  /// The message has its last word; nullopt where nobody asks for it.
  std::optional<Caller> take(SendNumber number);

  /// These messages are in the spool now, the first at that position, and their neighbours behind it.
  void spooled(const std::vector<SendNumber>& numbers, std::int64_t first);
  std::optional<Caller> takeSpooled(std::int64_t position);
  /// Those of the spool whose deadline has come: their messages stay there.
  std::vector<Caller> expired(BootTime now);
  BootTime earliestDeadline() const noexcept {
    return deadlines_.empty() ? BootTime::max() : deadlines_.begin()->first;
  }
  /// Of the spool, when the producer ends.
  std::vector<Caller> takeAllSpooled();

 private:
  std::unordered_map<SendNumber, Caller> byNumber_;
  std::map<std::int64_t, Caller> byPosition_;  // of those that still wait
  std::set<std::pair<BootTime, std::int64_t>> deadlines_;
};

}  // namespace tenure::producing
