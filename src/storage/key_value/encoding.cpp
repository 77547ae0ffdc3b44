#include "storage/key_value/encoding.hpp"

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/text.hpp"
#include "storage/records.hpp"

namespace tenure::storage {
namespace {

using nlohmann::json;

constexpr std::size_t beforeKey = 2;  // of nameOf: the table's digit and a NUL

/// Names of tables that share a kind keep what tells these apart.
bool sharesKind(Table table) noexcept { return kindOf(table) == spi::Table::fact; }

std::string inKind(Table table, std::string name) { return sharesKind(table) ? name : name.substr(beforeKey); }

Error damaged(const std::string& name) {
  return {Errc::storeFailed, "the record \"" + escaped(name) + "\" is damaged"};
}

/// Takes the number up to `end` off the front.
std::optional<std::int64_t> takeNumber(std::string_view& text, char end) {
  std::int64_t number = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const auto length = static_cast<std::size_t>(stop - text.data());
  if (error != std::errc{} || length == text.size() || *stop != end) return std::nullopt;
  text.remove_prefix(length + 1);
  return number;
}

std::optional<Value> takeValue(Kind kind, std::string_view& text) {
  const auto number = takeNumber(text, kind == Kind::integer ? ';' : ':');
  if (!number) return std::nullopt;
  if (kind == Kind::integer) return *number;
  if (*number < 0 || std::cmp_greater(*number, text.size())) return std::nullopt;
  const auto length = static_cast<std::size_t>(*number);
  Value value = std::string(text.substr(0, length));
  text.remove_prefix(length);
  return value;
}

/// The values of a key, each but the first behind a NUL. The last one may hold any byte but that.
std::optional<Row> keyFrom(const Schema& schema, std::string_view name) {
  Row key;
  for (std::size_t place = 0; place < schema.keys; ++place) {
    const std::size_t end = place + 1 == schema.keys ? name.size() : name.find('\0');
    if (end == std::string_view::npos) return std::nullopt;
    const std::string_view value = name.substr(0, end);
    name.remove_prefix(std::min(end + 1, name.size()));
    if (schema.columns[place].kind != Kind::integer) {
      key.emplace_back(std::string(value));
      continue;
    }
    const auto number = parseInteger(value);
    if (!number) return std::nullopt;
    key.emplace_back(*number);
  }
  return key;
}

/// A whole number from 0 in a string; nothing else is one.
std::optional<std::int64_t> numberIn(const json& object, const char* name) {
  const auto found = object.find(name);
  if (found == object.end() || !found->is_string()) return std::nullopt;
  const auto number = parseInteger(found->get_ref<const std::string&>());
  return number && *number >= 0 ? number : std::nullopt;
}

std::string textIn(const json& object, const char* name) {
  const auto found = object.find(name);
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string{};
}

std::string damageIn(const json& object) {
  for (const char* name : {"generation", "token"})
    if (!numberIn(object, name)) return std::string("its ") + name + " is not a number from 0";
  for (const char* name : {"election", "ensemble", "path"})
    if (textIn(object, name).empty()) return std::string("its ") + name + " is absent";
  return {};
}

FenceRow claimFrom(const json& object) {
  FenceRow row;
  row.election.value = textIn(object, "election");
  row.ensemble.value = textIn(object, "ensemble");
  row.generation = numberIn(object, "generation").value_or(0);
  row.token.value = numberIn(object, "token").value_or(0);
  row.path = textIn(object, "path");
  row.candidate.value = textIn(object, "candidate");
  row.holder.host = textIn(object, "host");
  row.holder.pid = numberIn(object, "pid").value_or(0);
  row.holder.startTime = numberIn(object, "start").value_or(0);
  row.holder.bootId = textIn(object, "boot");
  row.holder.pidNamespace = static_cast<std::uint64_t>(numberIn(object, "namespace").value_or(0));
  row.claimedAt = wallTimeOf(numberIn(object, "at").value_or(0));
  return row;
}

std::string claimText(const FenceRow& row) {
  return json{{"election", row.election.value},
              {"ensemble", row.ensemble.value},
              {"generation", std::to_string(row.generation)},
              {"token", std::to_string(row.token.value)},
              {"path", row.path},
              {"candidate", row.candidate.value},
              {"host", row.holder.host},
              {"pid", std::to_string(row.holder.pid)},
              {"start", std::to_string(row.holder.startTime)},
              {"boot", row.holder.bootId},
              {"namespace", std::to_string(row.holder.pidNamespace)},
              {"at", std::to_string(millisecondsOf(row.claimedAt))}}
      .dump(-1, ' ', false, json::error_handler_t::replace);
}

/// All but the sequence.
bool isSameClaim(const FenceRow& a, const FenceRow& b) {
  return a.token == b.token && a.claimedAt == b.claimedAt && a.candidate == b.candidate &&
         a.generation == b.generation && a.election == b.election && a.ensemble == b.ensemble && a.path == b.path &&
         a.holder == b.holder;
}

}  // namespace

spi::Table kindOf(Table table) noexcept {
  switch (table) {
    case Table::key: return spi::Table::key;
    case Table::attempt: return spi::Table::attempt;
    case Table::inWork: return spi::Table::inWork;
    case Table::deadLetter: return spi::Table::deadLetter;
    case Table::log: return spi::Table::log;
    case Table::state: return spi::Table::state;
    case Table::window:
    case Table::streak:
    case Table::clock: return spi::Table::fact;
    case Table::waiting: return spi::Table::waiting;
    case Table::fired: return spi::Table::fired;
    case Table::turn: return spi::Table::turn;
    case Table::kept: return spi::Table::kept;
  }
  return spi::Table::state;
}

spi::Name named(Table table, std::span<const Value> key) { return {kindOf(table), inKind(table, nameOf(table, key))}; }

spi::Name nameOf(const Write& write) { return {kindOf(write.table), inKind(write.table, write.name)}; }

std::string prefixOf(Table table, const Row& key) {
  if (key.empty()) return sharesKind(table) ? nameOf(table, {}) + '\0' : std::string{};
  return named(table, key).text + '\0';
}

std::string textOf(Table table, const Row& row) {
  if (table == Table::state) return textIn(row, state::value);
  std::string text;
  for (std::size_t place = schemaOf(table).keys; place < row.size(); ++place) {
    if (const auto* number = std::get_if<std::int64_t>(&row[place]))
      text.append(std::to_string(*number)).push_back(';');
    else
      text.append(std::to_string(textIn(row, place).size())).append(":").append(textIn(row, place));
  }
  return text;
}

Result<Row> takeRow(Table table, const std::string& name, std::string_view& text) {
  const Schema& schema = schemaOf(table);
  const std::string_view key = name;
  std::optional<Row> row = keyFrom(schema, sharesKind(table) ? key.substr(std::min(beforeKey, key.size())) : key);
  if (!row) return damaged(name);
  if (table == Table::state) {
    row->emplace_back(std::string(std::exchange(text, {})));
    return std::move(*row);
  }
  for (const Column& column : schema.valueColumns()) {
    std::optional<Value> value = takeValue(column.kind, text);
    if (!value) return damaged(name);
    row->push_back(std::move(*value));
  }
  return std::move(*row);
}

Result<Row> rowFrom(Table table, const std::string& name, std::string_view text) {
  Result<Row> row = takeRow(table, name, text);
  return row && !text.empty() ? damaged(name) : row;
}

Result<std::vector<Row>> pieceFrom(const std::string& name, std::string_view text) {
  std::vector<Row> rows;
  while (!text.empty()) {
    Result<Row> row = takeRow(Table::log, name, text);
    if (!row) return row.error();
    std::get<std::int64_t>(row->at(log::number)) += static_cast<std::int64_t>(rows.size());
    rows.push_back(std::move(*row));
  }
  return rows;
}

std::string FenceText::of(const Fence& fence) {
  if (claim_.empty() || !isSameClaim(of_, fence.row)) {
    claim_ = claimText(fence.row);
    of_ = fence.row;
  }
  return std::to_string(fence.row.sequence) + " " + fence.change + " " + claim_;
}

FenceFound fenceFrom(const std::optional<std::string>& fence, const std::optional<std::string>& owner) {
  FenceFound found;
  if (owner) {
    const json object = json::parse(*owner, nullptr, false);
    if (object.is_object()) found.owner = {textIn(object, "election"), textIn(object, "path")};
    if (found.owner.election.empty()) found.owner = {"(unreadable)", {}};
  }
  if (!fence) return found;
  std::string_view text = *fence;
  StoredFence& stored = found.stored.emplace_back();
  const auto sequence = takeNumber(text, ' ');
  const std::size_t end = text.find(' ');
  const json claim = json::parse(text.substr(std::min(text.size(), end)), nullptr, false);
  if (!sequence || *sequence < 0 || end == std::string_view::npos || !claim.is_object()) {
    stored.damage = "it is not as Tenure writes it";
    return found;
  }
  stored.damage = damageIn(claim);
  stored.row = claimFrom(claim);
  stored.row.sequence = *sequence;
  found.change = text.substr(0, end);
  return found;
}

std::string textOf(const QueueOwner& owner) {
  return json{{"election", owner.election}, {"path", owner.path}}.dump(-1, ' ', false, json::error_handler_t::replace);
}

}  // namespace tenure::storage
