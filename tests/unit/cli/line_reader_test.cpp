#include "cli/input/line_reader.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <thread>

namespace tenure::cli {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

/// Text on a descriptor, written by a thread of its own as fast as it is read.
class Input {
 public:
  explicit Input(std::string text) {
    EXPECT_EQ(::pipe(ends_.data()), 0);
    writer_ = std::thread([this, text = std::move(text)] {
      for (std::size_t at = 0; at < text.size();) {
        const ssize_t n = ::write(ends_[1], text.data() + at, text.size() - at);
        if (n <= 0) break;
        at += static_cast<std::size_t>(n);
      }
      ::close(ends_[1]);
    });
  }
  ~Input() {
    writer_.join();
    ::close(ends_[0]);
  }
  int descriptor() const { return ends_[0]; }

 private:
  std::array<int, 2> ends_{};
  std::thread writer_;
};

std::vector<std::string> linesOf(std::string text, std::size_t limit = 1000) {
  Input input(std::move(text));
  LineReader reader(input.descriptor(), limit);
  std::vector<std::string> lines;
  while (true) {
    const auto line = reader.next();
    EXPECT_TRUE(line);
    if (!line || !*line) return lines;
    EXPECT_EQ((*line)->number, static_cast<std::int64_t>(lines.size()) + 1);
    lines.push_back((*line)->tooLong ? "TOO LONG" : std::string((*line)->text));
  }
}

TEST(LineReader, AnEmptyInputHasNoLine) { EXPECT_THAT(linesOf(""), IsEmpty()); }

TEST(LineReader, EmptyLinesAreLines) { EXPECT_THAT(linesOf("\n\n"), ElementsAre("", "")); }

TEST(LineReader, ALastLineWithoutABreakCounts) { EXPECT_THAT(linesOf("a\nb"), ElementsAre("a", "b")); }

TEST(LineReader, KeepsEveryOtherByte) {
  const std::string bytes{'a', '\r', '\0', '\x7f', '\x1b'};
  EXPECT_THAT(linesOf(bytes + "\n"), ElementsAre(bytes));
}

TEST(LineReader, ALineOverTheLimitIsSkippedAndTheNextIsRead) {
  EXPECT_THAT(linesOf("a\n" + std::string(11, 'x') + "\nb", 10), ElementsAre("a", "TOO LONG", "b"));
  EXPECT_THAT(linesOf("a\n" + std::string(1'000'000, 'x') + "\nb", 10), ElementsAre("a", "TOO LONG", "b"));
  EXPECT_THAT(linesOf(std::string(1'000'000, 'x'), 10), ElementsAre("TOO LONG"));
}

TEST(LineReader, LinesMayCrossItsChunks) {
  std::string text;
  for (int i = 0; i < 300; ++i) text += std::string(777, static_cast<char>('a' + i % 26)) + "\n";
  const auto lines = linesOf(text);

  ASSERT_EQ(lines.size(), 300U);
  EXPECT_EQ(lines[299], std::string(777, static_cast<char>('a' + 299 % 26)));
}

TEST(LineReader, SaysWhetherALineIsReadyWithoutWaiting) {
  std::array<int, 2> ends{};
  ASSERT_EQ(::pipe(ends.data()), 0);
  LineReader reader(ends[0], 100);

  EXPECT_FALSE(reader.isReady());
  ASSERT_EQ(::write(ends[1], "a\nb\n", 4), 4);
  EXPECT_TRUE(reader.isReady());
  ASSERT_TRUE(reader.next());
  EXPECT_TRUE(reader.isReady());
  ASSERT_TRUE(reader.next());
  EXPECT_FALSE(reader.isReady());
  ::close(ends[0]);
  ::close(ends[1]);
}

TEST(LineReader, AnInputThatCannotBeReadIsAnError) {
  LineReader reader(-1, 100);
  EXPECT_FALSE(reader.next());
}

}  // namespace
}  // namespace tenure::cli
