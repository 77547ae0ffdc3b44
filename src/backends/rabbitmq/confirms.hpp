/// What became of the messages of one append, each by itself, and how long its producer waits. Pure.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "backends/rabbitmq/incoming.hpp"
#include "tenure/values.hpp"

namespace tenure::rabbitmq {

/// A message that was published, as a return names it; borrows.
struct Published {
  std::string_view id;
  std::string_view exchange;
  std::string_view routingKey;
};

class Confirms {
 public:
  /// `first` is the first message's number, counted since the channel was opened; `limit` is for the first confirm,
  /// and then for each next one: many messages take their time.
  Confirms(std::uint64_t first, std::vector<Published> messages, Duration limit, BootTime now)
      : first_(first),
        limit_(limit),
        deadline_(now + limit),
        messages_(std::move(messages)),
        fates_(messages_.size(), Fate::open),
        openCount_(messages_.size()) {}

  void on(const Confirmed& confirmed, BootTime now);
  /// The broker names no number: it is the first of these messages that has not been returned yet.
  void on(const Returned& returned);

  BootTime deadline() const noexcept { return deadline_; }
  bool complete() const noexcept { return openCount_ == 0; }
  std::size_t confirmed() const noexcept { return fates_.size() - openCount_; }
  /// Of each message; `why` there is no answer, for those without one. Of these the first `sent` may be stored.
  ///
  ///   notFound        no queue took it
  ///   storeFull       a queue refused it
  ///   outcomeUnknown  it was sent
  ///   unavailable     it was not
  std::vector<Result<void>> results(std::size_t sent, const std::string& why) const;

 private:
  enum class Fate : std::uint8_t { open, stored, refused };

  void settle(std::size_t index, bool stored) noexcept;
  bool isMeant(std::size_t index, const Returned& returned) const;
  Result<void> resultOf(std::size_t index, bool sent, const std::string& why) const;

  const std::uint64_t first_;
  const Duration limit_;
  BootTime deadline_;
  const std::vector<Published> messages_;
  std::vector<Fate> fates_;
  std::size_t openCount_;
  std::size_t lowestOpen_ = 0;
  std::map<std::size_t, std::string> returned_;  // why; these are confirmed as well: the broker is done with them
};

/// Of an append that stores all or none, from what became of each message. notFound, storeFull, unavailable: nothing
/// was stored. outcomeUnknown: some were, or may be.
Result<void> judgementOf(std::span<const Result<void>> results);

}  // namespace tenure::rabbitmq
