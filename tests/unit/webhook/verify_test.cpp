/// What a receiver in C++ takes, and what it refuses.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/results.hpp"
#include "tenure/webhook.hpp"
#include "webhook/signature.hpp"

namespace tenure::webhook {
namespace {

using namespace std::chrono_literals;
using test::failsWith;

class VerifyTest : public testing::Test {
 protected:
  static constexpr std::int64_t stamp = 1'764'547'200;

  void SetUp() override {
    const Signed made{.id = "orders:42", .timestamp = stamp, .body = "body"};
    headers = {{"Webhook-Id", made.id},
               {"webhook-timestamp", std::to_string(stamp)},
               {"WEBHOOK-SIGNATURE", signatureOf(made, {&secret, 1}, nullptr)},
               {"tenure-election", "the%20orders"},
               {"tenure-group", "anna"},
               {"tenure-order", orderOf(made, {"the orders", "anna", 7, 3}, secret)}};
  }
  Result<WebhookCall> verify(std::string_view body = "body", std::chrono::seconds age = 0s) {
    const std::vector<std::string> secrets{textOf(secret)};
    return verifyWebhook(headers, body, secrets, WallTime{std::chrono::seconds{stamp} + age});
  }
  std::string& header(std::size_t at) { return headers[at].second; }

  Secret secret = newSecret();
  Headers headers;
};

// shows: webhooks/receivers-verify
TEST_F(VerifyTest, ASoundCallSaysWhereItStands) {
  const auto sound = verify();

  ASSERT_THAT(sound, test::succeeds());
  EXPECT_EQ(sound->id, "orders:42");
  EXPECT_EQ(sound->election, "the orders");
  EXPECT_EQ(sound->group, "anna");
  EXPECT_EQ(sound->token, FencingToken{7});
  EXPECT_EQ(sound->number, 3);
}

// shows: webhooks/receivers-verify
TEST_F(VerifyTest, AnOldAForgedAndAChangedOneAreRefused) {
  EXPECT_THAT(verify("other"), failsWith(Errc::authenticationFailed));
  EXPECT_THAT(verify("body", 301s), failsWith(Errc::authenticationFailed));
  EXPECT_THAT(verify("body", -301s), failsWith(Errc::authenticationFailed));
  EXPECT_THAT(verify("body", 299s), test::succeeds());
  header(5).replace(3, 1, "8");
  EXPECT_THAT(verify(), failsWith(Errc::authenticationFailed)) << "another token";
}

TEST_F(VerifyTest, WhatIsMissingOrMalformedIsNamed) {
  for (const char* order : {"", "v2,7,3,x", "v1,seven,3,x", "v1,7", "v1,7,three,x"}) {
    header(5) = order;
    EXPECT_THAT(verify(), failsWith(Errc::invalidArgument)) << order;
  }
  headers.pop_back();
  EXPECT_FALSE(verify()->token) << "it has no order";
  header(1) = "soon";
  EXPECT_THAT(verify(), failsWith(Errc::invalidArgument));
  headers.clear();
  EXPECT_THAT(verify(), failsWith(Errc::invalidArgument));
}

}  // namespace
}  // namespace tenure::webhook
