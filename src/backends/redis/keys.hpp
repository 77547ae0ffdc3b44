/// The keys of one queue. All carry the queue's name as hash tag, so that a script may touch any of them together. What
/// a store keeps of a queue elsewhere has a tag of its own: the name, an @ and a digest of the queue's identity. Values
/// are as the storage core writes them (storage/key_value/encoding.hpp).
///
///   tenure:{orders}:queue      hash    owner: which election consumes it · last: the newest position ever ·
///                                      identity: a random uuid, made when it is first asked for · added: of what waits
///                                      · reader, reader-generation, reader-token: the term that reads it
///   tenure:{orders}:messages   stream  <position>-0 → id, group, body, headers, at
///   tenure:{orders}:waiting    hash    <id> → a message that waits for its time
///   tenure:{orders}:waiting:added  hash    <id> → 16 digits, in the order in which messages were added
///   tenure:{orders}:waiting:due    zset    these digits and the id, by time
///   tenure:{orders}:waiting:wake   stream  one entry: a message came that is due before all others
///   tenure:{orders}:fired      hash    <id> → of a message that had a time: when it was due, when it came to its queue
///   tenure:{orders}:fired:at   zset    <id>, by when it came
///   tenure:{orders}:fence      string
///   tenure:{orders}:counters   hash    the last numbers given
///   tenure:{orders}:in-work    hash    <consumer> NUL <lane> → what may have begun
///   tenure:{orders}:state      hash    the handlers' own
///   tenure:{orders}:attempts   hash    <consumer> NUL <id> → what failed
///   tenure:{orders}:dead       hash    <number> → a dead letter
///   tenure:{orders}:log        hash    <consumer> NUL <number> → some lines
///   tenure:{orders}:kept       hash    <consumer> NUL <group> NUL <number> → a message that came before its turn
///   …:names of these four      zset    the same fields, in order
///   tenure:{orders}:facts      hash    <a digit for its kind> NUL <consumer> → what is kept of a consumer itself
///   tenure:{orders}:turns      hash    <consumer> NUL <group> → where a group stands that follows numbers
///   tenure:{orders}:id:<consumer> NUL <id>   string: what became of a message; expires (Options::keepIdsFor)
///   tenure:{orders}:key-count  hash    <hour since 1970, or never> → how many of these expire in it
///
/// An older layout had the fence in a hash and the owner in two fields of the queue.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "tenure/spi/key_value.hpp"

namespace tenure::redis {

/// The tag of a queue's keys. Of one that is kept elsewhere and did not tell which one it is: empty.
std::string tagOf(const std::string& queue, const std::optional<QueueIdentity>& elsewhere);

struct Keys {
  /// Where the scripts find them, from 1 on; idempotency keys come behind.
  enum Place : std::size_t {
    queue = 1,  // the first seven together, also of other queues that a handler sends to
    messages,
    waiting,
    waitingAdded,
    waitingDue,
    wake,
    fired,
    firedAt,
    fence,
    counters,
    inWork,
    state,
    keyCount,
    attempts,
    attemptNames,
    dead,
    deadNames,
    log,
    logNames,
    facts,
    turns,
    kept,
    keptNames,
  };
  static constexpr std::size_t places = keptNames;
  static constexpr std::size_t toSend = fired;  // the first ones

  explicit Keys(std::string_view of) : tag(of), prefix("tenure:{" + tag + "}:") {
    constexpr std::array<std::string_view, places> names{
        "queue",     "messages", "waiting",        "waiting:added", "waiting:due", "waiting:wake",
        "fired",     "fired:at", "fence",          "counters",      "in-work",     "state",
        "key-count", "attempts", "attempts:names", "dead",          "dead:names",  "log",
        "log:names", "facts",    "turns",          "kept",          "kept:names"};
    for (std::size_t i = 0; i < places; ++i) fixed[i] = prefix + std::string(names[i]);
  }

  const std::string& operator[](Place place) const { return fixed[place - 1]; }
  std::string id(std::string_view name) const {
    std::string key;
    key.reserve(prefix.size() + name.size() + 3);
    return std::move(key.append(prefix).append("id:").append(name));
  }

  std::string tag;
  std::string prefix;
  std::array<std::string, places> fixed;
};

/// Names of messages that wait, and of those that came to their queue: the queue's tag, a NUL, the message's id.
constexpr bool isNamedByQueue(spi::Table table) noexcept {
  return table == spi::Table::waiting || table == spi::Table::fired;
}
constexpr std::string_view queueOf(const spi::Name& name) noexcept {
  return isNamedByQueue(name.table) ? std::string_view(name.text).substr(0, name.text.find('\0')) : std::string_view();
}
/// Under which field of its hash a value is.
constexpr std::string_view fieldOf(const spi::Name& name) noexcept {
  return isNamedByQueue(name.table) ? std::string_view(name.text).substr(name.text.find('\0') + 1) : name.text;
}

/// The hash with a table's values. Not for Table::key and Table::fence, which are strings.
constexpr Keys::Place hashOf(spi::Table table) noexcept {
  switch (table) {
    case spi::Table::owner: return Keys::queue;
    case spi::Table::counter: return Keys::counters;
    case spi::Table::attempt: return Keys::attempts;
    case spi::Table::inWork: return Keys::inWork;
    case spi::Table::deadLetter: return Keys::dead;
    case spi::Table::log: return Keys::log;
    case spi::Table::fact: return Keys::facts;
    case spi::Table::turn: return Keys::turns;
    case spi::Table::kept: return Keys::kept;
    case spi::Table::waiting: return Keys::waiting;
    case spi::Table::fired: return Keys::fired;
    default: return Keys::state;
  }
}
/// Whether its names are kept in order, right behind the hash.
constexpr bool isOrdered(spi::Table table) noexcept {
  return table == spi::Table::attempt || table == spi::Table::deadLetter || table == spi::Table::log ||
         table == spi::Table::kept;
}
constexpr Keys::Place namesOf(spi::Table table) noexcept { return static_cast<Keys::Place>(hashOf(table) + 1); }

}  // namespace tenure::redis
