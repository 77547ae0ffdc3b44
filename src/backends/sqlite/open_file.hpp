/// The file of one Database: opened by the port that is used first, closed when neither holds it any more.
#pragma once

#include <sqlite3.h>

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <thread>
#include <utility>

#include "backends/sqlite/connection.hpp"
#include "backends/sqlite/schema.hpp"
#include "tenure/spi/store.hpp"
#include "tenure/sqlite.hpp"

namespace tenure::sqlite {

// What a standby may do with the file while another process leads: look whether it could be used. It opens it for
// reading, for a moment, and waits for no lock: nothing is made, written, recovered or checkpointed.

/// Whether a leader could open the file here.
///
/// Errors:  as Connection::open. What a lock or an unfinished journal hides is no error.
Result<void> lookAsStandby(const Options& options);

/// Whether it could run a user's statement. Errors as ISqlStatements::check.
Result<void> checkUserSql(const Options& options, std::string_view sql, std::span<const SqlParameter> parameters);

class OpenFile {
 public:
  /// Operators may look into a file that this process may not write. One that it may write is opened for that: what a
  /// dead leader left half done is undone then.
  enum class For { leaders, producers, operators };
  explicit OpenFile(Options options, For whom = For::leaders) : options_(std::move(options)), whom_(whom) {}

  /// Both ports get the same connection, so that they share transactions.
  Result<std::shared_ptr<Connection>> acquire(std::function<bool()> whenBusy = {}) {
    if (auto connection = open_.lock(); connection != nullptr && !connection->hasMoved()) {
      if (whenBusy) connection->whenBusy(std::move(whenBusy));
      return connection;
    }
    Result<std::shared_ptr<Connection>> opened = open(std::move(whenBusy));
    const bool mayBeReadOnly =
        !opened && (opened.error().is(Errc::permissionDenied) || opened.error().is(Errc::unavailable));
    if (mayBeReadOnly && whom_ == For::operators)
      if (auto reading = lookOnly()) {
        whyReadOnly_ = opened.error();
        opened = std::move(*reading);
      }
    if (!opened) return opened.error();
    const std::shared_ptr<Connection>& connection = *opened;
    if (whom_ == For::operators) connection->limitLooks(longestLook);
    open_ = connection;
    return connection;
  }

  /// The next in line opens the file beforehand. Makes and writes nothing, and holds no lock; nullptr where it would
  /// have to, or would have to wait longer than a moment.
  std::shared_ptr<Connection> openAhead() {
    if (!open_.expired() || !staysInRollbackMode() || !waitForEmptyJournal()) return nullptr;
    if (ahead_ != nullptr && !ahead_->hasMoved()) return ahead_;
    Options patient = options_;
    patient.create = false;
    patient.lockLimit = patience;
    Result<std::unique_ptr<Connection>> opened = Connection::open(patient, {}, OlderSchema::refuse);
    ahead_ = opened ? std::move(*opened) : nullptr;
    return ahead_;
  }
  void closeAhead() noexcept { ahead_.reset(); }

  const Options& options() const noexcept { return options_; }
  /// Why the file that was acquired can only be read; nullopt where it can be written.
  const std::optional<Error>& whyReadOnly() const noexcept { return whyReadOnly_; }

 private:
  Result<std::shared_ptr<Connection>> open(std::function<bool()> whenBusy) {
    const OlderSchema older = whom_ == For::leaders ? OlderSchema::bringForward : OlderSchema::refuse;
    const auto anew = [&]() -> Result<std::shared_ptr<Connection>> {
      Result<std::unique_ptr<Connection>> opened = Connection::open(options_, std::move(whenBusy), older);
      return opened ? Result<std::shared_ptr<Connection>>(std::move(*opened)) : opened.error();
    };
    auto ahead = std::exchange(ahead_, nullptr);
    if (ahead == nullptr || ahead->hasMoved()) return anew();
    ahead->limitLockWait(options_.lockLimit);
    ahead->whenBusy(whenBusy);
    if (const Result<void> schema = ensureSchema(*ahead, options_.create, older); !schema) return schema.error();
    return ahead->isInWal() ? anew() : ahead;
  }
  /// A journal that is not empty may be a dead leader's; only the next leader may roll it back.
  bool waitForEmptyJournal() const {
    const std::filesystem::path journal = std::filesystem::absolute(options_.file).string() + "-journal";
    const auto isEmpty = [&journal] {
      std::error_code absent;
      const auto size = std::filesystem::file_size(journal, absent);
      return absent || size == 0;
    };
    const BootTime until = BootClock::now() + patience;
    while (!isEmpty()) {
      if (BootClock::now() >= until) return false;
      std::this_thread::sleep_for(std::chrono::milliseconds{1});
    }
    return true;
  }
  /// To open it makes no log, converts nothing, and marks nothing. In WAL mode a standby would keep a leader from
  /// leaving that mode.
  bool staysInRollbackMode() const {
    const bool wantsWal = journalPlan(sqlite3_libversion_number()).mode == "wal";
    return !wantsWal && !options_.senders && !isInWalMode(std::filesystem::absolute(options_.file));
  }

  /// Nullopt where nothing can be read either.
  std::optional<Result<std::unique_ptr<Connection>>> lookOnly() const {
    Result<std::unique_ptr<Connection>> reading = Connection::look(options_);
    if (!reading) return std::nullopt;
    const Result<void> schema = ensureSchema(**reading, false);
    if (!schema) return schema.error();
    return reading;
  }

  static constexpr std::chrono::seconds longestLook{1};
  static constexpr std::chrono::milliseconds patience{50};

  Options options_;
  const For whom_;
  std::optional<Error> whyReadOnly_{};
  std::weak_ptr<Connection> open_;
  std::shared_ptr<Connection> ahead_;
};

}  // namespace tenure::sqlite
