#include "storage/records.hpp"

#include <algorithm>

#include "base/text.hpp"
#include "messages/headers.hpp"

namespace tenure::storage {
namespace {

std::string bytesOf(const BodyDigest& digest) { return {reinterpret_cast<const char*>(digest.data()), digest.size()}; }

WallTime timeIn(const Row& row, std::size_t place) { return wallTimeOf(integerIn(row, place)); }

std::string joined(std::span<const MessageId> ids) {
  std::string all;
  for (const MessageId& id : ids) all.append(id.value).push_back('\0');
  return all;
}

std::vector<MessageId> split(std::string_view joinedIds) {
  std::vector<MessageId> ids;
  for (std::size_t end = joinedIds.find('\0'); end != std::string_view::npos; end = joinedIds.find('\0')) {
    ids.push_back(MessageId{std::string(joinedIds.substr(0, end))});
    joinedIds.remove_prefix(end + 1);
  }
  return ids;
}

/// Where the values of a message stand in its row.
struct MessageColumns {
  std::size_t id, group, body, enqueuedAt, position;
};

Message messageFrom(const Row& row, const MessageColumns& at, Headers headers) {
  Message message;
  message.id = MessageId{textIn(row, at.id)};
  message.group = GroupId{textIn(row, at.group)};
  message.body = textIn(row, at.body);
  message.headers = std::move(headers);
  message.enqueuedAt = timeIn(row, at.enqueuedAt);
  message.position = integerIn(row, at.position);
  return message;
}

}  // namespace

Row keyRow(const ConsumerName& consumer, const MessageId& id, MessageFate fate, const BodyDigest& digest,
           FencingToken token, WallTime at) {
  return rowWith(consumer.value, id.value, std::int64_t{fate == MessageFate::dead ? 1 : 0}, bytesOf(digest),
                 token.value, millisecondsOf(at));
}

Admission admissionOf(const Row* row, const BodyDigest& digest) {
  if (row == nullptr) return Admission::fresh;
  return textIn(*row, key::digest) == bytesOf(digest) ? Admission::duplicate : Admission::reused;
}

Row attemptRow(const ConsumerName& consumer, const AttemptRecord& record) {
  return rowWith(consumer.value, record.id.value, std::int64_t{record.attempts}, record.lastError,
                 millisecondsOf(record.firstAt), millisecondsOf(record.lastAt), static_cast<std::int64_t>(record.state),
                 record.begunBy.value, std::int64_t{record.processDied ? 1 : 0},
                 std::int64_t{record.postponements.times}, millisecondsOf(record.postponements.since),
                 millisecondsOf(record.nextAt));
}

FailingMessage attemptFrom(const Row& row) {
  return {ConsumerName{textIn(row, attempt::consumer)},
          {.id = MessageId{textIn(row, attempt::id)},
           .attempts = static_cast<int>(integerIn(row, attempt::attempts)),
           .lastError = textIn(row, attempt::lastError),
           .firstAt = timeIn(row, attempt::firstAt),
           .lastAt = timeIn(row, attempt::lastAt),
           .state = static_cast<AttemptState>(integerIn(row, attempt::state)),
           .begunBy = FencingToken{integerIn(row, attempt::begunBy)},
           .processDied = integerIn(row, attempt::processDied) != 0,
           .postponements = {.times = static_cast<int>(integerIn(row, attempt::postponed)),
                             .since = timeIn(row, attempt::postponedSince)},
           .nextAt = timeIn(row, attempt::nextAt)}};
}

Row inWorkRow(const ConsumerName& consumer, std::size_t lane, FencingToken token, const InWork& inWork) {
  return rowWith(consumer.value, static_cast<std::int64_t>(lane), token.value, std::int64_t{inWork.more ? 1 : 0},
                 joined(inWork.ids), inWork.suspectsOf.value, std::int64_t{inWork.isNarrowedDown ? 1 : 0});
}

InWork inWorkFrom(const Row& row) {
  return {.ids = split(textIn(row, inWork::ids)),
          .more = integerIn(row, inWork::more) != 0,
          .suspectsOf = FencingToken{integerIn(row, inWork::suspectsOf)},
          .isNarrowedDown = integerIn(row, inWork::narrowed) != 0,
          .recordedBy = FencingToken{integerIn(row, inWork::token)}};
}

InWork inWorkFrom(const std::optional<Row>& row, FencingToken previous) {
  InWork found = row ? inWorkFrom(*row) : InWork{};
  if (found.recordedBy != previous) found.more = true;
  return found;
}

Table tableOf(const ConsumerFact& fact) noexcept { return factTables[fact.index()]; }

Row factRow(const ConsumerName& consumer, const ConsumerFact& fact) {
  struct RowOf {
    const std::string& name;
    Row operator()(const RecoveryWindow& window) const {
      return rowWith(name, static_cast<std::int64_t>(window.unrecordedWindow), static_cast<std::int64_t>(window.lanes),
                     static_cast<std::int64_t>(window.window));
    }
    Row operator()(const DeadLetterStreakRecord& streak) const {
      return rowWith(name, std::int64_t{streak.deaths}, streak.lastReason, millisecondsOf(streak.firstAt),
                     millisecondsOf(streak.lastAt), static_cast<std::int64_t>(streak.state));
    }
    Row operator()(const ClockLook& look) const {
      return rowWith(name, std::int64_t{look.isStores ? 1 : 0}, millisecondsOf(look.wall), look.bootId,
                     look.sinceBoot.count(), millisecondsOf(look.trustedFrom));
    }
  };
  return std::visit(RowOf{consumer.value}, fact);
}

DeadLetterStreakRecord streakFrom(const Row& row) {
  return {.deaths = static_cast<int>(integerIn(row, streak::deaths)),
          .lastReason = textIn(row, streak::lastReason),
          .firstAt = timeIn(row, streak::firstAt),
          .lastAt = timeIn(row, streak::lastAt),
          .state = static_cast<DeadLetterStreakRecord::State>(integerIn(row, streak::state))};
}

void addFact(std::size_t place, const Row& row, ConsumerFacts& facts) {
  const auto count = [&](std::size_t column) { return static_cast<std::size_t>(integerIn(row, column)); };
  switch (factTables.at(place)) {
    case Table::window:
      facts.window = {
          .unrecordedWindow = count(window::front), .lanes = count(window::lanes), .window = count(window::ahead)};
      return;
    case Table::streak: facts.streak = streakFrom(row); return;
    default:
      facts.clock = {.isStores = integerIn(row, clock::isStores) != 0,
                     .wall = timeIn(row, clock::wall),
                     .bootId = textIn(row, clock::bootId),
                     .sinceBoot = std::chrono::milliseconds{integerIn(row, clock::sinceBoot)},
                     .trustedFrom = timeIn(row, clock::trustedFrom)};
  }
}

Row deadLetterRow(const ConsumerName& consumer, const DeadLetter& letter) {
  const Message& message = letter.message;
  return rowWith(letter.number, consumer.value, message.id.value, message.group.value, message.body,
                 messages::headersToTextAnyhow(message.headers).value_or(""), millisecondsOf(message.enqueuedAt),
                 message.position, letter.reason, std::int64_t{letter.attempts}, millisecondsOf(letter.firstAt),
                 millisecondsOf(letter.diedAt), letter.missingFrom, letter.missingTo, message.lacks);
}

Result<StoredLetter> deadLetterFrom(const Row& row) {
  Result<Headers> headers = messages::headersFromText(textIn(row, deadLetter::headers));
  if (!headers) return headers.error();
  StoredLetter found;
  found.consumer = ConsumerName{textIn(row, deadLetter::consumer)};
  DeadLetter& letter = found.letter;
  letter.number = integerIn(row, deadLetter::number);
  letter.reason = textIn(row, deadLetter::reason);
  letter.attempts = static_cast<int>(integerIn(row, deadLetter::attempts));
  letter.firstAt = timeIn(row, deadLetter::firstAt);
  letter.diedAt = timeIn(row, deadLetter::diedAt);
  letter.missingFrom = integerIn(row, deadLetter::missingFrom);
  letter.missingTo = integerIn(row, deadLetter::missingTo);
  letter.message = messageFrom(row,
                               {.id = deadLetter::id,
                                .group = deadLetter::group,
                                .body = deadLetter::body,
                                .enqueuedAt = deadLetter::enqueuedAt,
                                .position = deadLetter::position},
                               *std::move(headers));
  letter.message.lacks = textIn(row, deadLetter::lacks);
  return found;
}

Row turnRow(const ConsumerName& consumer, const GroupId& group, const GroupTurn& turn) {
  return rowWith(consumer.value, group.value, turn.position, millisecondsOf(turn.since));
}

GroupTurn turnFrom(const Row& row) {
  return {.position = integerIn(row, turn::position), .since = timeIn(row, turn::since)};
}

Row keptRow(const ConsumerName& consumer, const KeptMessage& kept) {
  const Message& message = kept.message;
  return rowWith(consumer.value, message.group.value, kept.number, message.id.value, bytesOf(digestOf(message.body)),
                 message.body, messages::headersToBytes(message.headers), millisecondsOf(message.enqueuedAt),
                 message.position, std::int64_t{kept.isPast ? 1 : 0});
}

NumberedGroup::Mark markFrom(const Row& row) {
  NumberedGroup::Mark mark{.id = MessageId{textIn(row, kept::id)}, .isPast = integerIn(row, kept::isPast) != 0};
  const std::string& digest = textIn(row, kept::digest);
  std::ranges::copy(std::as_bytes(std::span{digest}).first(std::min(digest.size(), mark.digest.size())),
                    mark.digest.begin());
  return mark;
}

Result<KeptMessage> keptFrom(const Row& row) {
  Result<Headers> headers = messages::headersFromBytes(textIn(row, kept::headers));
  if (!headers) return headers.error();
  return KeptMessage{.number = integerIn(row, kept::number),
                     .message = messageFrom(row,
                                            {.id = kept::id,
                                             .group = kept::group,
                                             .body = kept::body,
                                             .enqueuedAt = kept::enqueuedAt,
                                             .position = kept::position},
                                            *std::move(headers)),
                     .isPast = integerIn(row, kept::isPast) != 0};
}

Row logRow(const ConsumerName& consumer, FencingToken token, const LoggedAttempt& attempt) {
  return rowWith(consumer.value, std::int64_t{0}, attempt.message.value, std::int64_t{attempt.attempt},
                 static_cast<std::int64_t>(attempt.end), attempt.error, token.value, millisecondsOf(attempt.beganAt),
                 millisecondsOf(attempt.endedAt));
}

LogLine logLineFrom(const Row& row) {
  return {.consumer = ConsumerName{textIn(row, log::consumer)},
          .token = FencingToken{integerIn(row, log::token)},
          .attempt = {.message = MessageId{textIn(row, log::id)},
                      .attempt = static_cast<int>(integerIn(row, log::attempt)),
                      .end = static_cast<AttemptEnd>(integerIn(row, log::end)),
                      .error = textIn(row, log::error),
                      .beganAt = timeIn(row, log::beganAt),
                      .endedAt = timeIn(row, log::endedAt)}};
}

}  // namespace tenure::storage
