#include "backends/postgresql/session/command.hpp"

#include <gtest/gtest.h>

#include <limits>

namespace tenure::postgresql {
namespace {

TEST(Command, IntegersSurviveTheWire) {
  for (const std::int64_t value : {std::int64_t{0}, std::int64_t{-1}, std::int64_t{1} << 53U,
                                   std::numeric_limits<std::int64_t>::min(), std::numeric_limits<std::int64_t>::max()})
    EXPECT_EQ(decodedInteger(encoded(value)), value);
  EXPECT_EQ(decodedInteger(std::string_view("\xff\xfe", 2)), -2) << "a smallint";
  EXPECT_EQ(decodedInteger(""), 0);
}

TEST(Command, OwnsItsValues) {
  std::string body = "body";
  const Command command = postgresql::command("SELECT $1, $2", Blob{body}, std::optional<std::string>{});
  body = "gone";

  ASSERT_EQ(command.parameters.size(), 2U);
  EXPECT_EQ(command.parameters[0].bytes, "body");
  EXPECT_EQ(command.parameters[0].type, TypeId::bytes);
  EXPECT_EQ(command.parameters[1].bytes, std::nullopt);
}

TEST(Command, AnArrayIsLaidOutAsTheServerReadsIt) {
  Array array(TypeId::text);
  array.add("ab");
  array.addNull();

  const std::string expected("\0\0\0\1\0\0\0\1\0\0\0\x19\0\0\0\2\0\0\0\1\0\0\0\2ab\xff\xff\xff\xff", 30);
  EXPECT_EQ(array.parameter().bytes, expected);
  EXPECT_EQ(array.parameter().type, TypeId::textArray);
}

TEST(Command, AnArrayOfIntegersHasTheirType) {
  Array array(TypeId::bigint);
  array.add(std::int64_t{258});

  const std::string expected("\0\0\0\1\0\0\0\1\0\0\0\x14\0\0\0\1\0\0\0\1\0\0\0\x8\0\0\0\0\0\0\1\2", 32);
  EXPECT_EQ(array.parameter().bytes, expected);
  EXPECT_EQ(array.parameter().type, TypeId::bigintArray);
}

}  // namespace
}  // namespace tenure::postgresql
