/// The ledger that the test replicas write, and what must be true of it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace tenure::test {

struct LedgerRow {
  std::int64_t n = 0;
  std::string message;
  std::string group;
  std::int64_t token = 0;
  std::int64_t attempt = 0;
  std::int64_t at = 0;  // nanoseconds, BOOTTIME, when the handler ran
};

/// Makes the ledger table in a file that the queue made, or will make.
void createLedger(const std::filesystem::path& file);
std::vector<LedgerRow> readLedger(const std::filesystem::path& file);
/// The number of rows, cheap enough to ask again and again while others write.
std::size_t countLedger(const std::filesystem::path& file);

/// Message ids in the order of `produce`: "m-000001", …
std::string messageName(int number);
/// Appends `count` messages, numbered from `first`, in groups of ten that alternate.
void produce(const std::filesystem::path& file, int first, int count);

/// What is wrong with the ledger, one line each; empty when every one of the messages 1..count is there once, in
/// order, and tokens never go down.
std::vector<std::string> complaintsAbout(const std::vector<LedgerRow>& ledger, int count);

}  // namespace tenure::test
