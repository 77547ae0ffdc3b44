#include "places/digest.hpp"

#include <cstdlib>
#include <fstream>

#include "base/secret_variables.hpp"

namespace tenure::places {
namespace {

constexpr const char* expectedDigest = "expected one line, user:password";

Result<Secret> parseDigest(std::string text) {
  while (!text.empty() && (text.back() == '\n' || text.back() == '\r')) text.pop_back();
  const std::size_t colon = text.find(':');
  const bool isPair = colon != std::string::npos && colon > 0 && colon + 1 < text.size();
  if (!isPair || text.find_first_of(std::string_view("\n\r\0", 3)) != std::string::npos)
    return Error{Errc::invalidArgument, expectedDigest};
  return Secret{std::move(text)};
}

Result<Secret> readDigest(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  std::string text(4096, '\0');
  in.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (in.bad() || (in.fail() && !in.eof())) return Error{Errc::unavailable, "cannot be read"};
  text.resize(static_cast<std::size_t>(in.gcount()));
  return parseDigest(std::move(text));
}

}  // namespace

Result<Secret> digestFrom(const std::filesystem::path& file) {
  if (!file.empty()) return readDigest(file);
  const char* inherited = std::getenv(digestVariable);
  return inherited == nullptr ? Secret{} : parseDigest(inherited);
}

}  // namespace tenure::places
