/// Where a helper program is looked for.
#include "process/helper.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

namespace tenure::test {
namespace {

using testing::HasSubstr;

TEST(FindHelper, BesideTheRunningProgram) {
  const auto found = findHelper("tenure-last-will");
  ASSERT_TRUE(found) << found.error().message();
  EXPECT_EQ(*found, std::string(TENURE_BINARY_DIR) + "/tenure-last-will");
}

// shows: design/found-installed-missing
TEST(FindHelper, NamesEachPlaceWhereItIsNot) {
  const auto found = findHelper("no-such-helper");
  ASSERT_FALSE(found);
  EXPECT_TRUE(found.error().is(Errc::notFound));
  const std::filesystem::path here(TENURE_BINARY_DIR);
  EXPECT_THAT(found.error().detail, HasSubstr((here / "no-such-helper").string()));
  EXPECT_THAT(found.error().detail, HasSubstr((here.parent_path() / "libexec/tenure/no-such-helper").string()));
}

}  // namespace
}  // namespace tenure::test
