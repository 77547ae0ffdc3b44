/// Signatures of calls: the example of the standard's libraries, and what each part binds.
#include "webhook/signature.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/base64.hpp"
#include "support/results.hpp"

namespace tenure::webhook {
namespace {

using test::failsWith;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

const Secret example = parseSecret("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw").value();
const Signed call{.id = "msg_p5jXN8AQM9LWM0D4loKWxJek", .timestamp = 1614265330, .body = R"({"test": 2432232314})"};

// shows: webhooks/signed-as-standard
TEST(Signature, IsTheOneOfTheStandardsExample) {
  EXPECT_EQ(signatureOf(call, {&example, 1}, nullptr), "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=");
}

TEST(Signature, HasOneForEachSecretWhileTheyAreRotated) {
  const std::vector<Secret> both{newSecret(), example};

  const std::string all = signatureOf(call, both, nullptr);

  EXPECT_TRUE(isSignedBy(call, all, {&both[0], 1}));
  EXPECT_TRUE(isSignedBy(call, all, {&both[1], 1}));
  const Secret other = newSecret();
  EXPECT_FALSE(isSignedBy(call, all, {&other, 1}));
}

TEST(Signature, BindsIdTimeAndBody) {
  const std::string signature = signatureOf(call, {&example, 1}, nullptr);
  for (const Signed& changed :
       {Signed{"msg_other", call.timestamp, call.body}, Signed{call.id, call.timestamp + 1, call.body},
        Signed{call.id, call.timestamp, R"({"test": 1})"}})
    EXPECT_FALSE(isSignedBy(changed, signature, {&example, 1}));
}

TEST(Signature, ByAKeyHasItsOwnName) {
  const SigningKey key = parseSigningKey("whsk_" + base64(std::string(32, 'k'))).value();

  EXPECT_THAT(signatureOf(call, {}, &key), StartsWith("v1a,"));
  EXPECT_THAT(publicKeyOf(key), StartsWith("whpk_"));
  EXPECT_EQ(parseSigningKey("whsk_" + base64(std::string(64, 'k')))->seed, key.seed);
}

TEST(Signature, ASecretThatIsNoneIsRefusedWithoutRepeatingIt) {
  for (const std::string text : {"", "sesame", "whsec_", "whsec_c2hvcnQ=", "whsec_not base64 at all"}) {
    const auto refused = parseSecret(text);
    ASSERT_THAT(refused, failsWith(Errc::invalidArgument)) << text;
    EXPECT_THAT(refused.error().detail, Not(HasSubstr("sesame")));
  }
  EXPECT_THAT(parseSigningKey("whsk_c2hvcnQ="), failsWith(Errc::invalidArgument));
}

TEST(Signature, EachEndpointHasASecretOfItsOwn) {
  const Secret one = secretFor(example, "https://a.example:443/hook");

  EXPECT_EQ(one.bytes, secretFor(example, "https://a.example:443/hook").bytes);
  EXPECT_NE(one.bytes, secretFor(example, "https://b.example:443/hook").bytes);
  EXPECT_NE(one.bytes, secretFor(newSecret(), "https://a.example:443/hook").bytes);
  EXPECT_TRUE(parseSecret(textOf(one)));
}

TEST(Signature, AnIdOfOneQueueIsNoneOfAnother) {
  EXPECT_EQ(webhookId("orders", "42"), "orders:42");
  EXPECT_EQ(webhookId("a.b", "c:d e"), "a%2Eb:c%3Ad%20e");
  EXPECT_NE(webhookId("a", "b:c"), webhookId("a:b", "c"));
}

TEST(Signature, TheOrderBindsEachOfItsFields) {
  const Order order{.election = "orders", .group = "anna", .token = 7, .number = 3};
  const std::string value = orderOf(call, order, example);
  EXPECT_THAT(value, StartsWith("v1,7,3,"));
  for (const Order& changed :
       {Order{"orders2", "anna", 7, 3}, Order{"orders", "ann", 7, 3}, Order{"ordersa", "nna", 7, 3}})
    EXPECT_NE(orderOf(call, changed, example), value);
  EXPECT_THAT(orderOf(call, {.election = "orders", .group = {}, .token = 7}, example), StartsWith("v1,7,,"));
}

}  // namespace
}  // namespace tenure::webhook
