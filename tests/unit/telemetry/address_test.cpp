#include "telemetry/http/address.hpp"

#include <gtest/gtest.h>

namespace tenure::telemetry {
namespace {

// shows: watch/loopback-host-named
TEST(HttpAddress, IsOnLoopbackWhereNoHostIsNamed) {
  for (const char* text : {"9464", ":9464", "localhost:9464", "127.0.0.1:9464"}) {
    const auto address = parseAddress(text);
    ASSERT_TRUE(address) << text;
    EXPECT_EQ(address->text(), "127.0.0.1:9464") << text;
    EXPECT_TRUE(address->isLoopback());
  }
}

TEST(HttpAddress, MayBeAnyIpAddress) {
  EXPECT_EQ(parseAddress("0.0.0.0:80")->text(), "0.0.0.0:80");
  EXPECT_FALSE(parseAddress("0.0.0.0:80")->isLoopback());
  EXPECT_EQ(parseAddress("[::1]:80")->text(), "[::1]:80");
  EXPECT_TRUE(parseAddress("[::1]:80")->isLoopback());
}

TEST(HttpAddress, MayBeASocketInTheFileSystem) {
  const auto address = parseAddress("unix:/run/orders.sock");
  ASSERT_TRUE(address);
  EXPECT_TRUE(address->isUnix());
  EXPECT_EQ(address->text(), "unix:/run/orders.sock");
}

TEST(HttpAddress, RefusesWhatIsNone) {
  for (const char* text : {"", "http", "65536", "-1", "host:80", "1.2.3:80", "::1:80", "[::1]", "127.0.0.1:", "unix:"})
    EXPECT_FALSE(parseAddress(text)) << text;
  EXPECT_FALSE(parseAddress("unix:" + std::string(108, 'x')));
}

// shows: watch/server-loopback-reached
TEST(HttpAddress, KnowsAForeignNameOfAServerForItsOwnMachine) {
  const Address own{"127.0.0.1", 80};
  for (const char* host : {"localhost", "localhost:80", "127.0.0.1:80", "[::1]:80", "10.1.2.3"})
    EXPECT_FALSE(isForeignHost(host, own)) << host;
  for (const char* host : {"evil.example", "evil.example:80", "localhost.evil.example", "127.0.0.1.evil.example"})
    EXPECT_TRUE(isForeignHost(host, own)) << host;
  EXPECT_FALSE(isForeignHost("db1.internal:80", Address{"0.0.0.0", 80})) << "names of other machines are not known";
}

}  // namespace
}  // namespace tenure::telemetry
