/// Messages that wait for their time in a SQLite file, and how they come to their queue.
#pragma once

#include <limits>
#include <memory>
#include <string>

#include "backends/sqlite/connection.hpp"
#include "storage/driver.hpp"
#include "storage/scheduled/promoter.hpp"

namespace tenure::sqlite {

/// The messages of a queue that wait, up to that time in milliseconds, in the order in which they come to it; some
/// megabytes at most.
Result<storage::WaitingPage> readWaiting(Connection& connection, const std::string& queue,
                                         const storage::WaitingScan& scan,
                                         std::int64_t until = std::numeric_limits<std::int64_t>::max());

Result<storage::WaitingCounts> countWaiting(Connection& connection, const std::string& queue, std::int64_t atMost);

/// Whether the term is the one that reads the queue.
Result<bool> isReader(Connection& connection, const std::string& queue, const TermIdentity& term);
/// Errors:  staleTerm      a newer term reads it
///          placeReplaced  the reader is another one, and no newer term
Result<void> checkReader(Connection& connection, const std::string& queue, const TermIdentity& term);
/// Makes the term the one that reads the queue. Under the write lock. Errors: staleTerm.
Result<void> raiseReader(Connection& connection, const std::string& queue, const TermIdentity& term);

/// The waiting room of the queue that a source reads, for one term. Threads: the source's.
class WaitingRoom final : public scheduled::IWaitingRoom {
 public:
  void attach(std::shared_ptr<Connection> connection, std::int64_t number, std::string queue, const TermIdentity& term);
  void detach() noexcept { connection_.reset(); }

  Result<Front> look() override;
  Result<Promoted> promote(WallTime until, std::size_t atMost) override;
  Result<std::vector<Unread>> unread() override;

 private:
  Result<Promoted> move(const storage::WaitingPage& page);
  Result<std::optional<WallTime>> firstDue();

  std::shared_ptr<Connection> connection_;
  std::int64_t number_ = 0;
  std::string queue_;
  TermIdentity term_;
};

}  // namespace tenure::sqlite
