#include "cli/worker/answer.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/text.hpp"
#include "base/validation.hpp"
#include "messages/message_check.hpp"

namespace tenure::cli::worker {
namespace {

using nlohmann::json;

/// Thrown within this file only: each reader of a part says what is wrong with it.
struct Wrong {
  std::string what;
};

/// Nullopt: it lies outside of the body, or is none.
std::optional<std::string> pieceOf(const json& place, std::string_view body) {
  if (!place.is_array() || place.size() != 2 || !place[0].is_number_unsigned() || !place[1].is_number_unsigned())
    return std::nullopt;
  const auto from = place[0].get<std::size_t>();
  const auto length = place[1].get<std::size_t>();
  if (from > body.size() || length > body.size() - from) return std::nullopt;
  return std::string(body.substr(from, length));
}

const json& member(const json& object, const char* name) {
  if (!object.is_object()) throw Wrong{std::string("an object with \"") + name + "\" is expected"};
  const auto found = object.find(name);
  if (found == object.end()) throw Wrong{std::string("\"") + name + "\" is missing"};
  return *found;
}

const json* optionalMember(const json& object, const char* name) {
  const auto found = object.find(name);
  return found == object.end() || found->is_null() ? nullptr : &*found;
}

std::string text(const json& value, const char* name) {
  if (!value.is_string()) throw Wrong{std::string("\"") + name + "\" is no string"};
  return value.get<std::string>();
}

std::string textOr(const json& object, const char* name) {
  const json* found = optionalMember(object, name);
  return found == nullptr ? std::string{} : text(*found, name);
}

std::int64_t integer(const json& value, const char* name) {
  const auto number = value.is_string() ? parseInteger(value.get_ref<const std::string&>()) : std::nullopt;
  if (!number) throw Wrong{std::string("\"") + name + "\" is no whole number of 64 bits in a string"};
  return *number;
}

std::string piece(const json& place, const std::string& body, const char* name) {
  auto found = pieceOf(place, body);
  if (!found) throw Wrong{std::string("\"") + name + "\" is no [from, length] within the frame's body"};
  return *std::move(found);
}

WallTime time(const json& value, const char* name) {
  const auto at = parseWallTime(text(value, name));
  if (!at) throw Wrong{std::string("\"") + name + "\": " + at.error().detail};
  return *at;
}

MessageId idFrom(const std::string& id) {
  const auto parsed = parseMessageId(id);
  if (!parsed) throw Wrong{"\"id\": " + parsed.error().detail};
  return {id};
}

SqlValue sqlValue(const json& value, const std::string& body, const std::string& name) {
  if (value.is_null()) return std::monostate{};
  if (value.is_object() && value.size() == 1) {
    const json& of = value.begin().value();
    if (value.contains("int")) return integer(of, name.c_str());
    if (value.contains("real") && of.is_number()) return of.get<double>();
    if (value.contains("text")) return text(of, name.c_str());
    if (value.contains("bytes")) {
      const std::string bytes = piece(of, body, name.c_str());
      const auto* data = reinterpret_cast<const std::byte*>(bytes.data());
      return std::vector<std::byte>(data, data + bytes.size());
    }
  }
  throw Wrong{"parameter \"" + name + "\" is none of null, int, real, text and bytes"};
}

Effect sqlEffect(const json& effect, const std::string& body) {
  SqlEffect made{.statement = text(member(effect, "sql"), "sql"), .parameters = {}};
  if (const json* parameters = optionalMember(effect, "parameters")) {
    if (!parameters->is_object()) throw Wrong{"\"parameters\" is no object"};
    for (const auto& [name, value] : parameters->items())
      made.parameters.emplace_back(":" + name, sqlValue(value, body, name));
  }
  if (const json* rows = optionalMember(effect, "rows")) made.rows = integer(*rows, "rows");
  return made;
}

Effect sendEffect(const json& sent, const std::string& body, const MessageId& own) {
  SendEffect made{.message = {}, .queue = text(member(sent, "queue"), "queue")};
  if (const auto queue = parseElectionName(made.queue); !queue) throw Wrong{"\"queue\": " + queue.error().detail};
  const json* id = optionalMember(sent, "id");
  made.message.id = id == nullptr ? own : idFrom(text(*id, "id"));
  made.message.group.value = textOr(sent, "group");
  made.message.body = piece(member(sent, "body"), body, "body");
  if (const json* headers = optionalMember(sent, "headers")) {
    if (!headers->is_array()) throw Wrong{"\"headers\" is no array of [name, value]"};
    for (const json& header : *headers) {
      if (!header.is_array() || header.size() != 2) throw Wrong{"\"headers\" is no array of [name, value]"};
      made.message.headers.emplace_back(text(header[0], "headers"), text(header[1], "headers"));
    }
  }
  if (const json* at = optionalMember(sent, "deliver_at")) made.message.deliverAt = time(*at, "deliver_at");
  if (const json* delay = optionalMember(sent, "delay_ms"))
    made.delay = std::chrono::milliseconds{integer(*delay, "delay_ms")};
  if (const Result<void> fits = messages::checkMessage(made.message); !fits) throw Wrong{fits.error().detail};
  return made;
}

Effect effectFrom(const json& effect, const std::string& body, const MessageId& own) {
  if (!effect.is_object()) throw Wrong{"an effect is no object"};
  if (effect.contains("sql")) return sqlEffect(effect, body);
  if (const json* sent = optionalMember(effect, "send")) return sendEffect(*sent, body, own);
  if (const json* cancel = optionalMember(effect, "cancel"))
    return CancelEffect{idFrom(text(member(*cancel, "id"), "id")), textOr(*cancel, "queue")};
  if (const json* moved = optionalMember(effect, "reschedule"))
    return RescheduleEffect{idFrom(text(member(*moved, "id"), "id")), textOr(*moved, "queue"),
                            time(member(*moved, "at"), "at")};
  if (const json* put = optionalMember(effect, "put"))
    return PutEffect{text(member(*put, "key"), "key"), piece(member(*put, "value"), body, "value")};
  if (const json* erase = optionalMember(effect, "erase")) return EraseEffect{text(member(*erase, "key"), "key")};
  const std::string name = effect.empty() ? std::string("{}") : effect.begin().key();
  throw Wrong{"an effect \"" + escaped(name) + "\" is not known: expected sql, send, cancel, reschedule, put or erase"};
}

Outcome outcomeFrom(const json& head) {
  const std::string name = text(member(head, "outcome"), "outcome");
  std::string why = textOr(head, "why");
  if (name == "done") return Outcome::done();
  if (name == "failed") return Outcome::failed(std::move(why));
  if (name == "reject") return Outcome::reject(std::move(why));
  if (name == "skip") return Outcome::skip(std::move(why));
  if (name != "retry")
    throw Wrong{"\"outcome\" is \"" + escaped(name) + "\": expected done, failed, retry, reject or skip"};
  const json* after = optionalMember(head, "after_ms");
  const std::int64_t wait = after == nullptr ? 0 : integer(*after, "after_ms");
  constexpr std::int64_t most = std::chrono::milliseconds{std::chrono::hours{24 * 30}}.count();
  if (wait < 0 || wait > most) throw Wrong{"\"after_ms\" is not from 0 to 30 days"};
  return Outcome::retryLater(std::move(why), std::chrono::milliseconds{wait});
}

}  // namespace

Result<Answer> answerIn(const Frame& frame, const MessageId& message) try {
  const json head = json::parse(frame.head);
  Answer answer{.outcome = outcomeFrom(head)};
  const json* effects = optionalMember(head, "effects");
  if (effects == nullptr) return answer;
  if (!effects->is_array()) throw Wrong{"\"effects\" is no array"};
  if (answer.outcome.kind != Outcome::Kind::done && !effects->empty())
    throw Wrong{"only an answer that is done has effects"};
  std::size_t place = 0;
  for (const json& each : *effects)
    answer.effects.push_back(effectFrom(each, frame.body, MessageId{message.value + "/" + std::to_string(++place)}));
  return answer;
} catch (const Wrong& wrong) {
  return Error{Errc::invalidArgument, "the worker's answer: " + wrong.what};
}

}  // namespace tenure::cli::worker
