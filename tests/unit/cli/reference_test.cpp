/// What is made of a command's page and its options; that docs/reference is what they give is tests/tidy's to say.
#include "cli/output/reference.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <regex>

#include "cli/commands/commands.hpp"

namespace tenure::cli {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

struct Values {
  std::size_t lanes = 4;
  std::chrono::milliseconds wait{50};
  std::string file;
  bool all = false;
};

Command commandOf(Values& values) {
  return {.name = "sort mail",
          .about = "Sort what came",
          .groups = {{"Options",
                      {{"--lanes", count(values.lanes, {1, 8}), "Number of lanes"},
                       {"--wait",
                        duration(values.wait, {std::chrono::milliseconds{0}, std::chrono::hours{1}}),
                        "Time until it gives up",
                        {.idle = {{"with --all", [&values] { return values.all; }, "all is at once"}}}},
                       {"--file", text(values.file, "FILE"), "Where a|b is", {.required = true}},
                       {"--all", flag(values.all), "All of it", {.momentary = true}}}}},
          .help = "A first paragraph.\n\n.dots and \\ slashes\n  stay  as they\n  stand\n",
          .act = [] { return Exit::done; }};
}

std::string textOf(const std::vector<Document>& documents, const std::string& path) {
  for (const Document& document : documents)
    if (document.path == path) return document.text;
  return "no such page";
}

TEST(Reference, KeepsWhatIsIndentedAsItStands) {
  const std::vector<Block> blocks = blocksOf("one\ntwo\n  a   b\n  c\nthree\n\nfour\n");

  ASSERT_EQ(blocks.size(), 4U);
  EXPECT_EQ(blocks[0].text, "one\ntwo");
  EXPECT_TRUE(blocks[1].isLiteral);
  EXPECT_EQ(blocks[1].text, "a   b\nc");
  EXPECT_EQ(blocks[2].text, "three");
  EXPECT_EQ(blocks[3].text, "four");
}

TEST(Count, WithoutLimitsTakesWhatItsTypeHoldsAndAnIntegerCanSay) {
  std::size_t many = 0;
  std::uint16_t few = 0;

  EXPECT_TRUE(count(many).take("9223372036854775807"));
  EXPECT_EQ(many, 9223372036854775807U);
  EXPECT_FALSE(count(many).take("9223372036854775808"));
  EXPECT_FALSE(count(many).take("-1"));
  EXPECT_TRUE(count(few).take("65535"));
  EXPECT_FALSE(count(few).take("65536"));
  EXPECT_EQ(count(few, {1, 9}).expected, "a whole number from 1 to 9");
}

TEST(Reference, HasARowForEachOption) {
  Values values;
  Command group{.name = "sort", .about = "Sort"};

  const std::string page = textOf(referencePages({group, commandOf(values)}), "commands/sort.md");

  EXPECT_THAT(page,
              AllOf(HasSubstr("| `--lanes N` | Number of lanes. | 1 to 8 | 4 | `TENURE_LANES` |"),
                    HasSubstr("| Time until it gives up. Does nothing with --all: all is at once. | 0s to 1h | "
                              "50ms | `TENURE_WAIT` |"),
                    HasSubstr("| Where a\\|b is. |  | required | `TENURE_FILE` |"),
                    HasSubstr("| `--all` | All of it. |  |  |  |"), HasSubstr("```text\nstay  as they\nstand\n```")));
}

TEST(Reference, AManualPageHasNothingThatCommandsItsFormatter) {
  Values values;

  const std::string page = textOf(manualPages({commandOf(values)}, "1.2"), "tenure-sort-mail.1");

  EXPECT_THAT(page, AllOf(HasSubstr("\n\\&.dots and \\e slashes\n"), HasSubstr("\n.B \\-\\-lanes N\n"),
                          HasSubstr("(1 to 8; default 4)."), HasSubstr("Environment: TENURE_LANES.")));
}

TEST(Reference, TellsOfEachKeyWhoTakesIt) {
  Values values;
  Command other = commandOf(values);
  other.name = "other";

  const std::vector<Setting> settings = settingsOf({commandOf(values), other});

  ASSERT_EQ(settings.size(), 4U);
  EXPECT_EQ(settings[0].key, "all");
  EXPECT_EQ(settings[0].variable, "");
  EXPECT_EQ(settings[3].variable, "TENURE_WAIT");
  EXPECT_THAT(settings[3].commands, ElementsAre("sort mail", "other"));
}

TEST(Reference, NamesOnlyFieldsThatTheLibraryHas) {
  std::string headers;
  for (const char* header : {"consumer.hpp", "candidate.hpp", "webhook.hpp"}) {
    std::ifstream in(std::string(TENURE_SOURCE_DIR "/include/tenure/") + header);
    headers.append(std::istreambuf_iterator<char>(in), {});
  }
  std::vector<std::string> strange;
  for (const Command& command : commands({}, {}))
    for (const Option& option : command.options()) {
      const std::string& field = option.ties.field;
      if (field.empty()) continue;
      const std::string member = field.substr(0, field.find('.')).substr(field.find("::") + 2);
      if (!std::regex_search(headers, std::regex("\\b" + member + "(\\{|;| = )"))) strange.push_back(field);
    }
  EXPECT_THAT(strange, IsEmpty());
}

}  // namespace
}  // namespace tenure::cli
