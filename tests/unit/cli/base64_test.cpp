#include "base/base64.hpp"

#include <gtest/gtest.h>

namespace tenure::cli {
namespace {

TEST(Base64, PadsAsItShouldAndIsReadBack) {
  const std::pair<std::string, std::string> known[] = {{"", ""},        {"f", "Zg=="},          {"fo", "Zm8="},
                                                       {"foo", "Zm9v"}, {"foobar", "Zm9vYmFy"}, {"\xff\xfe", "//4="}};
  for (const auto& [bytes, text] : known) {
    EXPECT_EQ(base64(bytes), text);
    EXPECT_EQ(bytesOfBase64(text), bytes);
  }
}

// shows: sending/tenure-spool-shows
TEST(Base64, OtherTextIsRefused) {
  for (const char* text : {"Z", "Zg=", "Zg", "====", "Z===", "Zg==Zg==", "Zm9v\n", "Zm-v", "Zm9vYm=y"})
    EXPECT_EQ(bytesOfBase64(text), std::nullopt) << text;
}

}  // namespace
}  // namespace tenure::cli
