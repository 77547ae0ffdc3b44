#include "cli/input/message_line.hpp"

#include <nlohmann/json.hpp>

#include "base/base64.hpp"
#include "base/random.hpp"
#include "base/text.hpp"
#include "messages/headers.hpp"

namespace tenure::cli {
namespace {

using nlohmann::json;

constexpr std::string_view space = " \t\r\n";

Error bad(std::string why) { return {Errc::invalidArgument, std::move(why)}; }
Error large(const char* what, std::size_t bytes, std::size_t limit) {
  return {Errc::payloadTooLarge, std::string(what) + " of " + std::to_string(bytes) + " bytes, at most " +
                                     std::to_string(limit) + " are allowed"};
}

/// Past the string that begins at `at`, in text that is known to be valid JSON.
std::size_t endOfString(std::string_view text, std::size_t at) noexcept {
  for (++at; text[at] != '"'; ++at)
    if (text[at] == '\\') ++at;
  return at + 1;
}

/// At the comma or bracket that ends the value beginning at `at`.
std::size_t endOfValue(std::string_view text, std::size_t at) noexcept {
  for (int depth = 0;; ++at) {
    while (text[at] == '"') at = endOfString(text, at);
    const char c = text[at];
    if (depth == 0 && (c == ',' || c == '}' || c == ']')) return at;
    if (c == '{' || c == '[') ++depth;
    if (c == '}' || c == ']') --depth;
  }
}

/// A member of an object, its value as it stands: parsing and writing it again could change a number.
struct Member {
  std::string key;
  std::string_view value;
};

std::vector<Member> membersOf(std::string_view object) {
  std::vector<Member> members;
  std::size_t at = object.find_first_not_of(space, object.find('{') + 1);
  while (object[at] == '"') {
    const std::size_t keyEnd = endOfString(object, at);
    const std::size_t begin = object.find_first_not_of(space, object.find(':', keyEnd) + 1);
    const std::size_t end = endOfValue(object, begin);
    members.push_back({json::parse(object.substr(at, keyEnd - at)).get<std::string>(),
                       object.substr(begin, object.find_last_not_of(space, end - 1) + 1 - begin)});
    if (object[end] == '}') break;
    at = object.find_first_not_of(space, end + 1);
  }
  return members;
}

Result<std::string> textOf(const Member& member) {
  if (member.value.front() != '"') return bad("\"" + member.key + "\" is not text");
  return json::parse(member.value).get<std::string>();
}

/// The value of a key that ends with "_base64", decoded.
Result<std::string> bytesOf(const Member& member) {
  const auto text = textOf(member);
  if (!text) return text.error();
  auto bytes = bytesOfBase64(*text);
  if (!bytes) return bad("\"" + member.key + "\" is not base64");
  return *std::move(bytes);
}

Result<std::string> textOrBytesOf(const Member& member) {
  return member.key.ends_with("_base64") ? bytesOf(member) : textOf(member);
}

Result<void> setId(NewMessage& message, const Member& member) {
  const auto value = textOrBytesOf(member);
  if (!value) return value.error();
  auto id = parseMessageId(*value);
  if (!id) return id.error();
  message.id = std::move(*id);
  return {};
}

Result<void> setGroup(NewMessage& message, const Member& member) {
  const auto value = textOrBytesOf(member);
  if (!value) return value.error();
  auto group = parseGroupId(*value);
  if (!group) return group.error();
  message.group = std::move(*group);
  return {};
}

Result<void> setBody(NewMessage& message, const Member& member) {
  const bool isText = member.value.front() == '"';
  message.body = isText ? json::parse(member.value).get<std::string>() : std::string(member.value);
  return {};
}

Result<void> setBodyBytes(NewMessage& message, const Member& member) {
  auto bytes = bytesOf(member);
  if (!bytes) return bytes.error();
  message.body = *std::move(bytes);
  return {};
}

Result<void> setReplace(NewMessage& message, const Member& member) {
  if (member.value != "true" && member.value != "false") return bad("\"replace\" is neither true nor false");
  message.replacesScheduled = member.value == "true";
  return {};
}

Result<void> setTime(NewMessage& message, Result<WallTime> at, const Member& member) {
  if (message.deliverAt) return bad("\"delay\" and \"deliver_at\" are both given");
  if (!at) return bad("\"" + member.key + "\": " + at.error().detail);
  if (*at > systemClock().wallNow() + farthestDelivery)
    return bad("\"" + member.key + "\": " + formatWallTime(*at) + " is more than ten years ahead");
  message.deliverAt = *at;
  return {};
}

/// From the moment at which the line is read.
Result<void> setDelay(NewMessage& message, const Member& member) {
  const auto text = textOf(member);
  if (!text) return bad("\"delay\" is not text: expected a time with its unit, as \"30s\"");
  const auto delay = parseDuration(*text);
  if (!delay) return setTime(message, delay.error(), member);
  return setTime(message, timeAfter(systemClock().wallNow(), *delay), member);
}

Result<void> setDeliverAt(NewMessage& message, const Member& member) {
  const auto text = textOf(member);
  if (!text) return bad("\"deliver_at\" is not text: expected a time, as \"2026-05-04T09:12:33Z\"");
  return setTime(message, parseWallTime(*text), member);
}

Result<void> setHeaders(NewMessage& message, const Member& member) {
  if (member.value.front() != '{') return bad("\"headers\" is not an object");
  for (const Member& header : membersOf(member.value)) {
    auto text = textOf(header);
    if (!text) return bad("header \"" + escaped(header.key) + "\" is not text");
    message.headers.emplace_back(header.key, std::move(*text));
  }
  return {};
}

struct Key {
  std::string_view name;
  Result<void> (*set)(NewMessage&, const Member&);
};
constexpr std::array keys{Key{"id", setId},
                          Key{"id_base64", setId},
                          Key{"group", setGroup},
                          Key{"group_base64", setGroup},
                          Key{"body", setBody},
                          Key{"body_base64", setBodyBytes},
                          Key{"headers", setHeaders},
                          Key{"delay", setDelay},
                          Key{"deliver_at", setDeliverAt},
                          Key{"replace", setReplace}};

Result<void> checkSizes(const NewMessage& message) {
  if (message.body.size() > maxBodyBytes) return large("a body", message.body.size(), maxBodyBytes);
  if (const std::size_t bytes = sizeOf(message.headers); bytes > maxHeaderBytes)
    return large("headers", bytes, maxHeaderBytes);
  return {};
}

Result<void> checkJsonObject(std::string_view line) {
  if (!json::accept(line)) {
    try {
      const json never = json::parse(line);
    } catch (const json::parse_error& error) {
      return bad("not valid JSON at byte " + std::to_string(error.byte));
    } catch (const json::exception&) {  // of what is well-formed, only numbers have a range
    }
    return bad("a number is too large for a double; put it into quotes");
  }
  if (line[line.find_first_not_of(space)] != '{') return bad("not a JSON object");
  return {};
}

Result<NewMessage> parseJsonLine(std::string_view line) {
  if (const auto valid = checkJsonObject(line); !valid) return valid.error();
  NewMessage message;
  std::vector<std::string> seen;
  for (const Member& member : membersOf(line)) {
    const auto key = std::find_if(keys.begin(), keys.end(), [&](const Key& k) { return k.name == member.key; });
    if (key == keys.end())
      return bad("key \"" + escaped(member.key) +
                 "\" is not known: expected id, group or body, each also with _base64, headers, delay, deliver_at,"
                 " replace");
    if (std::find(seen.begin(), seen.end(), member.key) != seen.end())
      return bad("key \"" + member.key + "\" is given twice");
    seen.push_back(member.key);
    if (const auto set = key->set(message, member); !set) return set.error();
  }
  const auto twice =
      std::ranges::find_if(seen, [&](const std::string& key) { return std::ranges::count(seen, key + "_base64") > 0; });
  if (twice != seen.end()) return bad("\"" + *twice + "\" and \"" + *twice + "_base64\" are both given");
  if (std::ranges::count(seen, "body") + std::ranges::count(seen, "body_base64") == 0)
    return bad("\"body\" is missing");
  return message;
}

std::string jsonText(const std::string& text) {
  return json(text).dump(-1, ' ', false, json::error_handler_t::replace);
}

/// `"id":"o-1"`, or `"id_base64":"//4="` where that is no text.
std::string jsonMember(const std::string& key, const std::string& bytes) {
  return isText(bytes) ? '"' + key + "\":" + jsonText(bytes) : '"' + key + "_base64\":\"" + base64(bytes) + '"';
}

}  // namespace

Result<WallTime> timeAfter(WallTime now, std::chrono::microseconds delay) {
  if (delay <= farthestDelivery) return now + std::chrono::ceil<std::chrono::milliseconds>(delay);
  return Error{Errc::invalidArgument, formatDuration(delay) + " is more than ten years ahead"};
}

std::size_t longestLine(LineFormat format) noexcept {
  // A JSON string may spend six characters on a byte (\u0000), and headers and id come on top.
  return format == LineFormat::lines ? maxBodyBytes : 6 * (maxBodyBytes + maxHeaderBytes) + 4096;
}

Result<NewMessage> parseMessageLine(LineFormat format, std::string_view line, const std::string& id) {
  Result<NewMessage> message = NewMessage{};
  if (format == LineFormat::lines)
    message->body = line;
  else
    message = parseJsonLine(line);
  if (!message) return message;
  if (message->id.value.empty()) message->id.value = id.empty() ? freshUuid() : id;
  if (const auto fits = checkSizes(*message); !fits) return fits.error();
  return message;
}

std::string jsonLineOf(const NewMessage& message) {
  std::string line = "{" + jsonMember("id", message.id.value) + "," + jsonMember("group", message.group.value);
  if (message.deliverAt) line += R"(,"deliver_at":")" + formatWallTime(*message.deliverAt) + '"';
  if (message.replacesScheduled) line += R"(,"replace":true)";
  std::string headers;  // by hand, because a header may be there twice
  for (const auto& [name, value] : message.headers)
    headers += (headers.empty() ? "" : ",") + jsonText(name) + ":" + jsonText(value);
  return line + R"(,"headers":{)" + headers + "}," + jsonMember("body", message.body) + "}";
}

}  // namespace tenure::cli
