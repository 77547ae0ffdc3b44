/// Which rows of a user's table are on their way to be acknowledged: what its source has handed out, and what those who
/// commit have to mark. Rows are known by their messages' positions, which are never given twice.
///
/// Threads: any; the source's, and those of the lanes.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "backends/postgresql/outbox_rows.hpp"
#include "storage/write_set.hpp"

namespace tenure::postgresql {

class HandedOut {
 public:
  /// An attachment begins: nothing is handed out.
  void begin(OutboxRows rows);
  /// It is over. Its rows may be handed out again; a commit that is under way still marks them.
  void end();

  /// The position of the row with this id, which is handed out from now on.
  std::int64_t add(const std::string& id);
  std::vector<std::string> ids() const;

  /// What marks the rows of acknowledged messages, and shows the attempts of others.
  std::vector<Command> marksFor(const storage::WriteSet& writes) const;
  /// The same for messages that are acknowledged without a transaction of their store.
  std::optional<Command> markFor(std::span<const std::int64_t> positions) const;
  /// Their marks are committed.
  void done(std::span<const std::int64_t> positions);

 private:
  const std::string* find(std::int64_t position) const;

  mutable std::mutex mutex_;
  std::optional<OutboxRows> rows_;
  std::int64_t last_ = 0;
  std::map<std::int64_t, std::string> ids_;     // by position
  std::map<std::int64_t, std::string> former_;  // those of the attachment before
};

}  // namespace tenure::postgresql
