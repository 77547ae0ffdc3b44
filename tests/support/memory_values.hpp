/// A key-value store in memory with any fault on demand, for tests of what is made of such stores.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "tenure/spi/key_value.hpp"

namespace tenure::test {

/// What several drivers share, as replicas share a server.
struct MemoryValues {
  std::mutex mutex;
  std::map<spi::Name, std::string> values;
  std::string server = "first";
  std::size_t reads = 0;
  std::size_t batches = 0;
  spi::Limits limits;
  /// Each is asked once, in turn: before the next batch is applied, and for what becomes of it.
  enum class Fault { unavailable, lostBefore, lostAfter };
  std::deque<Fault> faults;
  std::function<void()> beforeNextBatch;  // somebody else is faster
};

class MemoryDriver final : public spi::IKeyValueDriver {
 public:
  explicit MemoryDriver(std::shared_ptr<MemoryValues> shared) : shared_(std::move(shared)) {}

  std::string name() const override { return "memory"; }
  const spi::Limits& limits() const noexcept override { return shared_->limits; }
  Result<void> connect(const std::stop_token&) override { return {}; }
  std::string server() const override { return shared_->server; }
  Result<spi::Values> read(std::span<const spi::Name> names) override;
  Result<std::vector<spi::NamedValue>> scan(const spi::Range& range) override;
  Result<spi::Applied> apply(const spi::Batch& batch) override;
  void release() noexcept override {}

 private:
  std::shared_ptr<MemoryValues> shared_;
};

}  // namespace tenure::test
