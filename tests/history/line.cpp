#include "history/line.hpp"

#include <array>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/text.hpp"

namespace tenure::history {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::array<std::string_view, 4> stages{"invoke", "ok", "fail", "info"};
constexpr std::array<std::string_view, 10> ops{"publish", "barrier", "lead", "claim", "evict",
                                               "execute", "commit",  "ack",  "dead",  "fault"};

Error refusal(const std::string& what) { return {Errc::invalidArgument, what}; }

template <class Enum, std::size_t count>
std::optional<Enum> named(const std::array<std::string_view, count>& names, const std::string& name) {
  for (std::size_t i = 0; i < count; ++i)
    if (names[i] == name) return static_cast<Enum>(i);
  return std::nullopt;
}

/// Reads members one by one and remembers the first that is not as it should be.
class Members {
 public:
  explicit Members(const Json& object) : object_(object) {}

  std::string text(const char* key, bool needed = false) {
    const auto found = object_.find(key);
    if (found == object_.end()) return missing(key, needed, std::string{});
    if (!found->is_string()) return wrong(key, "a string", std::string{});
    return found->get<std::string>();
  }
  /// A number, or one in a string.
  std::int64_t number(const char* key, bool needed = false) {
    const auto found = object_.find(key);
    if (found == object_.end()) return missing(key, needed, std::int64_t{0});
    if (found->is_number_integer()) return found->get<std::int64_t>();
    const auto parsed = found->is_string() ? parseInteger(found->get<std::string>()) : std::nullopt;
    return parsed ? *parsed : wrong(key, "a whole number, or one in a string", std::int64_t{0});
  }
  template <class Enum, std::size_t count>
  Enum choice(const char* key, const std::array<std::string_view, count>& names) {
    const std::string name = text(key, true);
    const auto value = named<Enum>(names, name);
    if (value || !complaint_.empty()) return value.value_or(Enum{});
    std::string expected;
    for (const std::string_view each : names) expected += (expected.empty() ? "" : ", ") + std::string(each);
    complaint_ = '"' + std::string(key) + "\" is \"" + escaped(name, 40) + "\", expected one of " + expected;
    return Enum{};
  }
  const std::string& complaint() const noexcept { return complaint_; }

 private:
  template <class T>
  T missing(const char* key, bool needed, T otherwise) {
    if (needed && complaint_.empty()) complaint_ = '"' + std::string(key) + "\" is missing";
    return otherwise;
  }
  template <class T>
  T wrong(const char* key, const char* expected, T otherwise) {
    if (complaint_.empty()) complaint_ = '"' + std::string(key) + "\" is not " + expected;
    return otherwise;
  }

  const Json& object_;
  std::string complaint_;
};

Error notAnObject(std::string_view text) {
  return refusal("expected a JSON object, found \"" + escaped(text, 60) + '"');
}

void add(Json& object, const char* key, const std::string& value) {
  if (!value.empty()) object[key] = value;
}

std::string dump(const Json& object) { return object.dump(-1, ' ', false, Json::error_handler_t::replace); }

}  // namespace

std::string_view toString(Stage stage) noexcept { return stages[static_cast<std::size_t>(stage)]; }
std::string_view toString(Op op) noexcept { return ops[static_cast<std::size_t>(op)]; }

std::string format(const Line& line) {
  Json object{{"at", line.at}};
  add(object, "wall", line.wall);
  add(object, "process", line.process);
  if (line.pid != 0) object["pid"] = line.pid;
  add(object, "incarnation", line.incarnation);
  add(object, "election", line.election);
  if (line.token != 0) object["token"] = std::to_string(line.token);
  object["event"] = toString(line.stage);
  object["op"] = toString(line.op);
  add(object, "id", line.id);
  add(object, "group", line.group);
  if (line.seq != 0) object["seq"] = line.seq;
  add(object, "outcome", line.outcome);
  return dump(object);
}

std::string format(const Row& row) {
  return dump(Json{{"n", row.n},
                   {"id", row.id},
                   {"group", row.group},
                   {"token", std::to_string(row.token)},
                   {"prev", row.prev},
                   {"hash", row.hash}});
}

Result<Line> parseLine(std::string_view text) {
  const Json object = Json::parse(text, nullptr, false);
  if (!object.is_object()) return notAnObject(text);
  Members members(object);
  Line line;
  line.at = members.number("at", true);
  line.wall = members.text("wall");
  line.process = members.text("process", true);
  line.pid = members.number("pid");
  line.incarnation = members.text("incarnation");
  line.election = members.text("election");
  line.token = members.number("token");
  line.stage = members.choice<Stage>("event", stages);
  line.op = members.choice<Op>("op", ops);
  line.id = members.text("id");
  line.group = members.text("group");
  line.seq = members.number("seq");
  line.outcome = members.text("outcome");
  if (!members.complaint().empty()) return refusal(members.complaint());
  const bool aboutMessage = line.op == Op::publish || line.op == Op::execute || line.op == Op::ack;
  if (aboutMessage && line.id.empty()) return refusal("\"id\" is missing");
  const bool inTerm = line.op != Op::publish && line.op != Op::barrier && line.op != Op::fault;
  if (inTerm && line.token == 0) return refusal("\"token\" is missing");
  return line;
}

Result<Row> parseRow(std::string_view text) {
  const Json object = Json::parse(text, nullptr, false);
  if (!object.is_object()) return notAnObject(text);
  Members members(object);
  Row row{members.number("n", true),     members.text("id", true),   members.text("group"),
          members.number("token", true), members.text("prev", true), members.text("hash", true)};
  if (!members.complaint().empty()) return refusal(members.complaint());
  return row;
}

std::string chainHash(std::string_view prev, std::string_view id, std::int64_t token) {
  std::uint64_t hash = 14695981039346656037ULL;
  const auto add = [&hash](std::string_view bytes) {
    for (const char byte : bytes) hash = (hash ^ static_cast<unsigned char>(byte)) * 1099511628211ULL;
  };
  add(prev);
  add("|");
  add(id);
  add("|");
  add(std::to_string(token));
  constexpr std::string_view digits = "0123456789abcdef";
  std::string text(16, '0');
  for (std::size_t i = text.size(); i-- > 0; hash >>= 4U) text[i] = digits[hash & 15U];
  return text;
}

}  // namespace tenure::history
