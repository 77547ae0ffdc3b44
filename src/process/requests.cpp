#include "process/requests.hpp"

#include "process/line.hpp"

namespace tenure {
namespace {

struct Header {
  BootTime until;
  std::chrono::milliseconds grace;
  std::chrono::milliseconds warning;
};

bool holdsNul(std::string_view text) { return text.find('\0') != std::string_view::npos; }

}  // namespace

// A header, then strings that each end with NUL: the command first, then the environment.
Result<std::string> encode(const SpawnRequest& request) {
  const Header header{request.until, request.grace, request.warning};
  std::string bytes(reinterpret_cast<const char*>(&header), sizeof header);
  if (holdsNul(request.command)) return Error{Errc::invalidArgument, "the command holds a NUL byte"};
  bytes.append(request.command).push_back('\0');
  for (const std::string& variable : request.environment) {
    if (holdsNul(variable))
      return Error{Errc::invalidArgument, variable.substr(0, variable.find('=')) + " holds a NUL byte"};
    bytes.append(variable).push_back('\0');
  }
  if (bytes.size() > Line::maxPacketBytes)
    return Error{Errc::invalidArgument, "command and environment are " + std::to_string(bytes.size()) +
                                            " bytes, at most " + std::to_string(Line::maxPacketBytes) +
                                            " are possible"};
  return bytes;
}

std::optional<SpawnRequest> decodeSpawnRequest(std::string_view bytes) {
  const std::optional<Header> header = readRecord<Header>(bytes);
  if (!header || bytes.size() == sizeof(Header) || bytes.back() != '\0') return std::nullopt;
  SpawnRequest request{header->until, header->grace, header->warning, {}, {}};
  bytes.remove_prefix(sizeof(Header));
  std::vector<std::string> strings;
  while (!bytes.empty()) {
    const std::size_t end = bytes.find('\0');
    strings.emplace_back(bytes.substr(0, end));
    bytes.remove_prefix(end + 1);
  }
  request.command = std::move(strings.front());
  strings.erase(strings.begin());
  request.environment = std::move(strings);
  return request;
}

}  // namespace tenure
