#include "cli/password_file.hpp"

#include <unistd.h>

#include <fstream>

#include "base/text.hpp"

namespace tenure::cli {
namespace {

bool holdsLine(const std::filesystem::path& file) {
  std::error_code unknown;
  if (!std::filesystem::exists(file, unknown)) return false;
  if (std::filesystem::is_directory(file, unknown)) return false;
  if (!std::filesystem::is_regular_file(file, unknown)) return ::access(file.c_str(), R_OK) == 0;
  std::ifstream in(file, std::ios::binary);
  const int first = in.get();
  return in && first != '\n' && first != '\r';
}

}  // namespace

Result<void> checkPasswordFile(const std::filesystem::path& file) {
  if (file.empty() || holdsLine(file)) return {};
  return Error{Errc::configurationRefused, "password-file: no password can be read from \"" + escaped(file.string()) +
                                               "\"; expected it in its first line"};
}

}  // namespace tenure::cli
