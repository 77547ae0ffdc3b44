/// What the ports speak of (store.hpp, admin.hpp) as rows (tables.hpp), and back. Pure.
///
/// What is read may be damaged: by a hand, by a program that is not ours. It is told as Errc::storeFailed, with its
/// name.
#pragma once

#include <array>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "storage/tables.hpp"
#include "tenure/spi/admin.hpp"
#include "tenure/spi/store.hpp"

namespace tenure::storage {

Row keyRow(const ConsumerName& consumer, const MessageId& id, MessageFate fate, const BodyDigest& digest,
           FencingToken token, WallTime at);
/// What admit() says of a body with this digest.
Admission admissionOf(const Row* key, const BodyDigest& digest);

Row attemptRow(const ConsumerName& consumer, const AttemptRecord& record);
FailingMessage attemptFrom(const Row& row);

inline Row inWorkKey(const ConsumerName& consumer, std::size_t lane) {
  return {consumer.value, static_cast<std::int64_t>(lane)};
}
Row inWorkRow(const ConsumerName& consumer, std::size_t lane, FencingToken token, const InWork& inWork);
InWork inWorkFrom(const Row& row);
/// Of a consumer's lane 0 (ConsumerState::inWork). Nullopt: nothing is recorded. `previous`: the term that claimed
/// before.
InWork inWorkFrom(const std::optional<Row>& row, FencingToken previous);

/// Where the facts of a consumer stand: a row of each of these tables, which are in the order of ConsumerFact.
inline constexpr std::array factTables{Table::window, Table::streak, Table::clock};
Table tableOf(const ConsumerFact& fact) noexcept;
Row factRow(const ConsumerName& consumer, const ConsumerFact& fact);
/// Of the row in `factTables[place]`.
void addFact(std::size_t place, const Row& row, ConsumerFacts& facts);
DeadLetterStreakRecord streakFrom(const Row& row);

/// Without a number: the store gives it.
Row deadLetterRow(const ConsumerName& consumer, const DeadLetter& letter);
struct StoredLetter {
  ConsumerName consumer;
  DeadLetter letter;
};
/// Errors: storeFailed.
Result<StoredLetter> deadLetterFrom(const Row& row);

inline Row turnKey(const ConsumerName& consumer, const GroupId& group) { return {consumer.value, group.value}; }
Row turnRow(const ConsumerName& consumer, const GroupId& group, const GroupTurn& turn);
GroupTurn turnFrom(const Row& row);

inline Row keptKey(const ConsumerName& consumer, const GroupId& group, std::int64_t number) {
  return {consumer.value, group.value, number};
}
Row keptRow(const ConsumerName& consumer, const KeptMessage& kept);
/// What a light scan gives of it.
NumberedGroup::Mark markFrom(const Row& row);
/// Errors: storeFailed.
Result<KeptMessage> keptFrom(const Row& row);

/// Without a number: the store gives it.
Row logRow(const ConsumerName& consumer, FencingToken token, const LoggedAttempt& attempt);
LogLine logLineFrom(const Row& row);

inline Row keyNamed(const ConsumerName& consumer, const MessageId& id) { return {consumer.value, id.value}; }
inline std::int64_t millisecondsOf(WallTime at) noexcept { return at.time_since_epoch().count(); }
inline WallTime wallTimeOf(std::int64_t milliseconds) noexcept {
  return WallTime{std::chrono::milliseconds{milliseconds}};
}

}  // namespace tenure::storage
