#include "process/requests.hpp"

#include <gmock/gmock.h>

#include "process/ipc_channel.hpp"

namespace tenure {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::IsEmpty;

TEST(SpawnRequest, SurvivesTheWire) {
  const SpawnRequest request{BootTime{7s}, 5s, 100ms, 3, true, {"tail", "-f", ""}, {"A=b", "C="}};

  const SpawnRequest back = decodeSpawnRequest(encode(request).value()).value();

  EXPECT_EQ(back.until, request.until);
  EXPECT_EQ(back.grace, 5s);
  EXPECT_EQ(back.warning, 100ms);
  EXPECT_EQ(back.termDescriptor, 3);
  EXPECT_TRUE(back.controlGroup);
  EXPECT_THAT(back.arguments, ElementsAre("tail", "-f", ""));
  EXPECT_THAT(back.environment, ElementsAre("A=b", "C="));
}

TEST(SpawnRequest, NeedsNoEnvironment) {
  EXPECT_THAT(decodeSpawnRequest(encode({.arguments = {"true"}}).value()).value().environment, IsEmpty());
}

TEST(SpawnRequest, WithoutACommandOrWithNulInItIsRefused) {
  EXPECT_TRUE(encode({}).error().is(Errc::invalidArgument));
  EXPECT_TRUE(encode({.arguments = {"true", std::string("a\0b", 3)}}).error().is(Errc::invalidArgument));
}

TEST(SpawnRequest, BytesThatAreNoneAreRefused) {
  const std::string bytes = encode({.arguments = {"true"}}).value();

  EXPECT_FALSE(decodeSpawnRequest(""));
  EXPECT_FALSE(decodeSpawnRequest(bytes.substr(0, bytes.size() - 1)));
  EXPECT_FALSE(decodeSpawnRequest(bytes.substr(0, bytes.size() - 5)));
}

}  // namespace
}  // namespace tenure
