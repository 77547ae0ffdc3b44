/// The file of one Database: opened by the port that is used first, closed when neither holds it any more.
#pragma once

#include <memory>
#include <utility>

#include "backends/sqlite/connection.hpp"

namespace tenure::sqlite {

class OpenFile {
 public:
  explicit OpenFile(Options options) : options_(std::move(options)) {}

  /// Both ports get the same connection, so that they share transactions.
  Result<std::shared_ptr<Connection>> acquire(std::function<bool()> whenBusy = {}) {
    if (auto connection = open_.lock()) {
      if (whenBusy) connection->whenBusy(std::move(whenBusy));
      return connection;
    }
    Result<std::unique_ptr<Connection>> opened = Connection::open(options_, std::move(whenBusy));
    if (!opened) return opened.error();
    std::shared_ptr<Connection> connection = std::move(*opened);
    open_ = connection;
    return connection;
  }

  const Options& options() const noexcept { return options_; }

 private:
  Options options_;
  std::weak_ptr<Connection> open_;
};

}  // namespace tenure::sqlite
