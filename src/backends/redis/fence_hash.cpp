#include "backends/redis/fence_hash.hpp"

#include <algorithm>

#include "base/text.hpp"

namespace tenure::redis {
namespace {

constexpr std::size_t digits = 20;

bool isPadded(std::string_view text) noexcept {
  return text.size() == digits && std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

std::optional<std::int64_t> unpadded(std::string_view text) noexcept {
  if (!isPadded(text)) return std::nullopt;
  return parseInteger(text.substr(std::min(text.find_first_not_of('0'), digits - 1)));
}

std::int64_t numberIn(ReplyView hash, std::string_view name) {
  return parseInteger(hash.after(name).bytes()).value_or(0);
}

std::string damageIn(ReplyView hash) {
  if (!unpadded(hash.after("generation").bytes())) return "its generation is not 20 digits";
  if (!unpadded(hash.after("token").bytes())) return "its token is not 20 digits";
  if (parseInteger(hash.after("seq").bytes()).value_or(-1) < 0) return "its seq is not a number from 0";
  for (const std::string_view name : {"election", "ensemble", "path", "candidate", "by"})
    if (hash.after(name).isNil()) return "its " + std::string(name) + " is absent";
  return {};
}

}  // namespace

std::string padded(std::int64_t number) {
  const std::string text = std::to_string(number);
  return std::string(digits - std::min(digits, text.size()), '0') + text;
}

ExpectedFence::ExpectedFence(const TermIdentity& term, std::int64_t sequence, std::string by)
    : values_{term.ensemble.value,  padded(term.generation),  padded(term.token.value),
              term.candidate.value, std::to_string(sequence), std::move(by)} {}

bool ExpectedFence::isIn(const std::array<std::string_view, 7>& fields) const noexcept {
  constexpr std::size_t path = 4;
  for (std::size_t i = 0; i < values_.size(); ++i)
    if (fields[i < path ? i : i + 1] != values_[i]) return false;
  return true;
}

void ExpectedFence::advance(std::int64_t sequence, std::string by) {
  values_[4] = std::to_string(sequence);
  values_[5] = std::move(by);
}

std::vector<backends::StoredFence> storedFence(ReplyView hash) {
  if (hash.size() == 0) return {};
  FenceRow row{.election = ElectionName{hash.after("election").text()},
               .ensemble = EnsembleUuid{hash.after("ensemble").text()},
               .generation = unpadded(hash.after("generation").bytes()).value_or(0),
               .token = FencingToken{unpadded(hash.after("token").bytes()).value_or(0)},
               .sequence = numberIn(hash, "seq"),
               .path = hash.after("path").text(),
               .candidate = CandidateUuid{hash.after("candidate").text()},
               .holder = {.host = hash.after("host").text(),
                          .pid = numberIn(hash, "pid"),
                          .startTime = numberIn(hash, "start"),
                          .bootId = hash.after("boot").text(),
                          .pidNamespace = static_cast<std::uint64_t>(numberIn(hash, "namespace"))},
               .claimedAt = WallTime{std::chrono::milliseconds{numberIn(hash, "at")}}};
  return {{std::move(row), damageIn(hash)}};
}

std::array<std::string_view, 7> comparedFields(ReplyView hash) {
  std::array<std::string_view, 7> values{"ensemble", "generation", "token", "candidate", "path", "seq", "by"};
  for (std::string_view& value : values) value = hash.after(value).bytes();
  return values;
}

std::vector<std::string> fieldsOf(const FenceRow& row, std::string by) {
  const ProcessIdentity& holder = row.holder;
  return {"election",   row.election.value,
          "ensemble",   row.ensemble.value,
          "generation", padded(row.generation),
          "token",      padded(row.token.value),
          "seq",        std::to_string(row.sequence),
          "path",       row.path,
          "candidate",  row.candidate.value,
          "by",         std::move(by),
          "host",       holder.host,
          "pid",        std::to_string(holder.pid),
          "start",      std::to_string(holder.startTime),
          "boot",       holder.bootId,
          "namespace",  std::to_string(holder.pidNamespace),
          "at",         std::to_string(row.claimedAt.time_since_epoch().count())};
}

}  // namespace tenure::redis
