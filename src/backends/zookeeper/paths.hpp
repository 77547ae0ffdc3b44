/// Where a store keeps what, below `<root>/stores/<name>`. Pure.
///
///   <name>                 election and path: who owns the store; empty before the first claim
///   <name>/fence           the fence (fence_node.hpp)
///   <name>/state/<key>     the handlers' own state
///   <name>/ids/<shard>/<consumer>,<id>   what became of a message; in shards, because one reply lists all children
///   <name>/failing/<shard>/<consumer>,<id>   how a message has failed so far
///   <name>/in-work/<consumer>
///   <name>/letters/<folder>/<number>     dead letters, a thousand in a folder, for the same reason
///   <name>/log/<folder>/<number>,<lines>,<consumer>   what a commit added to the consume log (log_pieces.hpp)
///
/// Names hold any bytes; what ZooKeeper or a terminal would stumble over is escaped as %xx.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "backends/zookeeper/log_pieces.hpp"
#include "tenure/ids.hpp"

namespace tenure::zookeeper {

std::string encoded(std::string_view bytes);
std::string decoded(std::string_view name);

struct Paths {
  Paths(const std::string& root, const std::string& name)
      : stores(root + "/stores"),
        base(stores + "/" + name),
        fence(base + "/fence"),
        dead(base + "/letters"),
        log(base + "/log") {}

  std::string state(std::string_view key) const { return base + "/state/" + encoded(key); }
  static constexpr std::size_t shards = 64;
  std::string id(const ConsumerName& consumer, const MessageId& message) const;
  std::string ids() const { return base + "/ids"; }
  static std::string shardName(std::size_t shard);
  /// What the names of a consumer's ids and attempts begin with.
  static std::string prefix(const ConsumerName& consumer) { return encoded(consumer.value) + ","; }
  std::string attempts() const { return base + "/failing"; }
  /// All of them.
  std::vector<std::string> attemptShards() const;
  /// By its name below its shard.
  std::string attempt(std::string_view name) const;
  std::string attempt(const ConsumerName& consumer, const MessageId& message) const {
    return attempt(prefix(consumer) + encoded(message.value));
  }
  /// Whose attempts a name below its shard stands for.
  static std::optional<std::pair<ConsumerName, MessageId>> whose(std::string_view attemptName);
  std::string inWork(const ConsumerName& consumer) const { return base + "/in-work/" + encoded(consumer.value); }

  static constexpr std::int64_t lettersAFolder = 1000;
  static constexpr std::int64_t letterFolderOf(std::int64_t number) noexcept { return number / lettersAFolder; }
  /// That of the numbers up to 999 is made with the store, each other one with its first letter.
  static constexpr bool opensLetterFolder(std::int64_t number) noexcept { return number % lettersAFolder == 0; }
  std::string letterFolder(std::int64_t folder) const;
  std::string letter(std::int64_t number) const;
  /// The number that a letter's name, or a folder's, stands for.
  static std::optional<std::int64_t> numberFrom(std::string_view name);

  std::string logFolder(std::int64_t folder) const;
  std::string logPiece(const LogPiece& piece) const;
  /// What a name below a folder of the log stands for.
  static std::optional<LogPiece> pieceFrom(std::string_view name);

  /// What `base` is below, the root and all above it, parents first. Others make and use it, too.
  std::vector<std::string> above() const;
  /// `base` and all that is made with it, parents first. The log is made when there is something to log.
  std::vector<std::string> folders() const;
  /// Of those, what attempts and dead letters are filed under.
  std::vector<std::string> failureFolders() const;

  /// Where stores of earlier versions have attempts and dead letters, all of them in one folder.
  std::string formerAttempts() const { return base + "/attempts"; }
  std::string formerDead() const { return base + "/dead"; }

  std::string stores;
  std::string base;
  std::string fence;
  std::string dead;
  std::string log;
};

}  // namespace tenure::zookeeper
