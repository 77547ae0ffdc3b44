#include "backends/redis/write_set.hpp"

#include <algorithm>
#include <numeric>

#include "base/assert.hpp"

namespace tenure::redis {
namespace {

constexpr std::array<std::string_view, 10> words{"put", "erase", "attempt", "forgive", "work",
                                                 "new", "seen",  "done",    "bury",    "log"};
/// Values that a script takes off its arguments at once; Lua's stack has room for some thousands.
constexpr std::size_t sectionLimit = 2000;
constexpr std::size_t nameless = 4;
/// Which names are the same thing: of state, attempts, work and idempotency keys; the others have none.
constexpr std::array<std::size_t, 10> namespaces{0, 0, 1, 1, 2, 3, 3, nameless, nameless, nameless};

}  // namespace

std::optional<std::optional<std::string>> WriteSet::state(std::string_view field) const {
  const Write* last = latest(Kind::put, field);
  if (last == nullptr) return std::nullopt;
  return last->kind == Kind::put ? std::optional(last->value) : std::optional<std::string>();
}

std::optional<std::string> WriteSet::key(std::string_view key) const {
  const Write* last = latest(Kind::newKey, key);
  return last == nullptr ? std::nullopt : std::optional(last->value);
}

void WriteSet::done(std::string entries) { log_.push_back({Kind::done, std::move(entries), {}}); }

void WriteSet::bury(LetterValues letter) {
  log_.push_back({Kind::bury, {}, {}, std::make_unique<LetterValues>(std::move(letter))});
}

void WriteSet::log(std::string_view key, std::string_view id, std::string_view what) {
  TENURE_ASSERT(logKey_.empty() || logKey_ == key);
  logKey_ = key;
  log_.push_back({Kind::log, std::string(id), std::string(what)});
}

void WriteSet::write(Kind kind, std::string_view name, std::string_view value) {
  log_.push_back({kind, std::string(name), std::string(value)});
  note(log_.size() - 1);
}

void WriteSet::note(std::size_t place) {
  Write& write = log_[place];
  write.counts = true;
  const std::size_t space = namespaces[static_cast<std::size_t>(write.kind)];
  if (space == nameless) return;
  const auto [last, isFirst] = latest_[space].try_emplace(write.name, place);
  if (isFirst) return;
  log_[last->second].counts = false;
  last->second = place;
}

void WriteSet::cutTo(std::size_t size) {
  if (size >= log_.size()) return;
  for (Latest& latest : latest_) latest.clear();
  log_.erase(log_.begin() + static_cast<std::ptrdiff_t>(size), log_.end());
  for (std::size_t place = 0; place < size; ++place) note(place);
}

const WriteSet::Write* WriteSet::latest(Kind kind, std::string_view name) const {
  const Latest& latest = latest_[namespaces[static_cast<std::size_t>(kind)]];
  const auto found = latest.find(name);
  return found == latest.end() ? nullptr : &log_[found->second];
}

std::size_t WriteSet::bytes() const noexcept {
  return std::accumulate(log_.begin(), log_.end(), std::size_t{0}, [](std::size_t sum, const Write& write) {
    sum += write.name.size() + write.value.size();
    if (write.letter)
      for (const std::string& part : *write.letter) sum += part.size();
    return sum;
  });
}

void WriteSet::encode(Encoded& to) const {
  const std::size_t fixed = to.keys.size();
  std::string& touched = to.numbers.emplace_back();
  std::string& place = to.numbers.emplace_back("0");
  std::string& fresh = to.numbers.emplace_back();
  const std::size_t heads = to.arguments.size();
  to.arguments.resize(heads + 3);
  encodeKeys(Kind::newKey, to);
  fresh = std::to_string(to.keys.size() - fixed);
  encodeKeys(Kind::seenKey, to);
  if (hasLog()) to.keys.push_back(logKey_);
  if (hasLog()) place = std::to_string(to.keys.size());
  encodeSections(to);
  touched = touchedKeys(place);
  to.arguments[heads] = touched;
  to.arguments[heads + 1] = place;
  to.arguments[heads + 2] = fresh;
}

/// Places among the script's keys, each with its kind: hash, stream, table of members.
std::string WriteSet::touchedKeys(const std::string& placeOfLog) const {
  std::array<bool, words.size()> has{};
  for (const Write& write : log_) has[static_cast<std::size_t>(write.kind)] = true;
  const auto any = [&](Kind one, Kind other) {
    return has[static_cast<std::size_t>(one)] || has[static_cast<std::size_t>(other)];
  };
  std::string touched;
  if (any(Kind::done, Kind::done)) touched += "2s";
  if (any(Kind::bury, Kind::bury)) touched += "3s";
  if (any(Kind::attempt, Kind::forgive)) touched += "4h";
  if (any(Kind::inWork, Kind::inWork)) touched += "5h";
  if (any(Kind::put, Kind::erase)) touched += "6h";
  if (any(Kind::newKey, Kind::newKey)) touched += "7h";
  return hasLog() ? touched + "8t" + placeOfLog + "s" : touched;
}

void WriteSet::encodeKeys(Kind kind, Encoded& to) const {
  for (const Write& write : log_) {
    if (!write.counts || write.kind != kind) continue;
    to.keys.push_back(write.name);
    to.arguments.push_back(write.value);
  }
}

/// Neighbours of one kind share a section where one command takes them all.
void WriteSet::encodeSections(Encoded& to) const {
  const auto isShared = [](Kind kind) { return kind <= Kind::erase || kind == Kind::forgive || kind == Kind::done; };
  std::optional<Kind> open;
  std::size_t head = 0;
  const auto close = [&] {
    if (open) to.arguments[head] = to.numbers.emplace_back(std::to_string(to.arguments.size() - head - 1));
    open.reset();
  };
  const auto enter = [&](Kind kind) {
    if (open == kind && isShared(kind) && to.arguments.size() - head < sectionLimit) return;
    close();
    open = kind;
    to.arguments.push_back(words[static_cast<std::size_t>(kind)]);
    head = to.arguments.size();
    to.arguments.emplace_back();
  };
  for (const Write& write : log_) {
    if (!write.counts || write.kind == Kind::newKey || write.kind == Kind::seenKey) continue;
    if (write.kind != Kind::done) {
      enter(write.kind);
      encodeWrite(write, to.arguments);
      continue;
    }
    for (std::string_view entries = write.name; !entries.empty();) {
      enter(write.kind);
      const std::string_view entry = entries.substr(0, entries.find(' '));
      to.arguments.push_back(entry);
      entries.remove_prefix(std::min(entries.size(), entry.size() + 1));
    }
  }
  close();
}

void WriteSet::encodeWrite(const Write& write, std::vector<std::string_view>& arguments) {
  if (write.letter) {
    arguments.insert(arguments.end(), write.letter->begin(), write.letter->end());
    return;
  }
  arguments.push_back(write.name);
  if (write.kind == Kind::put || write.kind == Kind::attempt || write.kind == Kind::inWork || write.kind == Kind::log)
    arguments.push_back(write.value);
}

}  // namespace tenure::redis
