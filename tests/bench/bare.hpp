/// What somebody would write who needs the same guarantees and has no framework: for each store the statements of a
/// fenced batch straight on its client library, on tables or keys that Tenure's own schema keeps. The term must have
/// claimed the store; nobody else may consume there meanwhile.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace tenure::bench {

struct Row {
  std::int64_t position;
  std::string id;
  std::string group;
  std::string body;
  std::string headers;
  std::int64_t enqueuedAt;
};

/// What a loop does beside the effect.
enum class Guard {
  fenced,  // as Tenure: fence, key, what is in work
  none,    // the effect alone, as most consumers of a broker do
};

class BareStore {
 public:
  virtual ~BareStore() = default;
  /// The next messages of the store's own queue.
  virtual std::vector<Row> fetch(std::size_t max) = 0;
  /// One transaction: fence, then key and effect a message, then what is in work, where it is guarded; and the
  /// messages' deletion where they are of its own queue.
  virtual void commit(std::span<const Row> rows, bool ofOwnQueue) = 0;
};

/// Each id followed by a NUL.
inline std::string joinedIds(std::span<const Row> rows) {
  std::string joined;
  for (const Row& row : rows) joined.append(row.id).push_back('\0');
  return joined;
}

}  // namespace tenure::bench
