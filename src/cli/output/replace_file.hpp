/// Files that others read at any moment.
#pragma once

#include <filesystem>
#include <string_view>
#include <system_error>

namespace tenure::cli {

/// Writes a new file beside it and renames it over the old one, so that a reader never sees half of it. What is there
/// under its name and is no plain file stays: a link may lead anywhere, and a FIFO's reader may never come.
std::error_code replaceFile(const std::filesystem::path& file, std::string_view text);

}  // namespace tenure::cli
