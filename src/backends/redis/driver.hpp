/// Redis as a driver of the storage core: named values in strings and hashes (keys.hpp), and the queue of the same
/// place. A batch is one script, which a server applies whole and alone. What follows a commit is read right behind it.
///
/// A server that restarted, or a replica that was promoted, is told by its run id.
#pragma once

#include <memory>
#include <set>
#include <string>
#include <vector>

#include "backends/redis/connection.hpp"
#include "backends/redis/keys.hpp"
#include "tenure/spi/key_value.hpp"

namespace tenure::redis {

class Driver final : public spi::IKeyValueDriver {
 public:
  /// For `operators` nothing is made: connect() fails with notFound where there is no queue.
  enum class For { terms, operators };
  Driver(const Options& options, IEventSink& events, For whom);

  std::string name() const override;
  const spi::Limits& limits() const noexcept override { return limits_; }
  void serve(const QueueIdentity& queue) override;
  Result<void> connect(const std::stop_token& stop) override;
  std::string server() const override { return runId_; }
  /// Says so when the password travelled in clear.
  Result<void> claimed(const FenceRow& fence) override;

  Result<spi::Values> read(std::span<const spi::Name> names) override;
  Result<std::vector<spi::NamedValue>> scan(const spi::Range& range) override;
  Result<spi::Applied> apply(const spi::Batch& batch) override;
  Result<void> tryQueue(const std::string& queue) override;

  Result<std::optional<WallTime>> clock() override;
  Result<std::size_t> countKeys() override;
  void limitAnswers(AnswerTimer* timer) noexcept override { link_.limitAnswers(timer); }
  void release() noexcept override { link_.drop(); }

  /// The one that connect() has made. Errors: unavailable.
  Result<Connection*> connection();
  const Keys& keys() const noexcept { return keys_; }

 private:
  Result<void> isOfThisLayout(Connection& connection) const;
  Result<void> askForRights(Connection& connection, const std::string& queue);
  Result<std::vector<spi::NamedValue>> scanHash(const spi::Range& range);

  Link link_;
  Keys keys_;  // without a tag where they cannot be found
  spi::Limits limits_;
  std::string keep_;  // milliseconds
  IEventSink& events_;
  For whom_;
  std::string runId_;
  std::set<std::string> permitted_;  // queues of which this connection's user has the rights
};

}  // namespace tenure::redis
