#include "process/requests.hpp"

#include <iterator>

#include "process/ipc_channel.hpp"

namespace tenure {
namespace {

struct Header {
  BootTime until;
  std::chrono::milliseconds grace;
  std::chrono::milliseconds warning;
  std::int32_t termDescriptor;
  std::int32_t controlGroup;
  std::int64_t arguments;  // how many of the strings
};

bool holdsNul(std::string_view text) { return text.find('\0') != std::string_view::npos; }

std::vector<std::string> stringsIn(std::string_view bytes) {
  std::vector<std::string> strings;
  while (!bytes.empty()) {
    const std::size_t end = bytes.find('\0');
    strings.emplace_back(bytes.substr(0, end));
    bytes.remove_prefix(end + 1);
  }
  return strings;
}

}  // namespace

// A header, then strings that each end with NUL: the arguments first, then the environment.
Result<std::string> encode(const SpawnRequest& request) {
  if (request.arguments.empty()) return Error{Errc::invalidArgument, "there is no command"};
  const Header header{request.until,
                      request.grace,
                      request.warning,
                      request.termDescriptor,
                      request.controlGroup ? 1 : 0,
                      static_cast<std::int64_t>(request.arguments.size())};
  std::string bytes(reinterpret_cast<const char*>(&header), sizeof header);
  for (const std::string& argument : request.arguments) {
    if (holdsNul(argument)) return Error{Errc::invalidArgument, "the command holds a NUL byte"};
    bytes.append(argument).push_back('\0');
  }
  for (const std::string& variable : request.environment) {
    if (holdsNul(variable))
      return Error{Errc::invalidArgument, variable.substr(0, variable.find('=')) + " holds a NUL byte"};
    bytes.append(variable).push_back('\0');
  }
  if (bytes.size() > IpcChannel::maxPacketBytes)
    return Error{Errc::invalidArgument, "command and environment are " + std::to_string(bytes.size()) +
                                            " bytes, at most " + std::to_string(IpcChannel::maxPacketBytes) +
                                            " are possible"};
  return bytes;
}

std::optional<SpawnRequest> decodeSpawnRequest(std::string_view bytes) {
  const std::optional<Header> header = readRecord<Header>(bytes);
  if (!header || bytes.size() == sizeof(Header) || bytes.back() != '\0') return std::nullopt;
  std::vector<std::string> strings = stringsIn(bytes.substr(sizeof(Header)));
  if (header->arguments < 1 || static_cast<std::size_t>(header->arguments) > strings.size()) return std::nullopt;
  const auto environment = strings.begin() + header->arguments;
  SpawnRequest request{
      header->until, header->grace, header->warning, header->termDescriptor, header->controlGroup != 0, {}, {}};
  request.environment.assign(std::make_move_iterator(environment), std::make_move_iterator(strings.end()));
  strings.erase(environment, strings.end());
  request.arguments = std::move(strings);
  return request;
}

}  // namespace tenure
