/// One line of a history: what one process did, or learned, at one moment. As in Jepsen, an operation is invoked and
/// then is ok (it happened), failed (it did not), or is info (nobody knows; both must be allowed).
///
///     {"at":81230991,"wall":"2026-05-04T09:12:33.481Z","process":"replica-1","pid":71,"incarnation":"9f…",
///      "election":"orders","token":"4294967338","event":"ok","op":"commit","id":"m-17","group":"g3","seq":5}
///
/// What does not apply is left out. Tokens are decimal strings, because not every reader keeps 64 bits of a number.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "tenure/result.hpp"

namespace tenure::history {

enum class Stage { invoke, ok, fail, info };

/// What is done; `help` of tenure_history_check says what each must record.
enum class Op { publish, barrier, lead, claim, evict, execute, commit, ack, dead, fault };

std::string_view toString(Stage stage) noexcept;
std::string_view toString(Op op) noexcept;

struct Line {
  std::int64_t at = 0;  // nanoseconds, CLOCK_BOOTTIME
  std::string wall{};
  std::string process{};
  std::int64_t pid = 0;
  std::string incarnation{};  // one run of the process
  std::string election{};
  std::int64_t token = 0;  // 0 outside a term
  Stage stage = Stage::ok;
  Op op = Op::publish;
  std::string id{};
  std::string group{};
  std::int64_t seq = 0;  // of a message within its group, from 1; 0 where there is none
  std::string outcome{};
};

/// One row of the ledger, in the order in which the store has them.
struct Row {
  std::int64_t n = 0;
  std::string id;
  std::string group;
  std::int64_t token = 0;
  std::string prev;  // the hash of the group's row before, empty at the first
  std::string hash;
};

/// Without a line break.
std::string format(const Line& line);
std::string format(const Row& row);
/// Errors:  invalidArgument  says what was expected
Result<Line> parseLine(std::string_view text);
Result<Row> parseRow(std::string_view text);

/// The link that a row adds to its group's chain: FNV-1a (64 bits, 16 hexadecimal digits) of "prev|id|token". Easy to
/// write in any language; it finds accidents, not forgers.
std::string chainHash(std::string_view prev, std::string_view id, std::int64_t token);

}  // namespace tenure::history
