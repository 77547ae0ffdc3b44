/// The file of one Database: opened by the port that is used first, closed when neither holds it any more.
#pragma once

#include <memory>
#include <optional>
#include <utility>

#include "backends/sqlite/connection.hpp"
#include "backends/sqlite/schema.hpp"

namespace tenure::sqlite {

class OpenFile {
 public:
  /// Operators may look into a file that this process may not write. One that it may write is opened for that: what a
  /// dead leader left half done is undone then.
  enum class For { leaders, producers, operators };
  explicit OpenFile(Options options, For whom = For::leaders) : options_(std::move(options)), whom_(whom) {}

  /// Both ports get the same connection, so that they share transactions.
  Result<std::shared_ptr<Connection>> acquire(std::function<bool()> whenBusy = {}) {
    if (auto connection = open_.lock()) {
      if (whenBusy) connection->whenBusy(std::move(whenBusy));
      return connection;
    }
    Result<std::unique_ptr<Connection>> opened = Connection::open(
        options_, std::move(whenBusy), whom_ == For::leaders ? OlderSchema::bringForward : OlderSchema::refuse);
    const bool mayBeReadOnly =
        !opened && (opened.error().is(Errc::permissionDenied) || opened.error().is(Errc::unavailable));
    if (mayBeReadOnly && whom_ == For::operators)
      if (auto reading = lookOnly()) {
        whyReadOnly_ = opened.error();
        opened = std::move(*reading);
      }
    if (!opened) return opened.error();
    std::shared_ptr<Connection> connection = std::move(*opened);
    if (whom_ == For::operators) connection->limitLooks(longestLook);
    open_ = connection;
    return connection;
  }

  const Options& options() const noexcept { return options_; }
  /// Why the file that was acquired can only be read; nullopt where it can be written.
  const std::optional<Error>& whyReadOnly() const noexcept { return whyReadOnly_; }

 private:
  /// Nullopt where nothing can be read either.
  std::optional<Result<std::unique_ptr<Connection>>> lookOnly() const {
    Result<std::unique_ptr<Connection>> reading = Connection::look(options_);
    if (!reading) return std::nullopt;
    const Result<void> schema = ensureSchema(**reading, false);
    if (!schema) return schema.error();
    return reading;
  }

  static constexpr std::chrono::seconds longestLook{1};

  Options options_;
  const For whom_;
  std::optional<Error> whyReadOnly_{};
  std::weak_ptr<Connection> open_;
};

}  // namespace tenure::sqlite
