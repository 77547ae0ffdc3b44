#include "cli/input/intake.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>

namespace tenure::cli {
namespace {

using namespace std::chrono_literals;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

class FakeSink final : public IMessageSink {
 public:
  Result<void> append(std::span<const NewMessage> messages) override {
    largestBatch = std::max(largestBatch, messages.size());
    if (!failures.empty() && batches++ >= firstFailure) {
      const Error error = failures.back();
      failures.pop_back();
      return error;
    }
    for (const NewMessage& message : messages) {
      bodies.push_back(message.body);
      ids.push_back(message.id.value);
    }
    return {};
  }

  std::vector<std::string> bodies;
  std::vector<std::string> ids;
  std::vector<Error> failures;
  std::size_t firstFailure = 0;  // so many batches go well before
  std::size_t batches = 0;
  std::size_t largestBatch = 0;
};

/// Everything that one run of an intake did.
struct Story {
  FakeSink sink;
  IntakeCounts counts;
  std::vector<std::string> complaints;
  Result<void> outcome;
};

void feed(Story& story, const std::string& text, LineFormat format, std::chrono::milliseconds patience = 10s,
          const std::string& producer = "") {
  std::FILE* file = std::tmpfile();
  ASSERT_EQ(std::fwrite(text.data(), 1, text.size(), file), text.size());
  std::rewind(file);
  LineReader reader(fileno(file), longestLine(format));
  const auto complain = [&](std::int64_t number, const std::string& why) {
    story.complaints.push_back(std::to_string(number) + ": " + why);
  };
  Intake intake(reader, {.format = format, .producer = producer}, story.sink, complain, patience);
  story.outcome = intake.run();
  story.counts = intake.counts();
  std::fclose(file);
}

std::string lines(int count) {
  std::string text;
  for (int i = 0; i < count; ++i) text += "line\n";
  return text;
}

TEST(Intake, StoresEveryLineInOrder) {
  Story story;
  feed(story, "a\nb\n\nc", LineFormat::lines);

  EXPECT_TRUE(story.outcome);
  EXPECT_THAT(story.sink.bodies, ElementsAre("a", "b", "", "c"));
  EXPECT_EQ(story.counts.stored, 4);
}

TEST(Intake, CountsWhatMayBeStoredApart) {
  Story story;
  story.sink.failures = {Error{Errc::outcomeUnknown}};
  story.sink.firstFailure = 1;
  feed(story, "a\nb\n", LineFormat::lines);

  EXPECT_FALSE(story.outcome);
  EXPECT_EQ(story.counts.stored, 0);
  EXPECT_EQ(story.counts.unknown, 2);
}

TEST(Intake, ABadLineIsToldWithItsNumberAndStopsNothing) {
  Story story;
  feed(story, "{\"body\":\"a\"}\nnonsense\n{\"body\":\"c\"}\n", LineFormat::jsonl);

  EXPECT_TRUE(story.outcome);
  EXPECT_THAT(story.sink.bodies, ElementsAre("a", "c"));
  EXPECT_THAT(story.complaints, ElementsAre(HasSubstr("2: ")));
  EXPECT_EQ(story.counts.bad, 1);
}

TEST(Intake, ALineThatIsTooLongIsToldWithItsSizeAndTheLimit) {
  Story story;
  const std::size_t limit = longestLine(LineFormat::lines);
  feed(story, "a\n" + std::string(limit + 100'000, 'x') + "\nb\n", LineFormat::lines);

  EXPECT_THAT(story.sink.bodies, ElementsAre("a", "b"));
  EXPECT_THAT(story.complaints,
              ElementsAre(AllOf(HasSubstr("2: "), HasSubstr(std::to_string(limit + 100'000) + " bytes"),
                                HasSubstr("at most " + std::to_string(limit)))));
}

TEST(Intake, AProducersOwnIdsAreKeptApartFromOthers) {
  Story story;
  const std::string tooLong(252, 'x');

  feed(story,
       R"({"id":"1","body":"a"})"
       "\n"
       R"({"id":")" +
           tooLong +
           R"(","body":"b"})"
           "\n",
       LineFormat::jsonl, 10s, "shop");

  EXPECT_THAT(story.sink.ids, ElementsAre("shop/1"));
  EXPECT_THAT(story.complaints, ElementsAre(HasSubstr("1 to 255 bytes")));
}

TEST(Intake, KeepsAtMostOneBatchInMemory) {
  Story story;
  feed(story, lines(10'000), LineFormat::lines);

  EXPECT_EQ(story.counts.stored, 10'000);
  EXPECT_LE(story.sink.largestBatch, 512U);
}

TEST(Intake, ABusyQueueIsTriedAgain) {
  Story story;
  story.sink.failures.assign(3, Error{Errc::storeBusy});
  feed(story, "a\n", LineFormat::lines);

  EXPECT_TRUE(story.outcome);
  EXPECT_THAT(story.sink.bodies, ElementsAre("a"));
}

TEST(Intake, AQueueThatStaysBusyEndsIt) {
  Story story;
  story.sink.failures.assign(3, Error{Errc::storeBusy});
  feed(story, "a\n", LineFormat::lines, 0s);

  ASSERT_FALSE(story.outcome);
  EXPECT_TRUE(story.outcome.error().is(Errc::storeBusy));
  EXPECT_EQ(story.counts.stored, 0);
}

TEST(Intake, AFullDiskEndsItAndWhatWasStoredBeforeIsCounted) {
  Story story;
  story.sink.failures = {Error{Errc::storeFull}};
  story.sink.firstFailure = 2;  // after the empty one that makes the queue
  feed(story, lines(600), LineFormat::lines);

  ASSERT_FALSE(story.outcome);
  EXPECT_TRUE(story.outcome.error().is(Errc::storeFull));
  EXPECT_EQ(story.counts.stored, 512);
  EXPECT_EQ(story.counts.nextLine, 513);
}

}  // namespace
}  // namespace tenure::cli
