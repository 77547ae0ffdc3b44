#include "cli/output/replace_file.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <string>

namespace tenure::cli {
namespace {

bool writeAll(int descriptor, std::string_view bytes) noexcept {
  while (!bytes.empty()) {
    const ssize_t written = ::write(descriptor, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
  return true;
}

/// Absent, or a plain file.
std::error_code mayReplace(const std::filesystem::path& file) {
  std::error_code failure;
  const std::filesystem::file_status found = std::filesystem::symlink_status(file, failure);
  if (found.type() == std::filesystem::file_type::not_found) return {};
  if (failure || std::filesystem::is_regular_file(found)) return failure;
  return std::make_error_code(std::errc::not_supported);
}

}  // namespace

std::error_code replaceFile(const std::filesystem::path& file, std::string_view text) {
  if (const std::error_code refused = mayReplace(file)) return refused;
  const std::string fresh = file.string() + ".new." + std::to_string(::getpid());
  ::unlink(fresh.c_str());  // a leftover, which O_EXCL would refuse
  const int descriptor = ::open(fresh.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0644);
  if (descriptor < 0) return {errno, std::system_category()};
  std::error_code failure;
  if (!writeAll(descriptor, text)) failure = {errno, std::system_category()};
  ::close(descriptor);
  if (!failure) std::filesystem::rename(fresh, file, failure);
  if (failure) ::unlink(fresh.c_str());
  return failure;
}

}  // namespace tenure::cli
