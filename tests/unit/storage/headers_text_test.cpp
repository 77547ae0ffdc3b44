#include <gmock/gmock.h>

#include "base/text.hpp"
#include "messages/headers.hpp"
#include "support/results.hpp"

namespace tenure::storage {
namespace {

using test::failsWith;

TEST(HeadersText, KeepsOrderAndRepeatedNames) {
  const Headers headers{{"b", "1"}, {"a", "\"quoted\"\n"}, {"b", ""}};

  EXPECT_EQ(messages::headersFromText(messages::headersToText(headers).value().value()).value(), headers);
}

TEST(HeadersText, IsNothingForNoHeaders) {
  EXPECT_EQ(messages::headersToText({}).value(), std::nullopt);
  EXPECT_EQ(messages::headersFromText("").value(), Headers{});
}

TEST(HeadersText, RefusesWhatIsNotUtf8UnlessItMustBeKept) {
  EXPECT_THAT(messages::headersToText({{"a", "\xff"}}), failsWith(Errc::invalidArgument));
  EXPECT_TRUE(messages::headersToTextAnyhow({{"a", "\xff"}}).has_value());
}

TEST(HeadersText, DamagedIsAnErrorNotACrash) {
  EXPECT_THAT(messages::headersFromText("[[1,"), failsWith(Errc::storeFailed));
  EXPECT_THAT(messages::headersFromText("{}"), failsWith(Errc::storeFailed));
  EXPECT_THAT(messages::headersFromText("[[\"a\"]]"), failsWith(Errc::storeFailed));
}

TEST(HeadersText, WhatIsDamagedIsToldEscaped) {
  const auto damaged = messages::headersFromText("[[\"\x1b\xff");
  EXPECT_EQ(printable(damaged.error().message()), damaged.error().message());
}

}  // namespace
}  // namespace tenure::storage
