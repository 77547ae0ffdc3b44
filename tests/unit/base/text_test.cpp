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

}  // namespace
}  // namespace tenure
