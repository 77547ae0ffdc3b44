// What a sink takes, what it refuses, and that a refusal stores nothing.
#include "conformance/source/source_suite.hpp"

namespace tenure::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

TEST_P(SourceSuite, AnEmptyBatchIsFine) {
  EXPECT_THAT(sink_->append({}), succeeds());

  EXPECT_THAT(look(consumerWith(7)), IsEmpty());
}

TEST_P(SourceSuite, Row29ABodyOverTheLimitIsRefusedWithItsWholeBatch) {
  const std::vector messages{messageWith("fine"), messageWith("huge", std::string(maxBodyBytes + 1, 'x'))};

  const Result<void> appended = sink_->append(messages);

  EXPECT_THAT(appended, failsWith(Errc::payloadTooLarge));
  EXPECT_THAT(appended.error().detail, HasSubstr("huge"));
  EXPECT_THAT(look(consumerWith(7)), IsEmpty());
}

TEST_P(SourceSuite, Row29HeadersOverTheLimitAreRefused) {
  NewMessage message = messageWith("m");
  message.headers = {{"name", std::string(maxHeaderBytes, 'x')}};

  EXPECT_THAT(sink_->append(std::vector{message}), failsWith(Errc::payloadTooLarge));
}

TEST_P(SourceSuite, Row29AMissingOrOverlongIdIsRefused) {
  EXPECT_THAT(sink_->append(std::vector{messageWith("")}), failsWith(Errc::invalidArgument));
  EXPECT_THAT(sink_->append(std::vector{messageWith(std::string(256, 'x'))}), failsWith(Errc::invalidArgument));
  EXPECT_THAT(sink_->append(std::vector{messageWith(std::string("a\0b", 3))}), failsWith(Errc::invalidArgument));
}

TEST_P(SourceSuite, Row29AnOverlongGroupIsRefused) {
  NewMessage message = messageWith("m");
  message.group = GroupId{std::string(256, 'g')};

  const Result<void> appended = sink_->append(std::vector{message});

  EXPECT_THAT(appended, failsWith(Errc::invalidArgument));
  EXPECT_THAT(appended.error().detail, HasSubstr("\"m\""));
}

TEST_P(SourceSuite, ASinkGoesOnAfterARefusal) {
  ASSERT_THAT(sink_->append(std::vector{messageWith("")}), failsWith(Errc::invalidArgument));

  produce({"a"});

  EXPECT_THAT(idsOf(look(consumerWith(7))), ElementsAre("a"));
}

TEST_P(SourceSuite, TheSameIdMayBeAppendedTwice) {
  produce({"a", "a"});

  EXPECT_THAT(idsOf(look(consumerWith(7))), ElementsAre("a", "a"));
}

}  // namespace
}  // namespace tenure::test
