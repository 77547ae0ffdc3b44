#include "telemetry/event_line.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tenure {
namespace {

using namespace std::chrono_literals;
using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;

const WallTime noon{1'777'885'953'481ms};  // 2026-05-04T09:12:33.481Z

std::string lineOf(EventBody body, std::int64_t token = 0) {
  return formatEvent(Event{noon, {"orders"}, {token}, std::move(body)});
}

// shows: urls/log-line-time
TEST(EventLine, NamesTimeLevelEventElectionAndTokenThenTheFields) {
  EXPECT_THAT(lineOf(TermEnded{EndReason::stopAsked, 1s, true, 1'234us}, 7),
              EndsWith(" clean=true since_request_us=1234"));
  EXPECT_EQ(lineOf(TermEnded{EndReason::sessionExpired, 90'311ms, false}, 4'294'967'338),
            "2026-05-04T09:12:33.481Z info term_ended election=orders token=4294967338 reason=session_expired "
            "served_ms=90311 clean=false");
}

TEST(EventLine, OutsideATermThereIsNoToken) {
  EXPECT_EQ(lineOf(StoodBy{2, "9f-0000000001"}),
            "2026-05-04T09:12:33.481Z info stood_by election=orders ahead=2 predecessor=9f-0000000001");
}

TEST(EventLine, ADurationIsANumberInTheUnitOfItsKey) {
  EXPECT_THAT(lineOf(BatchCommitted{64, 900, 1'250us, 128}, 7),
              EndsWith(" messages=64 last_position=900 took_us=1250 limit=128"));
}

TEST(EventLine, AValueWithASpaceIsQuoted) {
  EXPECT_THAT(lineOf(Warned{"disk is full"}), EndsWith(" what=\"disk is full\""));
}

TEST(EventLine, AnEmptyValueIsQuotedSoThatItIsSeen) { EXPECT_THAT(lineOf(Warned{""}), EndsWith(" what=\"\"")); }

TEST(EventLine, AnEqualsSignDoesNotForgeAField) {
  EXPECT_THAT(lineOf(Warned{"token=1"}), EndsWith(" what=\"token=1\""));
}

// shows: security/message-says-read
TEST(EventLine, ControlCharactersNeverReachTheTerminal) {
  const std::string line = lineOf(Warned{"a\nb\x1b[2J\xe2\x80\xae\"c"});

  EXPECT_THAT(line, EndsWith(" what=\"a\\nb\\x1b[2J\\u202e\\\"c\""));
  EXPECT_THAT(line, Not(HasSubstr("\n")));
}

TEST(EventLine, StaysShortEnoughForAPipeToTakeItWhole) {
  std::string name(64, 'e');
  const std::string line = formatEvent(Event{noon, {name}, {1}, MessageDeadLettered{std::string(90'000, 'x'), "y", 1}});
  EXPECT_LE(line.size(), maxLineBytes);
}

TEST(EventLine, LevelAndNameAreThoseOfTheBody) {
  const Event event{noon, {"orders"}, {}, SessionSuspended{}};
  EXPECT_EQ(levelOf(event), Level::warn);
  EXPECT_EQ(nameOf(event), "session_suspended");
}

std::string jsonOf(EventBody body, std::int64_t token = 0) {
  return formatEventAsJson(Event{noon, {"orders"}, {token}, std::move(body)});
}

// shows: watch/log-format-json
TEST(JsonEventLine, HasTheSameNamesInTheSameOrder) {
  EXPECT_THAT(jsonOf(TermEnded{EndReason::stopAsked, 1s, true, 1'234us}, 7),
              HasSubstr(R"("clean":true,"since_request_us":1234})"));
  EXPECT_EQ(jsonOf(TermEnded{EndReason::sessionExpired, 90'311ms, false}, 4'294'967'338),
            R"({"at":"2026-05-04T09:12:33.481Z","level":"info","event":"term_ended","election":"orders",)"
            R"("token":"4294967338","reason":"session_expired","served_ms":90311,"clean":false})");
}

// shows: watch/log-format-json
TEST(JsonEventLine, WhatMayNotFitADoubleIsADecimalString) {
  EXPECT_THAT(jsonOf(SessionExpired{72'057'594'037'927'937}), EndsWith(R"("session":"72057594037927937"})"));
  EXPECT_THAT(jsonOf(SessionExpired{17}), EndsWith(R"("session":17})"));
}

TEST(JsonEventLine, ALongOneIsCutInItsTextsAndStaysAnObject) {
  const std::string line = jsonOf(GapFound{std::string(9'000, '"'), 7, 1, 5ms});
  EXPECT_LE(line.size(), maxLineBytes);
  EXPECT_THAT(line, EndsWith("}"));
  EXPECT_THAT(line, HasSubstr("\"number\":7"));
}

TEST(JsonEventLine, AWrongByteIsReplacedAndNeverTheEndOfALine) {
  EXPECT_THAT(jsonOf(Warned{"a\nb\xff"}), EndsWith(R"("what":"a\nb)"
                                                   "\xef\xbf\xbd\"}"));
}

}  // namespace
}  // namespace tenure
