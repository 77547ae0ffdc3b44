#include "backends/redis/waiting_room.hpp"

#include <algorithm>
#include <charconv>

#include "backends/redis/errors.hpp"
#include "backends/redis/reply.hpp"
#include "backends/redis/scripts.hpp"
#include "storage/key_value/encoding.hpp"
#include "storage/waiting_rows.hpp"

namespace tenure::redis {
namespace {

using storage::Row;

constexpr std::size_t addedDigits = 16;  // before the id, in a member of the sorted set

/// In the sorted set: the digits of `added`, then the id.
std::string_view idIn(std::string_view member) { return member.substr(std::min(addedDigits, member.size())); }
std::int64_t addedIn(std::string_view member) {
  std::int64_t added = 0;
  std::from_chars(member.data(), member.data() + std::min(addedDigits, member.size()), added);
  return added;
}
std::string digitsOf(std::int64_t added) {
  const std::string digits = std::to_string(added);
  return std::string(addedDigits - std::min(addedDigits, digits.size()), '0') + digits;
}

std::optional<WallTime> scoreOf(ReplyView members) {
  return members.size() < 2 ? std::nullopt : std::optional(timeFrom(members[1].bytes()));
}

}  // namespace

Store::Store(std::unique_ptr<Driver> driver) : Store(*driver, std::move(driver)) {}

Result<storage::WaitingPage> Store::waiting(const storage::WaitingScan& scan) {
  const Result<Connection*> connection = redis_.connection();
  if (!connection) return connection.error();
  const std::string due = std::to_string(scan.due);
  const std::string added = digitsOf(scan.added);
  const std::string atMost = std::to_string(scan.atMost);
  const Keys& keys = redis_.keys();
  const Result<Reply> found =
      (*connection)->run(waitingScript, {keys[Keys::waiting], keys[Keys::waitingDue]}, {due, added, atMost});
  if (!found) return found.error();
  storage::WaitingPage page;
  for (std::size_t i = 0; i < (*found)[0].size(); ++i) {
    const std::string_view member = (*found)[0][i].bytes();
    if ((*found)[1][i].isNil()) continue;
    Result<Row> row =
        storage::rowFrom(storage::Table::waiting, queue() + '\0' + std::string(idIn(member)), (*found)[1][i].bytes());
    if (!row) return row.error();
    page.rows.push_back(*std::move(row));
    page.added.push_back(addedIn(member));
  }
  return page;
}

Result<storage::WaitingCounts> Store::countWaiting(std::int64_t /*atMost*/) {
  const Result<Connection*> connection = redis_.connection();
  if (!connection) return connection.error();
  const Result<Reply> reply =
      (*connection)
          ->run(lateScript, {redis_.keys()[Keys::waiting], redis_.keys()[Keys::fired], redis_.keys()[Keys::firedAt]},
                {std::to_string(std::chrono::milliseconds(storage::latenessAge).count()),
                 std::to_string(storage::latenessRows)});
  if (!reply) return reply.error();
  storage::WaitingCounts counts{.waiting = (*reply)[1].integer()};
  if (const auto lateness = parseInteger((*reply)[2].bytes())) counts.lateness = std::chrono::milliseconds{*lateness};
  return counts;
}

std::string readerOf(const TermIdentity& term) {
  return storage::textOf(storage::ownerOf(term)) + '\0' + term.ensemble.value;
}

Result<scheduled::IWaitingRoom::Front> WaitingRoom::look() {
  const Result<Connection*> connection = link_.use();
  if (!connection) return connection.error();
  const std::array<Arguments, 2> questions{{{"TIME"}, {"ZRANGE", keys_[Keys::waitingDue], "0", "0", "WITHSCORES"}}};
  const Result<std::vector<Reply>> answers = (*connection)->read(questions);
  if (!answers) return answers.error();
  return Front{serverTime((*answers)[0].view()), scoreOf((*answers)[1].view())};
}

Result<scheduled::IWaitingRoom::Promoted> WaitingRoom::promote(WallTime until, std::size_t atMost) {
  const Result<Connection*> connection = link_.use();
  if (!connection) return connection.error();
  Arguments places;
  for (const Keys::Place place : {Keys::queue, Keys::messages, Keys::waiting, Keys::waitingAdded, Keys::waitingDue,
                                  Keys::fired, Keys::firedAt, Keys::fence})
    places.push_back(keys_[place]);
  const std::string reader = readerOf(term_);
  const std::string generation = std::to_string(term_.generation);
  const std::string token = std::to_string(term_.token.value);
  const std::string keep = std::to_string(std::chrono::milliseconds(link_.options().keepIdsFor).count());
  const Result<Reply> reply = (*connection)
                                  ->run(promoteScript, places,
                                        {reader, generation, token, timeText(until), std::to_string(atMost), keep,
                                         term_.election.value, term_.electionPath, term_.ensemble.value});
  // A repeat is harmless: the next look finds each message in the waiting room or in its queue.
  if (!reply && isOutcomeUnknown(reply.error().code)) return Error{Errc::unavailable, reply.error().detail};
  if (!reply) return reply.error();
  const std::string_view answer = (*reply)[0].bytes();
  if (answer == "stale") return storage::newerReader(link_.options().queue);
  if (answer == "damaged") return damaged((*reply)[1].bytes(), (*reply)[2].bytes(), false);
  if (answer != "ok") return queueLost();
  Promoted promoted{.messages = static_cast<std::size_t>((*reply)[1].integer()),
                    .lateness = std::chrono::milliseconds{parseInteger((*reply)[2].bytes()).value_or(0)}};
  promoted.next = scoreOf((*reply)[3]);
  return promoted;
}

}  // namespace tenure::redis
