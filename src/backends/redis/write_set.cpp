#include "backends/redis/write_set.hpp"

#include <numeric>

#include "base/assert.hpp"

namespace tenure::redis {
namespace {

constexpr std::array<std::string_view, 10> words{"put", "erase", "attempt", "forgive", "work",
                                                 "new", "seen",  "done",    "bury",    "log"};
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

void WriteSet::encode(std::vector<std::string_view>& keys, std::vector<std::string_view>& arguments) const {
  const auto isKey = [](const Write& write) { return write.kind == Kind::newKey || write.kind == Kind::seenKey; };
  for (const Write& write : log_) {
    if (!write.counts || !isKey(write)) continue;
    keys.push_back(write.name);
    arguments.push_back(words[static_cast<std::size_t>(write.kind)]);
    arguments.push_back(write.value);
  }
  if (hasLog()) keys.push_back(logKey_);
  for (const Write& write : log_)
    if (write.counts && !isKey(write)) encodeWrite(write, arguments);
}

void WriteSet::encodeWrite(const Write& write, std::vector<std::string_view>& arguments) const {
  arguments.push_back(words[static_cast<std::size_t>(write.kind)]);
  if (write.letter) {
    arguments.insert(arguments.end(), write.letter->begin(), write.letter->end());
    return;
  }
  arguments.push_back(write.name);
  if (write.kind == Kind::put || write.kind == Kind::attempt || write.kind == Kind::inWork || write.kind == Kind::log)
    arguments.push_back(write.value);
}

}  // namespace tenure::redis
