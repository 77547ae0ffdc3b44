/// What Tenure keeps in a store, as rows of a few tables. Every backend keeps the same rows: an SQL database as they
/// are, so that people can read them, and a key-value store as one value under one name each (key_value/). Pure.
///
/// A row is its key and then its values, in the order of its table's columns. The rules that need a store's help stand
/// with the columns, so that each backend obeys them in the one place where it writes rows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace tenure::storage {

enum class Table : std::uint8_t {
  key,         // a message that was handled
  attempt,     // a message that failed, or is about to be tried once more
  inWork,      // what a consumer's leader may have begun
  deadLetter,  // a message that is not tried any more
  log,         // an attempt, for people
  state,       // a handler's own
  window,      // how far a consumer's term may go
  streak,      // of a consumer's dead letters
  clock,       // a consumer's last look at it
  waiting,     // a message that waits for its time
  fired,       // a message that had one, and has come to its queue
  turn,        // where a group stands that follows numbers
  kept,        // a message of it that came before its turn
};
inline constexpr std::size_t tableCount = 13;

using Value = std::variant<std::int64_t, std::string>;
using Row = std::vector<Value>;

enum class Kind : std::uint8_t {
  integer,
  text,     // UTF-8
  anyText,  // mostly text, and whatever else a stranger has sent
  bytes,
};

enum class Rule : std::uint8_t {
  none,
  storeClock,  // milliseconds since 1970, by the store's own clock where it has one
  keepsMore,   // a row that is there already and has more here keeps it
  assigned,    // the store counts: 1, 2, 3, … among the rows with the same columns before this one
};

struct Column {
  std::string_view name;
  Kind kind = Kind::integer;
  Rule rule = Rule::none;
  bool isLarge = false;  // a scan may leave it out (Scan::isLight)
};

/// The owner of a table's rows, where several share a database.
enum class Scope : std::uint8_t {
  queue,
  election,
  place,  // everybody's: the queue's name is part of the key
};

struct Schema {
  Table table;
  std::string_view name;  // of the SQL table
  Scope scope;
  std::size_t keys;  // so many columns are the key
  std::span<const Column> columns;

  std::span<const Column> keyColumns() const noexcept { return columns.first(keys); }
  std::span<const Column> valueColumns() const noexcept { return columns.subspan(keys); }
  /// Where the column with that rule is; columns.size() for none.
  std::size_t placeOf(Rule rule) const noexcept;
};
const Schema& schemaOf(Table table) noexcept;

// Where a value is in its row.
namespace key {
enum : std::size_t { consumer, id, state, digest, token, at };
}
namespace attempt {
enum : std::size_t {
  consumer,
  id,
  attempts,
  lastError,
  firstAt,
  lastAt,
  state,
  begunBy,
  processDied,
  postponed,
  postponedSince,
  nextAt
};
}
namespace inWork {
enum : std::size_t { consumer, lane, token, more, ids, suspectsOf, narrowed };
}
namespace deadLetter {
enum : std::size_t {
  number,
  consumer,
  id,
  group,
  body,
  headers,
  enqueuedAt,
  position,
  reason,
  attempts,
  firstAt,
  diedAt,
  missingFrom,
  missingTo,
  lacks
};
}
namespace log {
enum : std::size_t { consumer, number, id, attempt, end, error, token, beganAt, endedAt };
}
namespace state {
enum : std::size_t { key, value };
}
namespace window {
enum : std::size_t { consumer, front, lanes, ahead };
}
namespace streak {
enum : std::size_t { consumer, deaths, lastReason, firstAt, lastAt, state };
}
namespace clock {
enum : std::size_t { consumer, isStores, wall, bootId, sinceBoot, trustedFrom };
}
namespace waiting {
enum : std::size_t { queue, id, due, group, body, headers, numbered };
}
namespace fired {
enum : std::size_t { queue, id, due, at };
}
namespace turn {
enum : std::size_t { consumer, group, position, since };
}
namespace kept {
enum : std::size_t { consumer, group, number, id, digest, body, headers, enqueuedAt, position, isPast };
}

/// One is made for each message: nothing of it is copied twice.
template <class... Of>
Row rowWith(Of&&... values) {
  Row row;
  row.reserve(sizeof...(values));
  (row.emplace_back(std::forward<Of>(values)), ...);
  return row;
}

inline std::int64_t integerIn(const Row& row, std::size_t place) {
  const auto* number = std::get_if<std::int64_t>(&row.at(place));
  return number == nullptr ? 0 : *number;
}
inline const std::string& textIn(const Row& row, std::size_t place) { return std::get<std::string>(row.at(place)); }

}  // namespace tenure::storage
