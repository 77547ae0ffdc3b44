/// Memory as a driver of the storage core: every row in one map, by the name of its key.
#pragma once

#include "testing/memory/memory_state.hpp"

namespace tenure::memory {

class Driver final : public storage::IStoreDriver {
 public:
  /// Borrows both. `lane`: whose; `hasLanes`: they commit beside each other.
  explicit Driver(State& state, const IClock& clock = systemClock(), bool hasLanes = false, Lane lane = 0)
      : state_(state), clock_(clock), hasLanes_(hasLanes), lane_(lane), limits_(state.limits) {}

  std::string name() const override { return "memory"; }
  const storage::Limits& limits() const noexcept override { return limits_; }
  Result<void> connect(const std::stop_token&) override { return {}; }
  std::string server() const override { return state_.server; }
  Result<storage::FenceFound> readFence(const ElectionName& election) override;
  Result<std::vector<storage::StoredFence>> fences() override;
  Result<void> claim(const ElectionName& election, const Term* term, const storage::ClaimJudge& judge) override;
  Result<std::optional<storage::Rows>> read(std::span<const storage::RowName> rows,
                                            const storage::Fence* expected) override;
  Result<std::vector<storage::Row>> scan(const storage::Scan& scan) override;
  Result<storage::WaitingPage> waiting(const storage::WaitingScan& scan) override;
  Result<storage::WaitingCounts> countWaiting(std::int64_t atMost) override;
  Result<storage::Committed> commit(const storage::Commit& commit) override;
  std::unique_ptr<storage::IStoreDriver> openLane(std::int64_t number) override;
  Result<Findings> inspect() override;
  void limitAnswers(AnswerTimer*) noexcept override {}
  void release() noexcept override {}

 private:
  using Place = std::map<std::string, storage::Row>::iterator;

  storage::FenceFound find(const ElectionName& election) const;
  bool isAt(const storage::Fence& expected) const;
  void take(storage::Fence next, bool isTerms);
  storage::Rows rowsOf(std::span<const storage::RowName> names) const;
  Place placeOf(const std::string& name, Place last);
  Result<void> judge(const storage::WriteSet& writes) const;
  bool write(storage::WriteSet& writes);
  void put(storage::Write& write, Place place);

  State& state_;
  const IClock& clock_;
  const bool hasLanes_;
  const Lane lane_;
  const storage::Limits limits_;
};

}  // namespace tenure::memory
