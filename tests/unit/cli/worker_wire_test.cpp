#include <gmock/gmock.h>

#include "cli/worker/answer.hpp"
#include "cli/worker/frame.hpp"
#include "support/results.hpp"

namespace tenure::cli::worker {
namespace {

using test::failsWith;
using test::succeeds;
using testing::HasSubstr;

TEST(WireFrames, ComeOutAsTheyWentInHoweverTheyAreCut) {
  const std::string bytes =
      bytesOf({R"({"type":"answer"})", std::string("\0\xff\n", 3)}).value() + bytesOf({R"({"type":"bye"})"}).value();
  for (std::size_t cut = 0; cut <= bytes.size(); ++cut) {
    FrameReader reader;
    std::vector<Frame> frames;
    for (const std::string_view part : {std::string_view(bytes).substr(0, cut), std::string_view(bytes).substr(cut)}) {
      reader.add(part);
      for (auto frame = reader.next().value(); frame; frame = reader.next().value()) frames.push_back(*frame);
    }
    ASSERT_EQ(frames.size(), 2U) << cut;
    EXPECT_EQ(frames[0].body, std::string("\0\xff\n", 3));
    EXPECT_EQ(frames[1].head, R"({"type":"bye"})");
    EXPECT_TRUE(reader.isEmpty());
  }
}

/// A worker that says bye and closes its connection has left in order.
TEST(WireFrames, TellsAWholeFrameThatIsLeftFromAPartOfOne) {
  const std::string bye = bytesOf({R"({"type":"bye"})"}).value();
  FrameReader reader;
  reader.add(bye.substr(0, 5));
  EXPECT_FALSE(reader.hasWhole() || reader.isEmpty());
  reader.add(bye.substr(5));
  EXPECT_TRUE(reader.hasWhole());
  reader.next().value();
  EXPECT_TRUE(!reader.hasWhole() && reader.isEmpty());
}

TEST(WireFrames, WhatIsTooLargeOrNoObjectIsRefusedBeforeItHasArrived) {
  FrameReader large;
  large.add(std::string("\0\0\0\2\1\0\0\0", 8));
  EXPECT_THAT(large.next(), failsWith(Errc::payloadTooLarge));
  EXPECT_THAT(bytesOf({"{}", std::string(largestFrame, 'x')}), failsWith(Errc::payloadTooLarge));
  for (const std::string head : {"[]", "{", "1", "{\"a\":\"\xff\"}"}) {
    FrameReader reader;
    reader.add(bytesOf({head}).value());
    EXPECT_THAT(reader.next(), failsWith(Errc::invalidArgument)) << head;
  }
}

class WireAnswers : public testing::Test {
 protected:
  static Result<Answer> answer(const std::string& rest, std::string body = {}) {
    return answerIn({R"({"type":"answer","number":"1",)" + rest + "}", std::move(body)}, MessageId{"m-1"});
  }
};

TEST_F(WireAnswers, EveryEffectIsReadWithItsPieces) {
  const Result<Answer> read = answer(
      R"("outcome":"done","later":true,"effects":[
        {"sql":"s","parameters":{"n":null,"i":{"int":"-5"},"r":{"real":1.5},"t":{"text":"x"},"b":{"bytes":[0,2]}},"rows":"1"},
        {"send":{"queue":"q","body":[2,3],"headers":[["a","1"]],"delay_ms":"500"}},
        {"send":{"queue":"q","body":[0,0],"id":"own"}},
        {"reschedule":{"id":"x","at":"2030-01-01T00:00:00Z"}},
        {"put":{"key":"k","value":[0,5]}},{"erase":{"key":"k"}}])",
      std::string("\0\xff"
                  "abc",
                  5));

  ASSERT_THAT(read, succeeds());
  const auto& sql = std::get<SqlEffect>(read->effects[0]);
  EXPECT_EQ(sql.rows, 1);
  EXPECT_EQ(sql.parameters.size(), 5U);
  EXPECT_EQ(std::get<SendEffect>(read->effects[1]).message.id.value, "m-1/2");
  EXPECT_EQ(std::get<SendEffect>(read->effects[1]).message.body, "abc");
  EXPECT_EQ(std::get<SendEffect>(read->effects[2]).message.id.value, "own");
  EXPECT_EQ(std::get<PutEffect>(read->effects[4]).value.size(), 5U);
}

TEST_F(WireAnswers, WhatIsWrongIsNamed) {
  for (const auto& [rest, why] : std::vector<std::pair<const char*, const char*>>{
           {R"("effects":[])", "\"outcome\" is missing"},
           {R"("outcome":1)", "\"outcome\" is no string"},
           {R"("outcome":"retry","after_ms":"-1")", "\"after_ms\" is not from 0 to 30 days"},
           {R"("outcome":"retry","after_ms":5)", "no whole number of 64 bits in a string"},
           {R"("outcome":"done","effects":{})", "\"effects\" is no array"},
           {R"("outcome":"done","effects":[1])", "an effect is no object"},
           {R"("outcome":"done","effects":[{}])", "expected sql, send, cancel"},
           {R"("outcome":"done","effects":[{"sql":"s","parameters":{"n":{"int":"9223372036854775808"}}}])", "\"n\""},
           {R"("outcome":"done","effects":[{"sql":"s","parameters":{"n":{"bytes":[0,1]}}}])",
            "within the frame's body"},
           {R"("outcome":"done","effects":[{"send":{"queue":"a b","body":[0,0]}}])", "\"queue\""},
           {R"("outcome":"done","effects":[{"send":{"queue":"q"}}])", "\"body\" is missing"},
           {R"("outcome":"done","effects":[{"put":{"key":"k","value":[18446744073709551615,2]}}])",
            "within the frame"}}) {
    const Result<Answer> read = answer(rest);
    EXPECT_THAT(read, failsWith(Errc::invalidArgument)) << rest;
    EXPECT_THAT(read.error().detail, HasSubstr(why)) << rest;
  }
}

}  // namespace
}  // namespace tenure::cli::worker
