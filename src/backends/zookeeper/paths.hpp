/// Where a store keeps what, below `<root>/stores/<name>`. Pure.
///
///   <name>                  says how all below it is laid out
///   <name>/fence            and whose the place is:
///   <name>/owner
///   <name>/counters/<text>
///   <name>/keys/<shard>/<text>       in shards, because one reply lists all children
///   <name>/attempts/<shard>/<text>
///   <name>/in-work/<text>
///   <name>/letters/<folder>/<text>   a thousand numbers in a folder, for the same reason
///   <name>/log/<folder>/<text>
///   <name>/state/<text>
///   <name>/facts/<text>
///   <name>/turns/<text>
///   <name>/kept/<shard>/<text>
///
/// Texts hold any bytes: a NUL stands as a comma, and what ZooKeeper or a terminal would stumble over as %xx.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tenure/spi/key_value.hpp"

namespace tenure::zookeeper {

std::string encoded(std::string_view bytes);
std::string decoded(std::string_view name);

struct Paths {
  static constexpr std::string_view layout = "tenure store 2";
  static constexpr std::size_t shards = 64;

  Paths(const std::string& root, const std::string& name)
      : base(root + "/stores/" + name), fence(of({spi::Table::fence, "fence"})) {}

  std::string of(const spi::Name& name) const;
  /// Below which all of its names are, in folders or not.
  std::string top(spi::Table table) const;

  static bool hasShards(spi::Table table) noexcept {
    return table == spi::Table::key || table == spi::Table::attempt || table == spi::Table::kept;
  }
  /// Whether a scan goes through the shards one after the other. Otherwise each page lists the names of all.
  static bool goesByShards(spi::Table table) noexcept { return table == spi::Table::key || table == spi::Table::kept; }
  static std::size_t shardOf(std::string_view text) noexcept;
  std::string shard(spi::Table table, std::size_t number) const;

  /// Folders come with their first name.
  static bool hasFolders(spi::Table table) noexcept {
    return table == spi::Table::deadLetter || table == spi::Table::log;
  }
  /// What the names in a folder have in common: all but the last three digits.
  static std::string_view folderOf(std::string_view text) noexcept;
  std::string folder(spi::Table table, std::string_view commonText) const;

  /// What `base` is below, the root and all above it, parents first. Others make and use it, too.
  std::vector<std::string> above() const;
  /// What is made with the store but for `base`, parents first.
  std::vector<std::string> madeFolders() const { return foldersFrom(spi::Table::counter); }

  std::string base;
  std::string fence;

 private:
  std::vector<std::string> foldersFrom(spi::Table first) const;
};

}  // namespace tenure::zookeeper
