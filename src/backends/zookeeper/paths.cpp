#include "backends/zookeeper/paths.hpp"

#include <algorithm>
#include <array>
#include <cstdint>

namespace tenure::zookeeper {
namespace {

constexpr std::string_view digits = "0123456789abcdef";

bool isPlain(unsigned char c) noexcept {
  return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '-' || c == '_';
}

constexpr std::array tops{"fence",   "owner", "counters", "keys",  "attempts", "in-work",
                          "letters", "log",   "state",    "facts", "turns",    "kept"};
static_assert(tops.size() == spi::tableCount);

}  // namespace

std::string encoded(std::string_view bytes) {
  std::string name;
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    if (isPlain(byte))
      name.push_back(c);
    else if (c == '\0')
      name.push_back(',');
    else
      name.append({'%', digits[byte >> 4U], digits[byte & 15U]});
  }
  return name;
}

std::string decoded(std::string_view name) {
  std::string bytes;
  for (std::size_t i = 0; i < name.size(); ++i) {
    if (name[i] != '%' || i + 2 >= name.size()) {
      bytes.push_back(name[i] == ',' ? '\0' : name[i]);
      continue;
    }
    const auto byte = digits.find(name[i + 1]) * 16 + digits.find(name[i + 2]);
    bytes.push_back(static_cast<char>(byte));
    i += 2;
  }
  return bytes;
}

std::string Paths::top(spi::Table table) const { return base + "/" + tops.at(static_cast<std::size_t>(table)); }

std::string Paths::of(const spi::Name& name) const {
  switch (name.table) {
    case spi::Table::fence:
    case spi::Table::owner: return top(name.table);
    case spi::Table::key:
    case spi::Table::attempt:
    case spi::Table::kept: return shard(name.table, shardOf(name.text)) + "/" + encoded(name.text);
    case spi::Table::deadLetter:
    case spi::Table::log: return folder(name.table, folderOf(name.text)) + "/" + encoded(name.text);
    default: return top(name.table) + "/" + encoded(name.text);
  }
}

/// FNV-1a: the same for every build and machine, because a name must be found again.
std::size_t Paths::shardOf(std::string_view text) noexcept {
  std::uint64_t hash = 0xCBF29CE484222325U;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001B3U;
  return static_cast<std::size_t>(hash % shards);
}

std::string Paths::shard(spi::Table table, std::size_t number) const {
  return top(table) + "/" + digits[number / 16] + digits[number % 16];
}

std::string_view Paths::folderOf(std::string_view text) noexcept {
  return text.substr(0, text.size() - std::min<std::size_t>(text.size(), 3));
}

std::string Paths::folder(spi::Table table, std::string_view commonText) const {
  return top(table) + "/" + encoded(commonText);
}

std::vector<std::string> Paths::above() const {
  std::vector<std::string> paths;
  for (std::size_t end = base.find('/', 1); end != std::string::npos; end = base.find('/', end + 1))
    paths.push_back(base.substr(0, end));
  return paths;
}

std::vector<std::string> Paths::foldersFrom(spi::Table first) const {
  std::vector<std::string> all;
  for (auto i = static_cast<std::size_t>(first); i < spi::tableCount; ++i) {
    const auto table = static_cast<spi::Table>(i);
    all.push_back(top(table));
    for (std::size_t number = 0; hasShards(table) && number < shards; ++number) all.push_back(shard(table, number));
  }
  return all;
}

}  // namespace tenure::zookeeper
