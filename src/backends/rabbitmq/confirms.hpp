/// What became of the messages of one append, and how long its producer waits. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "backends/rabbitmq/incoming.hpp"
#include "tenure/values.hpp"

namespace tenure::rabbitmq {

class Confirms {
 public:
  /// `first` is the first message's number, counted since the channel was opened; `limit` is for the first confirm,
  /// and then for each next one: many messages take their time.
  Confirms(std::uint64_t first, std::size_t count, Duration limit, BootTime now)
      : first_(first), limit_(limit), deadline_(now + limit), open_(count, true), openCount_(count) {}

  void on(const Confirmed& confirmed, BootTime now);
  void on(const Returned& returned);

  BootTime deadline() const noexcept { return deadline_; }
  bool complete() const noexcept { return openCount_ == 0; }
  std::size_t confirmed() const noexcept { return open_.size() - openCount_; }
  /// Of a complete one. notFound and storeFull: nothing was stored. outcomeUnknown: some were.
  Result<void> judgement() const;

 private:
  void settle(std::size_t index, bool stored) noexcept;

  const std::uint64_t first_;
  const Duration limit_;
  BootTime deadline_;
  std::vector<bool> open_;
  std::size_t openCount_;
  std::size_t lowestOpen_ = 0;
  std::size_t refused_ = 0;
  std::size_t returned_ = 0;  // these are confirmed as well: the broker is done with them
  std::string reason_;
};

}  // namespace tenure::rabbitmq
