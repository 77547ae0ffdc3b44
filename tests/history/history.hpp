/// Histories and the ledger, as read from their files.
#pragma once

#include <filesystem>
#include <vector>

#include "history/line.hpp"

namespace tenure::history {

/// What one file says, line for line.
struct ProcessHistory {
  std::string name;  // of the file, as complaints show it
  std::vector<Line> lines;
  bool torn = false;  // the last line had no end: its process died while it wrote, and the line does not count
};

/// Errors:  notFound         the file cannot be read
///          invalidArgument  names file and line
Result<ProcessHistory> readHistory(const std::filesystem::path& file);
Result<std::vector<Row>> readLedger(const std::filesystem::path& file);

}  // namespace tenure::history
