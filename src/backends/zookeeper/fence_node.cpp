#include "backends/zookeeper/fence_node.hpp"

#include <nlohmann/json.hpp>
#include <optional>

#include "backends/shared/record_text.hpp"
#include "base/text.hpp"

namespace tenure::zookeeper {
namespace {

using nlohmann::json;

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
  for (const char* name : {"generation", "token", "seq", "dead"})
    if (!numberIn(object, name)) return std::string("its ") + name + " is not a number from 0";
  for (const char* name : {"election", "ensemble", "path", "by"})
    if (textIn(object, name).empty()) return std::string("its ") + name + " is absent";
  return {};
}

}  // namespace

std::string fenceText(const FenceNode& fence) {
  const FenceRow& row = fence.row;
  return json{{"election", row.election.value},
              {"ensemble", row.ensemble.value},
              {"generation", std::to_string(row.generation)},
              {"token", std::to_string(row.token.value)},
              {"seq", std::to_string(row.sequence)},
              {"path", row.path},
              {"candidate", row.candidate.value},
              {"by", fence.by},
              {"dead", std::to_string(fence.deadLetters)},
              {"log", std::to_string(fence.logPieces)},
              {"host", row.holder.host},
              {"pid", std::to_string(row.holder.pid)},
              {"start", std::to_string(row.holder.startTime)},
              {"boot", row.holder.bootId},
              {"namespace", std::to_string(row.holder.pidNamespace)},
              {"at", backends::timeText(row.claimedAt)}}
      .dump(-1, ' ', false, json::error_handler_t::replace);
}

FenceNode fenceFrom(std::string_view text) {
  FenceNode fence;
  const json object = json::parse(text, nullptr, false);
  if (!object.is_object()) {
    fence.damage = "it is not JSON";
    return fence;
  }
  fence.damage = damageIn(object);
  fence.by = textIn(object, "by");
  fence.deadLetters = numberIn(object, "dead").value_or(0);
  fence.logPieces = numberIn(object, "log").value_or(0);
  FenceRow& row = fence.row;
  row.election.value = textIn(object, "election");
  row.ensemble.value = textIn(object, "ensemble");
  row.generation = numberIn(object, "generation").value_or(0);
  row.token.value = numberIn(object, "token").value_or(0);
  row.sequence = numberIn(object, "seq").value_or(0);
  row.path = textIn(object, "path");
  row.candidate.value = textIn(object, "candidate");
  row.holder.host = textIn(object, "host");
  row.holder.pid = numberIn(object, "pid").value_or(0);
  row.holder.startTime = numberIn(object, "start").value_or(0);
  row.holder.bootId = textIn(object, "boot");
  row.holder.pidNamespace = static_cast<std::uint64_t>(numberIn(object, "namespace").value_or(0));
  row.claimedAt = backends::timeFrom(textIn(object, "at"));
  return fence;
}

std::string ownerText(const backends::QueueOwner& owner) {
  return json{{"election", owner.election}, {"path", owner.path}}.dump(-1, ' ', false, json::error_handler_t::replace);
}

backends::QueueOwner ownerFrom(std::string_view text) {
  const json object = json::parse(text, nullptr, false);
  if (!object.is_object()) return {};
  return {textIn(object, "election"), textIn(object, "path")};
}

}  // namespace tenure::zookeeper
