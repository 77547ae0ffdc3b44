/// What a replica of a benchmark wrote down: one line for each commit, when it was durable and under which token.
#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

namespace tenure::test {

struct Commit {
  std::int64_t at = 0;  // nanoseconds of the steady clock, the same for all processes of a machine
  std::int64_t token = 0;
};

/// Empty when the replica has not committed yet. A line that is still being written is left out.
std::vector<Commit> readHistory(const std::filesystem::path& file);
/// The same for its end only; {0, 0} for none. Cheap enough to ask again and again while others work.
Commit lastCommit(const std::filesystem::path& file);

}  // namespace tenure::test
