#include "backends/zookeeper/paths.hpp"

#include <algorithm>

#include "base/text.hpp"

namespace tenure::zookeeper {
namespace {

constexpr std::size_t numberDigits = 20;  // so that the names sort as the numbers do
constexpr std::string_view digits = "0123456789abcdef";

bool isPlain(unsigned char c) noexcept {
  return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '-' || c == '_';
}

/// FNV-1a: the same for every build and machine, because a name must be found again.
std::size_t shardOf(std::string_view name) noexcept {
  std::uint64_t hash = 0xCBF29CE484222325U;
  for (const char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001B3U;
  return static_cast<std::size_t>(hash % Paths::shards);
}

std::string padded(std::int64_t number) {
  const std::string text = std::to_string(number);
  return std::string(numberDigits - std::min(numberDigits, text.size()), '0') + text;
}

}  // namespace

std::string encoded(std::string_view bytes) {
  std::string name;
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    if (isPlain(byte))
      name.push_back(c);
    else
      name.append({'%', digits[byte >> 4U], digits[byte & 15U]});
  }
  return name;
}

std::string decoded(std::string_view name) {
  std::string bytes;
  for (std::size_t i = 0; i < name.size(); ++i) {
    if (name[i] != '%' || i + 2 >= name.size()) {
      bytes.push_back(name[i]);
      continue;
    }
    const auto byte = digits.find(name[i + 1]) * 16 + digits.find(name[i + 2]);
    bytes.push_back(static_cast<char>(byte));
    i += 2;
  }
  return bytes;
}

std::string Paths::shardName(std::size_t shard) { return {digits[shard / 16], digits[shard % 16]}; }

std::string Paths::id(const ConsumerName& consumer, const MessageId& message) const {
  const std::string name = prefix(consumer) + encoded(message.value);
  return ids() + "/" + shardName(shardOf(name)) + "/" + name;
}

std::vector<std::string> Paths::attemptShards() const {
  std::vector<std::string> all;
  for (std::size_t shard = 0; shard < shards; ++shard) all.push_back(attempts() + "/" + shardName(shard));
  return all;
}

std::string Paths::attempt(std::string_view name) const {
  return attempts() + "/" + shardName(shardOf(name)) + "/" + std::string(name);
}

std::optional<std::pair<ConsumerName, MessageId>> Paths::whose(std::string_view attemptName) {
  const std::size_t comma = attemptName.find(',');
  if (comma == std::string_view::npos) return std::nullopt;
  return std::pair{ConsumerName{decoded(attemptName.substr(0, comma))},
                   MessageId{decoded(attemptName.substr(comma + 1))}};
}

std::string Paths::letterFolder(std::int64_t folder) const { return dead + "/" + padded(folder); }

std::string Paths::letter(std::int64_t number) const {
  return letterFolder(letterFolderOf(number)) + "/" + padded(number);
}

std::string Paths::logFolder(std::int64_t folder) const { return log + "/" + padded(folder); }

std::string Paths::logPiece(const LogPiece& piece) const {
  return logFolder(piece.folder()) + "/" + padded(piece.number) + "," + std::to_string(piece.lines) + "," +
         encoded(piece.consumer.value);
}

std::optional<LogPiece> Paths::pieceFrom(std::string_view name) {
  const std::size_t first = name.find(',');
  const std::size_t second = first == std::string_view::npos ? first : name.find(',', first + 1);
  if (second == std::string_view::npos) return std::nullopt;
  const auto number = numberFrom(name.substr(0, first));
  const auto lines = parseInteger(name.substr(first + 1, second - first - 1));
  if (!number || !lines || *lines < 1) return std::nullopt;
  return LogPiece{*number, static_cast<std::size_t>(*lines), ConsumerName{decoded(name.substr(second + 1))}};
}

std::optional<std::int64_t> Paths::numberFrom(std::string_view name) {
  if (name.size() != numberDigits) return std::nullopt;
  name.remove_prefix(std::min(name.find_first_not_of('0'), numberDigits - 1));
  return parseInteger(name);
}

std::vector<std::string> Paths::above() const {
  std::vector<std::string> paths;
  for (std::size_t end = base.find('/', 1); end != std::string::npos; end = base.find('/', end + 1))
    paths.push_back(base.substr(0, end));
  return paths;
}

std::vector<std::string> Paths::folders() const {
  std::vector<std::string> all{base};
  for (const char* part : {"/state", "/in-work", "/ids"}) all.push_back(base + part);
  for (std::size_t shard = 0; shard < shards; ++shard) all.push_back(ids() + "/" + shardName(shard));
  for (std::string& folder : failureFolders()) all.push_back(std::move(folder));
  return all;
}

std::vector<std::string> Paths::failureFolders() const {
  std::vector<std::string> all = attemptShards();
  all.insert(all.begin(), {dead, letterFolder(0), attempts()});
  return all;
}

}  // namespace tenure::zookeeper
