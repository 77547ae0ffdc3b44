#include <algorithm>

#include "base/text.hpp"
#include "base/validation.hpp"
#include "tenure/message.hpp"
#include "tenure/values.hpp"

namespace tenure {
namespace {

constexpr std::size_t maxElectionName = 64;
constexpr std::size_t maxCandidateId = 128;
constexpr std::size_t maxMessageId = 255;
constexpr std::size_t maxProducer = 64;
constexpr std::size_t maxGroupId = 255;
constexpr std::size_t maxRootPath = 255;

bool isNameByte(char c) noexcept {
  return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '.' || c == '_' || c == '-';
}

bool isName(std::string_view text) noexcept {
  return !text.empty() && text != "." && text != ".." && std::all_of(text.begin(), text.end(), isNameByte);
}

Error refused(std::string_view what, std::string_view text, std::string_view expected) {
  return {Errc::invalidArgument,
          std::string(what) + " \"" + escaped(text) + "\" is not valid: expected " + std::string(expected)};
}

}  // namespace

Result<ElectionName> parseElectionName(std::string_view text) {
  if (!isName(text) || text.size() > maxElectionName || text == "zookeeper")
    return refused("election", text, "1 to 64 of A-Z a-z 0-9 . _ -, and not \".\", \"..\" or \"zookeeper\"");
  return ElectionName{std::string(text)};
}

Result<CandidateId> parseCandidateId(std::string_view text) {
  const bool printable = std::all_of(text.begin(), text.end(), [](char c) { return c > ' ' && c < '\x7f'; });
  if (text.empty() || text.size() > maxCandidateId || !printable)
    return refused("id", text, "1 to 128 printable ASCII characters without spaces");
  return CandidateId{std::string(text)};
}

Result<MessageId> parseMessageId(std::string_view text) {
  if (text.empty() || text.size() > maxMessageId || text.find('\0') != std::string_view::npos)
    return refused("message id", text, "1 to 255 bytes without NUL");
  return MessageId{std::string(text)};
}

Result<MessageId> messageIdOf(std::string_view producer, std::string_view id) {
  if (!isName(producer) || producer.size() > maxProducer)
    return refused("producer", producer, "1 to 64 of A-Z a-z 0-9 . _ -");
  if (id.empty()) return refused("message id", id, "1 byte or more");
  return parseMessageId(std::string(producer).append("/").append(id));
}

bool isGroup(const GroupId& group) noexcept {
  return group.value.size() <= maxGroupId && group.value.find('\0') == std::string::npos;
}

Result<GroupId> parseGroupId(std::string_view text) {
  GroupId group{std::string(text)};
  if (!isGroup(group)) return refused("group", text, "at most 255 bytes without NUL");
  return group;
}

Result<std::string> parseRootPath(std::string_view text) {
  constexpr std::string_view expected = "an absolute znode path such as /tenure, outside /zookeeper";
  if (text.size() < 2 || text.size() > maxRootPath || text.front() != '/') return refused("root", text, expected);
  for (std::size_t begin = 1; begin <= text.size();) {
    const std::size_t end = std::min(text.find('/', begin), text.size());
    const std::string_view part = text.substr(begin, end - begin);
    if (!isName(part) || (begin == 1 && part == "zookeeper")) return refused("root", text, expected);
    begin = end + 1;
  }
  return std::string(text);
}

}  // namespace tenure
