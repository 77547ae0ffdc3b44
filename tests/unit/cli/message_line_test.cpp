#include "cli/input/message_line.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/base64.hpp"

namespace tenure::cli {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing::Pair;

NewMessage accepted(std::string_view line, LineFormat format = LineFormat::jsonl) {
  auto message = parseMessageLine(format, line);
  EXPECT_TRUE(message) << line.substr(0, 200) << ": " << message.error().message();
  return message ? *message : NewMessage{};
}

Error refused(std::string_view line, LineFormat format = LineFormat::jsonl) {
  auto message = parseMessageLine(format, line);
  EXPECT_FALSE(message) << line.substr(0, 200) << " was accepted";
  return message ? Error{Errc::cancelled} : message.error();
}

TEST(MessageLine, APlainLineIsTheBodyAndGetsAnId) {
  const NewMessage message = accepted(" any \xff bytes\r", LineFormat::lines);

  EXPECT_EQ(message.body, " any \xff bytes\r");
  EXPECT_EQ(message.id.value.size(), 32U);
  EXPECT_EQ(message.group.value, "");
}

// shows: exactly-once/known-dropped-without
TEST(MessageLine, EachMadeIdIsAnother) {
  EXPECT_NE(accepted("x", LineFormat::lines).id, accepted("x", LineFormat::lines).id);
}

TEST(MessageLine, AJsonLineNamesIdGroupBodyAndHeaders) {
  const NewMessage message =
      accepted(R"({"id":"o-1-paid", "group":"o-1", "body":"42 \u20ac", "headers":{"source":"shop","v":"2"}})");

  EXPECT_EQ(message.id.value, "o-1-paid");
  EXPECT_EQ(message.group.value, "o-1");
  EXPECT_EQ(message.body, "42 \xe2\x82\xac");
  EXPECT_THAT(message.headers, ElementsAre(Pair("source", "shop"), Pair("v", "2")));
}

TEST(MessageLine, OnlyTheBodyIsNeeded) {
  EXPECT_EQ(accepted(R"({"body":""})").body, "");
  EXPECT_THAT(refused(R"({"id":"a"})").detail, HasSubstr("\"body\" is missing"));
  EXPECT_THAT(refused("{ }").detail, HasSubstr("\"body\" is missing"));
}

TEST(MessageLine, ABodyThatIsNotTextIsStoredAsItStands) {
  EXPECT_EQ(accepted(R"({"body": {"b": 12345678901234567890123, "a":[1.10, "},{"]} , "id":"x"})").body,
            R"({"b": 12345678901234567890123, "a":[1.10, "},{"]})");
  EXPECT_EQ(accepted(R"({"body":-0.10})").body, "-0.10");
  EXPECT_EQ(accepted(R"({"body" : null })").body, "null");
}

TEST(MessageLine, IdGroupAndBodyMayBeBytes) {
  const NewMessage message = accepted(R"({"id_base64":"//4=","group_base64":"gA==","body_base64":"/w=="})");

  EXPECT_EQ(message.id.value, "\xff\xfe");
  EXPECT_EQ(message.group.value, "\x80");
  EXPECT_EQ(message.body, "\xff");
}

// shows: sending/tenure-spool-shows
TEST(MessageLine, RefusesBytesThatAreNotBase64OrBesideTheSameAsText) {
  for (const std::string key : {"id", "group", "body"}) {
    const std::string rest = key == "body" ? "}" : R"(,"body":"x"})";
    EXPECT_THAT(refused("{\"" + key + R"(_base64":"/")" + rest).detail,
                HasSubstr("\"" + key + "_base64\" is not base64"));
    EXPECT_THAT(refused("{\"" + key + R"(_base64":7)" + rest).detail, HasSubstr("is not text"));
    EXPECT_THAT(refused("{\"" + key + R"(_base64":"//4=",")" + key + R"(":"a")" + rest).detail,
                HasSubstr("\"" + key + "\" and \"" + key + "_base64\" are both given"));
  }
}

// shows: sending/tenure-spool-shows
TEST(MessageLine, BytesAreHeldToTheLimitsOfTheirText) {
  EXPECT_TRUE(refused(R"({"body":"x","id_base64":""})").is(Errc::invalidArgument));
  EXPECT_TRUE(refused(R"({"body":"x","id_base64":"YQBi"})").is(Errc::invalidArgument)) << "a NUL";
  EXPECT_TRUE(
      refused(R"({"body":"x","group_base64":")" + base64(std::string(256, 'g')) + "\"}").is(Errc::invalidArgument));
}

// shows: sending/tenure-spool-shows
TEST(MessageLine, WhatIsWrittenIsReadBackToTheByte) {
  std::string all;
  for (int byte = 1; byte <= 255; ++byte) all += static_cast<char>(byte);
  const NewMessage plain{
      MessageId{"o-1 \"\u20ac\n"}, GroupId{""}, "{}", {{"from", "shop"}, {"to", "b"}, {"from", "c"}}};
  NewMessage timed{MessageId{all}, GroupId{all}, all + '\0', {}};
  timed.deliverAt = WallTime{std::chrono::milliseconds{1'700'000'000'123}};
  timed.replacesScheduled = true;
  const NewMessage cut{MessageId{"\xe2\x82"}, GroupId{"\xc0\x80"}, "\xed\xa0\x80", {}};

  for (const NewMessage& message : {plain, timed, cut}) EXPECT_EQ(accepted(jsonLineOf(message)), message);
}

TEST(MessageLine, AKeyMayBeWrittenWithEscapes) { EXPECT_EQ(accepted(R"({"b\u006fdy":"x"})").body, "x"); }

TEST(MessageLine, RefusesWhatIsNotJsonAndSaysWhere) {
  EXPECT_THAT(refused(R"({"body":"x")").detail, HasSubstr("not valid JSON at byte 12"));
  for (const char* line : {"", " ", "{", "nonsense", R"({"body":"a"} {"body":"b"})", "{\"body\":\"\xff\"}"})
    EXPECT_THAT(refused(line).detail, HasSubstr("not valid JSON")) << line;
}

TEST(MessageLine, RefusesJsonThatIsNoObject) {
  for (const char* line : {"[]", "\"body\"", "7", "null"}) EXPECT_THAT(refused(line).detail, HasSubstr("object"));
}

TEST(MessageLine, RefusesAKeyItDoesNotKnowOrKnowsAlready) {
  EXPECT_THAT(refused(R"({"body":"x","gruop":"a"})").detail, HasSubstr("\"gruop\" is not known"));
  EXPECT_THAT(refused(R"({"body":"x","body":"y"})").detail, HasSubstr("given twice"));
}

TEST(MessageLine, RefusesValuesOfTheWrongKind) {
  for (const char* line : {R"({"body":"x","id":7})", R"({"body":"x","group":[]})", R"({"body":"x","headers":"h"})",
                           R"({"body":"x","headers":{"h":1}})"})
    EXPECT_TRUE(refused(line).is(Errc::invalidArgument)) << line;
}

TEST(MessageLine, Row29RefusesOnlyIdsThatNoQueueTakes) {
  EXPECT_TRUE(refused(R"({"body":"x","id":""})").is(Errc::invalidArgument));
  EXPECT_TRUE(refused(R"({"body":"x","id":"a\u0000b"})").is(Errc::invalidArgument));
  EXPECT_TRUE(refused(R"({"body":"x","id":")" + std::string(256, 'i') + "\"}").is(Errc::invalidArgument));
  EXPECT_EQ(accepted(R"({"body":"x","id":"'; DROP TABLE queue; --\r\n"})").id.value, "'; DROP TABLE queue; --\r\n");
}

TEST(MessageLine, Row29TakesABodyUpToTheLimitAndRefusesOneByteMore) {
  const std::string largest(maxBodyBytes, 'b');

  EXPECT_EQ(accepted(R"({"body":")" + largest + "\"}").body, largest);
  EXPECT_TRUE(refused(R"({"body":")" + largest + "b\"}").is(Errc::payloadTooLarge));
  EXPECT_TRUE(refused(largest + "b", LineFormat::lines).is(Errc::payloadTooLarge));
}

TEST(MessageLine, Row29RefusesHeadersThatAreTooLarge) {
  const std::string value(maxHeaderBytes, 'h');
  EXPECT_TRUE(refused(R"({"body":"x","headers":{"h":")" + value + "\"}}").is(Errc::payloadTooLarge));
}

TEST(MessageLine, NestingHoweverDeepIsOnlyABody) {
  const std::string deep = std::string(200'000, '[') + std::string(200'000, ']');
  EXPECT_EQ(accepted("{\"body\":" + deep + "}").body, deep);
}

TEST(MessageLine, ItsComplaintsDoNotRepeatTheBody) {
  EXPECT_THAT(refused(R"({"body":"card 4111111111111111)").message(), Not(HasSubstr("4111")));
}

TEST(MessageLine, ANumberTooLargeForADoubleIsABadLineNotACrash) {
  for (const char* line : {R"({"body":1e999})", R"({"body":-1e999)", "10e666666666666666"}) {
    const auto message = parseMessageLine(LineFormat::jsonl, line);
    ASSERT_FALSE(message) << line;
    EXPECT_TRUE(message.error().is(Errc::invalidArgument)) << line;
  }
  EXPECT_EQ(parseMessageLine(LineFormat::jsonl, R"({"body":"1e999"})")->body, "1e999");
}

}  // namespace
}  // namespace tenure::cli
