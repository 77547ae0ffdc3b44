#include "base/text.hpp"

#include <gtest/gtest.h>

namespace tenure {
namespace {

TEST(Text, IsValidUtf8WithoutNul) {
  EXPECT_TRUE(isText(""));
  EXPECT_TRUE(isText("Grüße, 世界 🌍\n"));
  EXPECT_FALSE(isText(std::string_view("a\0b", 3)));
  EXPECT_FALSE(isText("\xff"));
  EXPECT_FALSE(isText("\xc0\x80")) << "overlong";
  EXPECT_FALSE(isText("\xed\xa0\x80")) << "a surrogate";
  EXPECT_FALSE(isText("gr\xc3")) << "cut short";
}

TEST(Text, PrintableKeepsLinesAndQuotesAndNothingThatMovesACursor) {
  EXPECT_EQ(printable("one \"two\"\nthree\\"), "one \"two\"\nthree\\");
  EXPECT_EQ(printable("\x1b[2J\r\xff"), "\\x1b[2J\\x0d\\xff");
  EXPECT_EQ(printable("a\u202e\u061cb\u0085"), "a\\u202e\\u061cb\\u0085");
}

TEST(Text, AnyTimeCanBeShown) {
  using namespace std::chrono_literals;
  using Time = std::chrono::time_point<std::chrono::system_clock, std::chrono::milliseconds>;
  EXPECT_EQ(formatWallTime(Time{1762329600481ms}), "2025-11-05T08:00:00.481Z");
  EXPECT_EQ(formatWallTime(Time{-1ms}), "1969-12-31T23:59:59.999Z");
  EXPECT_EQ(formatWallTime(Time::min()).back(), 'Z');
  EXPECT_EQ(formatWallTime(Time::max()).back(), 'Z');
}

TEST(Text, ATimeIsReadAsItIsShown) {
  using namespace std::chrono_literals;
  for (const char* text : {"2025-11-05T08:00:00.481Z", "1970-01-01T00:00:00.000Z", "2024-02-29T23:59:59.999Z"})
    EXPECT_EQ(formatWallTime(parseWallTime(text).value()), text);
  EXPECT_EQ(parseWallTime("2025-11-05T08:00Z").value(), parseWallTime("2025-11-05T08:00:00.000Z").value());
  EXPECT_EQ(parseWallTime("2025-11-05T08:00:01Z").value(), parseWallTime("2025-11-05T08:00:01.000Z").value());
}

TEST(Text, ATimeWithAnOffsetOrFinerThanAMillisecondIsReadAsRfc3339HasIt) {
  const auto eight = parseWallTime("2025-11-05T08:00:00.500Z").value();
  for (const char* text : {"2025-11-05T09:00:00.5+01:00", "2025-11-05T02:30:00.500-05:30", "2025-11-05T08:00:00.5009Z",
                           "2025-11-06T00:00:00.500999999+16:00"})
    EXPECT_EQ(parseWallTime(text).value(), eight) << text;
}

TEST(Text, ATimeIsReadAsDatePythonAndPsqlPrintIt) {
  const auto eight = parseWallTime("2025-11-05T08:00:00Z").value();
  for (const char* text : {"2025-11-05 09:00:00+01:00", "2025-11-05t08:00:00z", "2025-11-05 08:00:00+00",
                           "2025-11-05T09:00:00+0100", "2025-11-05 08:00:00.000000+00:00", "2025-11-05 08:00:00 +0000"})
    EXPECT_EQ(parseWallTime(text).value(), eight) << text;
}

TEST(Text, ATimeThatIsNoneOrHasNoOffsetIsRefused) {
  for (const char* text : {"",
                           "tomorrow",
                           "2025-11-05",
                           "2025-11-05T08:00:00",
                           "2025-11-05T08:00:00+1:00",
                           "2025-11-05 08:00:00",
                           "2025-11-05x08:00:00Z",
                           "2025-11-05T08:00:00+24:00",
                           "2025-11-05T08:00:00+01:",
                           "2025-11-05T08:00:00+01:60",
                           "2025-11-05T08:00:00.Z",
                           "2025-02-29T08:00:00Z",
                           "2025-13-01T08:00:00Z",
                           "2025-00-01T08:00:00Z",
                           "2025-11-05T24:00:00Z",
                           "2025-11-05T08:60:00Z",
                           "2025-11-05T08:00:60Z",
                           "2025-11-05T08:00:00Zx",
                           "+025-11-05T08:00:00Z",
                           "2025-11-05T8:00:00Z",
                           "2025-11-05T08:00.481Z "})
    EXPECT_FALSE(parseWallTime(text)) << text;
}

TEST(IsOnThisMachine, OnlyLoopback) {
  for (const char* host : {"localhost", "127.0.0.1", "127.8.9.1", "::1", "[::1]"}) EXPECT_TRUE(isOnThisMachine(host));
  for (const char* host : {"", "10.0.0.1", "db.example", "127.example.com", "localhost.example", "::2", "0.0.0.0"})
    EXPECT_FALSE(isOnThisMachine(host)) << host;
}

}  // namespace
}  // namespace tenure
