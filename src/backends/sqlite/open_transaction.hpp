/// A transaction in which a handler's own statements run.
///
///   idle ──begin──▶ open ──commit / rollback──▶ over
#pragma once

#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "storage/driver.hpp"

namespace tenure::sqlite {

class Driver;

class OpenTransaction final : public storage::ISqlTransaction {
 public:
  explicit OpenTransaction(Driver& driver) : driver_(driver) {}
  ~OpenTransaction() override { OpenTransaction::rollback(); }

  Result<storage::Outcome> begin(const storage::Fence& expected, const storage::Fence& next) override;
  bool hasBegun() const noexcept override { return state_ != State::idle; }
  Result<void> status() const override;
  Result<std::vector<SqlRow>> execute(std::string_view sql, std::span<const SqlParameter> parameters) override;
  Result<void> write(std::string_view sql, std::span<const SqlParameter> parameters) override;
  Result<std::int64_t> touch(std::string_view sql, std::span<const SqlParameter> parameters) override;
  Result<void> check(std::string_view sql, std::span<const SqlParameter> parameters) override;
  Result<void> mark() override;
  Result<void> rollbackToMark() override;
  Result<storage::Committed> commit(const storage::Commit& commit) override;
  void rollback() noexcept override;

 private:
  enum class State { idle, open, over };
  enum class Mark {
    none,
    wanted,   // nothing was changed behind it
    placed,   // it is a savepoint
    skipped,  // something was, and it is none
  };

  Result<void> placeMark();
  /// What the file has against a handler's call is no fault of its message, whatever the handler makes of it.
  Error heard(Error error);

  Driver& driver_;
  State state_ = State::idle;
  std::optional<Error> broken_;
  Mark mark_ = Mark::none;
  bool hasSavepoint_ = false;  // of this mark or an earlier one
};

}  // namespace tenure::sqlite
