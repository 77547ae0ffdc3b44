#include "cli/worker/wire.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/text.hpp"
#include "tenure/version.hpp"

namespace tenure::cli::worker {
namespace {

using nlohmann::json;

/// [from, length] of what it puts into the body.
json pieceFor(std::string_view bytes, std::string& body) {
  json place{body.size(), bytes.size()};
  body += bytes;
  return place;
}

/// Bytes as the wire has them in a head: a string where they are text, else a piece of the body.
json textFor(std::string_view bytes, std::string& body) {
  return isText(bytes) ? json(bytes) : json{{"bytes", pieceFor(bytes, body)}};
}

Frame frame(const json& head, std::string body = {}) {
  return {head.dump(-1, ' ', false, json::error_handler_t::replace), std::move(body)};
}

Frame numbered(const char* type, std::int64_t number) {
  return frame({{"type", type}, {"number", std::to_string(number)}});
}

std::string typeOf(const json& head) {
  const auto type = head.find("type");
  return type != head.end() && type->is_string() ? type->get<std::string>() : std::string{};
}

std::optional<std::int64_t> numberOf(const json& head) {
  const auto number = head.find("number");
  return number != head.end() && number->is_string() ? parseInteger(number->get_ref<const std::string&>())
                                                     : std::nullopt;
}

/// Nullopt: they are no array of strings.
std::optional<std::vector<std::string>> stringsIn(const json& head, const char* name) {
  const auto found = head.find(name);
  if (found == head.end() || !found->is_array()) return std::nullopt;
  std::vector<std::string> strings;
  for (const json& each : *found) {
    if (!each.is_string()) return std::nullopt;
    strings.push_back(each.get<std::string>());
  }
  return strings;
}

constexpr std::size_t mostKeys = 1'000;

Error wrong(const std::string& what) { return {Errc::invalidArgument, what}; }

}  // namespace

Frame helloOf(const std::vector<std::string>& effects) {
  return frame({{"type", "hello"}, {"wire", wireVersion}, {"version", TENURE_VERSION}, {"effects", effects}});
}

Frame frameOf(const Handed& handed) {
  const Message& message = handed.message;
  std::string body;
  json headers = json::array();
  json sequence;
  for (const auto& [name, value] : message.headers) {
    if (const auto its = parseInteger(value); name == numberHeader && its && *its > 0) sequence = std::to_string(*its);
    headers.push_back({textFor(name, body), textFor(value, body)});
  }
  json head{{"type", "message"},
            {"number", std::to_string(handed.number)},
            {"id", textFor(message.id.value, body)},
            {"group", textFor(message.group.value, body)},
            {"attempt", std::to_string(handed.attempt)},
            {"token", std::to_string(handed.token)},
            {"headers", std::move(headers)},
            {"sequence", std::move(sequence)},
            {"body", pieceFor(message.body, body)}};
  if (message.enqueuedAt != WallTime{}) head["time"] = formatWallTime(message.enqueuedAt);
  if (handed.deadline) head["deadline"] = formatWallTime(*handed.deadline);
  return frame(head, std::move(body));
}

Frame stateFrame(std::int64_t number, const StateValues& values) {
  std::string body;
  json told = json::object();
  for (const auto& [key, value] : values) told[key] = value ? pieceFor(*value, body) : json();
  return frame({{"type", "state"}, {"number", std::to_string(number)}, {"values", std::move(told)}}, std::move(body));
}

Frame notedFrame(std::int64_t number) { return numbered("noted", number); }
Frame acceptedFrame(std::int64_t number) { return numbered("accepted", number); }
Frame refusedFrame(std::int64_t number, const std::string& why) {
  return frame({{"type", "refused"}, {"number", std::to_string(number)}, {"why", why}});
}
Frame stopFrame() { return frame({{"type", "stop"}}); }

Result<Hello> helloIn(const Frame& first) {
  const json head = json::parse(first.head);
  if (typeOf(head) != "hello") return wrong("the worker's first frame is no hello");
  if (head.value("wire", json{}) != json(wireVersion))
    return Error{Errc::configurationRefused,
                 "the worker speaks another version of the wire: expected " + std::to_string(wireVersion)};
  Hello hello;
  const json language = head.value("language", json{});
  hello.language = language.is_string() ? escaped(language.get<std::string>(), 80) : "of no language that it names";
  const json ahead = head.value("ahead", json(1U));
  if (!ahead.is_number_unsigned() || ahead.get<std::uint64_t>() < 1 || ahead.get<std::uint64_t>() > mostAhead)
    return wrong("the worker's hello: \"ahead\" is no whole number from 1 to " + std::to_string(mostAhead));
  hello.ahead = ahead.get<std::size_t>();
  if (!head.contains("uses")) return hello;
  const auto uses = stringsIn(head, "uses");
  if (!uses) return wrong("the worker's hello: \"uses\" is no array of strings");
  hello.uses = *uses;
  return hello;
}

Result<Said> saidIn(Frame said) {
  const json head = json::parse(said.head);
  const std::string type = typeOf(head);
  if (type == "bye") return Said(SaysBye{});
  const auto number = numberOf(head);
  const bool isKnown = type == "answer" || type == "need" || type == "progress";
  if (!isKnown) return wrong("a frame of the kind \"" + escaped(type, 80) + "\" is not known");
  if (!number) return wrong("a frame of the kind \"" + type + "\" has no number");
  if (type == "answer") return Said(SaysAnswer{*number, std::move(said)});
  if (type == "progress") return Said(SaysProgress{*number});
  auto keys = stringsIn(head, "keys");
  if (!keys || keys->size() > mostKeys)
    return wrong("\"need\" names no keys: expected an array of at most " + std::to_string(mostKeys) + " strings");
  return Said(SaysNeed{*number, *std::move(keys)});
}

}  // namespace tenure::cli::worker
