/// Which URLs and which addresses may be called.
#include "webhook/endpoint.hpp"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "support/results.hpp"
#include "webhook/address.hpp"

namespace tenure::webhook {
namespace {

using test::failsWith;
using testing::HasSubstr;
using testing::Not;

// shows: webhooks/nobodys-tunnel
TEST(Endpoint, IsAUrlWithoutAUser) {
  for (const char* url :
       {"", "orders", "ftp://a.example/", "file:///etc/passwd", "gopher://a.example/", "https://user@a.example/",
        "https://@a.example/", "https://:@a.example/", "https://user:sesame@a.example/", "https://a.example/ b",
        "https://a.example/\xc3\xa9", "https://a.example:99999/"}) {
    const auto refused = parseEndpoint(url);
    ASSERT_THAT(refused, failsWith(Errc::invalidArgument)) << url;
    EXPECT_THAT(refused.error().detail, Not(HasSubstr("sesame")));
  }
  EXPECT_THAT(parseEndpoint("https://a.example/" + std::string(8192, 'x')), failsWith(Errc::invalidArgument));
}

TEST(Endpoint, IsUnderstoodAsItIsCalled) {
  const Endpoint endpoint = parseEndpoint("HTTPS://A.Example/one/../two/./three?q=1#part").value();

  EXPECT_EQ(endpoint.address(), "https://a.example:443/two/three");
  EXPECT_THAT(endpoint.url, HasSubstr("?q=1"));
  EXPECT_THAT(endpoint.url, Not(HasSubstr("#")));
}

bool isAllowedBelow(const char* prefix, const char* url) {
  const Endpoint allowed = parseEndpoint(prefix).value();
  return isAllowed(parseEndpoint(url).value(), {&allowed, 1});
}

// shows: webhooks/nobodys-tunnel
TEST(Endpoint, APrefixEndsWhereAPartOfThePathDoes) {
  EXPECT_TRUE(isAllowedBelow("https://a.example/hooks", "https://a.example/hooks"));
  EXPECT_TRUE(isAllowedBelow("https://a.example/hooks", "https://a.example:443/hooks/7?x=1"));
  EXPECT_TRUE(isAllowedBelow("https://a.example/hooks/", "https://a.example/hooks/7"));
  EXPECT_TRUE(isAllowedBelow("https://a.example", "https://a.example/whatever"));
  EXPECT_FALSE(isAllowedBelow("https://a.example/hooks", "https://a.example/hooks2"));
  EXPECT_FALSE(isAllowedBelow("https://a.example/hooks", "https://a.example/hooks/../admin"));
  for (const char* climb : {"%2e%2e", "..%2fadmin", "%2E%2E", "..;", "a%5C.."})
    EXPECT_FALSE(isAllowedBelow("https://a.example/hooks", ("https://a.example/hooks/" + std::string(climb)).c_str()));
  EXPECT_FALSE(isAllowedBelow("https://a.example/hooks", "http://a.example/hooks"));
  EXPECT_FALSE(isAllowedBelow("https://a.example/hooks", "https://a.example:8443/hooks"));
  EXPECT_FALSE(isAllowedBelow("https://a.example", "https://a.example.evil.test/"));
  EXPECT_FALSE(isAllowedBelow("https://a.example", "https://evil.test/https://a.example"));
}

bool isGlobalText(const char* text) {
  sockaddr_storage storage{};
  auto& four = reinterpret_cast<sockaddr_in&>(storage);
  auto& six = reinterpret_cast<sockaddr_in6&>(storage);
  if (inet_pton(AF_INET, text, &four.sin_addr) == 1) {
    storage.ss_family = AF_INET;
  } else {
    EXPECT_EQ(inet_pton(AF_INET6, text, &six.sin6_addr), 1) << text;
    storage.ss_family = AF_INET6;
  }
  return isGlobal(reinterpret_cast<const sockaddr&>(storage));
}

// shows: webhooks/nobodys-tunnel
TEST(Address, OfASpecialPurposeIsNotGlobal) {
  for (const char* text : {"0.0.0.0",
                           "0.1.2.3",
                           "10.0.0.1",
                           "100.64.0.1",
                           "100.127.255.255",
                           "127.0.0.1",
                           "127.255.0.1",
                           "169.254.169.254",
                           "172.16.0.1",
                           "172.31.255.255",
                           "192.0.0.1",
                           "192.0.2.1",
                           "192.88.99.1",
                           "192.168.1.1",
                           "198.18.0.1",
                           "198.19.255.255",
                           "198.51.100.7",
                           "203.0.113.9",
                           "224.0.0.1",
                           "239.1.1.1",
                           "240.0.0.1",
                           "255.255.255.255",
                           "::",
                           "::1",
                           "::ffff:10.0.0.1",
                           "::ffff:127.0.0.1",
                           "64:ff9b::7f00:1",
                           "64:ff9b::a9fe:a9fe",
                           "64:ff9b:1::1",
                           "100::1",
                           "2001::1",
                           "2001:2::1",
                           "2001:10::1",
                           "2001:db8::1",
                           "2002:7f00:1::",
                           "3fff::1",
                           "5f00::1",
                           "fc00::1",
                           "fd12:3456::1",
                           "fe80::1",
                           "fec0::1",
                           "ff02::1",
                           "::127.0.0.1"})
    EXPECT_FALSE(isGlobalText(text)) << text;
}

TEST(Address, OfTheNetIsGlobal) {
  for (const char* text :
       {"1.1.1.1", "8.8.8.8", "100.63.255.255", "100.128.0.1", "172.15.0.1", "172.32.0.1", "192.0.0.9", "192.31.196.1",
        "198.17.0.1", "198.20.0.1", "223.255.255.254", "2606:4700::1111", "2a00:1450::1", "2001:4860::8888",
        "2001:1::1", "2001:20::1", "::ffff:8.8.8.8", "64:ff9b::808:808"})
    EXPECT_TRUE(isGlobalText(text)) << text;
}

}  // namespace
}  // namespace tenure::webhook
