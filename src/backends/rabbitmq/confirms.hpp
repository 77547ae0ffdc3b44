/// What became of the messages of one append. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "backends/rabbitmq/incoming.hpp"

namespace tenure::rabbitmq {

class Confirms {
 public:
  /// `first` is the first message's number, counted since the channel was opened.
  Confirms(std::uint64_t first, std::size_t count) : first_(first), open_(count, true), openCount_(count) {}

  void on(const Confirmed& confirmed);
  void on(const Returned& returned);

  bool complete() const noexcept { return openCount_ == 0; }
  std::size_t confirmed() const noexcept { return open_.size() - openCount_; }
  /// Of a complete one. notFound and storeFull: nothing was stored. outcomeUnknown: some were.
  Result<void> judgement() const;

 private:
  void settle(std::size_t index, bool stored) noexcept;

  const std::uint64_t first_;
  std::vector<bool> open_;
  std::size_t openCount_;
  std::size_t lowestOpen_ = 0;
  std::size_t refused_ = 0;
  std::size_t returned_ = 0;  // these are confirmed as well: the broker is done with them
  std::string reason_;
};

}  // namespace tenure::rabbitmq
