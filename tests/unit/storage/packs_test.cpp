// Many messages in the body of one: written, read, and hostile.
#include "messages/packs.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "support/results.hpp"

namespace tenure::storage {
namespace {

using test::failsWith;
using test::succeeds;
using testing::ElementsAreArray;

NewMessage with(std::string body, Headers headers = {{std::string(messages::packHeader), "1"}}) {
  return {MessageId{"p"}, GroupId{"g"}, std::move(body), std::move(headers)};
}

/// Its content as JSON has it.
NewMessage packWith(const std::string& content) {
  std::string body;
  nlohmann::json::to_msgpack(nlohmann::json::parse(content), nlohmann::detail::output_adapter<char>(body));
  return with(std::move(body));
}

// shows: sending/many-messages-may
TEST(Packs, GiveBackWhatWasPackedByteForByte) {
  const std::vector<NewMessage> messages{
      {MessageId{"o-1"}, GroupId{"o"}, R"({"paid":true})", {{"source", "shop"}, {"source", "twice"}, {"", ""}}},
      {MessageId{std::string("\xFF\x00", 2)}, GroupId{"\x80"}, std::string("\0\xFE\xFF", 3), {{"bytes", "\xC3"}}},
      {MessageId{"o-2"}, GroupId{}, std::string(300'000, 'x'), {}}};

  const NewMessage pack = messages::packOf(messages);

  EXPECT_TRUE(messages::isPack(pack));
  EXPECT_FALSE(messages::isPack(messages[0]));
  EXPECT_EQ(pack.id, messages[0].id);
  EXPECT_EQ(pack.group, messages[0].group);
  EXPECT_EQ(pack.headers, (Headers{{"tenure-pack", "3"}}));
  const auto back = messages::messagesIn(pack);
  ASSERT_THAT(back, succeeds());
  EXPECT_THAT(*back, ElementsAreArray(messages));
}

/// So does any library of MessagePack.
TEST(Packs, AreReadFromWhatAnotherProgramWrote) {
  const auto read =
      messages::messagesIn(packWith(R"([["o-1", "o", "body", [["source", "shop"]]], ["o-2", "", "", []]])"));

  ASSERT_THAT(read, succeeds());
  EXPECT_EQ((*read)[0], (NewMessage{MessageId{"o-1"}, GroupId{"o"}, "body", {{"source", "shop"}}}));
  EXPECT_EQ((*read)[1], (NewMessage{MessageId{"o-2"}, {}, {}, {}}));
}

// shows: sending/body-says-pack
TEST(Packs, ThatAreNoneAreRefused) {
  for (const char* content :
       {R"([])", R"("text")", R"([[]])", R"([["id", "group", "body"]])", R"([["id", "group", [], []]])",
        R"([["id", "group", "body", [], []]])", R"([["id", "group", "body", "headers"]])",
        R"([["id", "group", "body", [["name"]]]])", R"([["id", "group", "body", [["name", "value", "more"]]]])",
        R"([["id", "group", "body", ["name"]]])", R"([["id", "group", "body", {"name": "value"}]])",
        R"([["id", 7, "body", []]])", R"([["id", null, "body", []]])", R"([{"id": "o-1"}])"})
    EXPECT_THAT(messages::messagesIn(packWith(content)), failsWith(Errc::invalidArgument)) << content;
  EXPECT_THAT(messages::messagesIn(with("")), failsWith(Errc::invalidArgument));
  EXPECT_THAT(messages::messagesIn(with(std::string(1U << 20U, '\x91'))), failsWith(Errc::invalidArgument))
      << "a million arrays";
}

// shows: sending/body-says-pack
TEST(Packs, ThatAreCutOffAreRefused) {
  const NewMessage pack = messages::packOf(std::vector<NewMessage>{{MessageId{"a"}, GroupId{"g"}, "body", {{"n", "v"}}},
                                                                   {MessageId{"b"}, GroupId{"g"}, "body", {}}});
  for (std::size_t length = 0; length < pack.body.size(); ++length)
    EXPECT_THAT(messages::messagesIn(with(pack.body.substr(0, length))), failsWith(Errc::invalidArgument)) << length;
  EXPECT_THAT(messages::messagesIn(with(pack.body + "x")), failsWith(Errc::invalidArgument));
}

}  // namespace
}  // namespace tenure::storage
