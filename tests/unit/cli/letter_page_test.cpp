
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "cli/output/content_page.hpp"

namespace tenure::cli {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

DeadLetter letterWith(const std::string& body) {
  DeadLetter letter{.message = {}, .reason = "no such order", .attempts = 5, .firstAt = {}, .diedAt = {}, .number = 17};
  letter.message.id = MessageId{"m-1"};
  letter.message.group = GroupId{"tenant-3"};
  letter.message.headers = {{"content-type", "text/plain"}};
  letter.message.body = body;
  return letter;
}

TEST(LetterPage, ShowsEverythingThatIsKnownOfTheMessage) {
  EXPECT_THAT(letterPage(letterWith("one\ntwo")),
              AllOf(HasSubstr("number    17\n"), HasSubstr("id        m-1\n"), HasSubstr("group     tenant-3\n"),
                    HasSubstr("reason    no such order\n"), HasSubstr("attempts  5\n"),
                    HasSubstr("header    content-type: text/plain\n"), HasSubstr("body      7 bytes\n\none\ntwo\n")));
}

// shows: security/message-says-read
TEST(LetterPage, ATerminalSeesNoControlCharacterOfABody) {
  EXPECT_THAT(letterPage(letterWith("\x1b[2Jgone")), AllOf(Not(HasSubstr("\x1b")), HasSubstr("gone")));
}

TEST(LetterPage, ABodyThatIsNotUtf8IsDumped) {
  const std::string bytes{"\xff\0PNG\r\n 0123456789", 18};

  EXPECT_THAT(letterPage(letterWith(bytes)),
              AllOf(HasSubstr("18 bytes, not UTF-8\n"),
                    HasSubstr("00000000  ff 00 50 4e 47 0d 0a 20  30 31 32 33 34 35 36 37  |..PNG.. 01234567|\n"),
                    HasSubstr("00000010  38 39                                             |89|\n")));
}

TEST(LetterPage, ALargeDumpSaysWhatItLeavesOut) {
  EXPECT_THAT(letterPage(letterWith(std::string(5000, '\xff'))), HasSubstr("and 3976 bytes more"));
}

TEST(LetterPage, JsonHasTheBodyAsTextOrAsBase64) {
  const auto text = nlohmann::json::parse(letterJson(letterWith("größe")));
  EXPECT_EQ(text["body"], "größe");
  EXPECT_FALSE(text.contains("body_base64"));
  EXPECT_EQ(text["headers"]["content-type"], "text/plain");

  const auto bytes = nlohmann::json::parse(letterJson(letterWith("\xff\xfe")));
  EXPECT_TRUE(bytes["body"].is_null());
  EXPECT_EQ(bytes["body_base64"], "//4=");
}

}  // namespace
}  // namespace tenure::cli
