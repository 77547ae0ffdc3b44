#include "places/password_file.hpp"

#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <string>

#include "base/text.hpp"

namespace tenure::places {
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

Result<void> checkPasswordIsThere(const std::filesystem::path& file, const char* variable) {
  if (!file.empty()) return checkPasswordFile(file);
  if (std::getenv(variable) != nullptr) return {};
  return Error{Errc::configurationRefused,
               std::string{"password-file: there is no password; expected a file that holds it, or "} + variable};
}

Result<void> checkTlsFile(std::string_view name, const std::filesystem::path& file) {
  constexpr std::size_t mostLooked = 1U << 20U;  // comments may stand before it
  if (file.empty()) return {};
  std::string text;
  if (std::error_code unknown; std::filesystem::is_regular_file(file, unknown)) {
    text.resize(mostLooked);
    std::ifstream in(file, std::ios::binary);
    in.read(text.data(), static_cast<std::streamsize>(text.size()));
    text.resize(static_cast<std::size_t>(in.gcount()));
  }
  if (text.find("-----BEGIN ") != std::string::npos) return {};
  return Error{Errc::configurationRefused, std::string{name} + ": nothing in PEM can be read from \"" +
                                               escaped(file.string()) + "\"; expected a certificate or key there"};
}

}  // namespace tenure::places
