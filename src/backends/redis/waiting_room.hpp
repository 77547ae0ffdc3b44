/// Messages that wait for their time on a Redis server, and how they come to their queue. Of each queue there are a
/// hash with the messages, a sorted set by time, then as they were added, and a stream that tells a sleeping reader of
/// an earlier time (keys.hpp). Every change is one script.
#pragma once

#include <string>

#include "backends/redis/driver.hpp"
#include "storage/key_value/key_value_store.hpp"
#include "storage/scheduled/promoter.hpp"

namespace tenure::redis {

/// The storage core's driver with what waits.
class Store final : public storage::KeyValueStore {
 public:
  explicit Store(std::unique_ptr<Driver> driver);

  /// The tag of its keys.
  std::string queue() const override { return redis_.keys().tag; }
  Result<storage::WaitingPage> waiting(const storage::WaitingScan& scan) override;
  Result<storage::WaitingCounts> countWaiting(std::int64_t atMost) override;
  Driver& redis() noexcept { return redis_; }

 private:
  Store(Driver& driver, std::unique_ptr<Driver>&& owned) : KeyValueStore(std::move(owned), true), redis_(driver) {}

  Driver& redis_;  // which the base owns
};

/// The field under which a queue names its reader: which election consumes it, in which ensemble.
std::string readerOf(const TermIdentity& term);

/// The waiting room of the queue that a source reads, for one term. Threads: the source's.
class WaitingRoom final : public scheduled::IWaitingRoom {
 public:
  /// Borrows both.
  WaitingRoom(Link& link, const Keys& keys) : link_(link), keys_(keys) {}
  void attach(const TermIdentity& term) { term_ = term; }

  Result<Front> look() override;
  Result<Promoted> promote(WallTime until, std::size_t atMost) override;

 private:
  Link& link_;
  const Keys& keys_;
  TermIdentity term_;
};

}  // namespace tenure::redis
