#include "telemetry/line_writer.hpp"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>

#include "tenure/events.hpp"

namespace tenure {
namespace {

using testing::EndsWith;
using testing::HasSubstr;
using testing::StartsWith;

/// A pipe whose reader is the test.
class Pipe {
 public:
  Pipe() { EXPECT_EQ(::pipe2(ends_.data(), O_CLOEXEC), 0); }
  ~Pipe() {
    closeReader();
    ::close(ends_[1]);
  }
  int writer() const { return ends_[1]; }
  void closeReader() {
    if (ends_[0] >= 0) ::close(std::exchange(ends_[0], -1));
  }
  std::string read() {
    std::string bytes(1U << 20U, '\0');
    const ssize_t got = ::read(ends_[0], bytes.data(), bytes.size());
    bytes.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
    return bytes;
  }

 private:
  std::array<int, 2> ends_{};
};

TEST(LineWriter, WritesALineAndItsBreak) {
  Pipe pipe;
  LineWriter writer(pipe.writer());

  writer.write("hello");

  EXPECT_EQ(pipe.read(), "hello\n");
}

TEST(LineWriter, AReaderThatStoppedReadingCostsLinesNotTime) {
  Pipe pipe;
  LineWriter writer(pipe.writer());
  const std::string line(1000, 'x');

  for (int i = 0; i < 1000; ++i) writer.write(line);

  EXPECT_GT(writer.lost(), 0U);
}

TEST(LineWriter, SaysHowManyLinesWereLostOnceItCanWriteAgain) {
  Pipe pipe;
  LineWriter writer(pipe.writer());
  while (writer.lost() < 3) writer.write(std::string(1000, 'x'));

  pipe.read();
  writer.write("back again");

  const std::string text = pipe.read();
  EXPECT_THAT(text, HasSubstr(" warn log_lines_lost count=3\n"));
  EXPECT_THAT(text, EndsWith("back again\n"));
  EXPECT_EQ(writer.lost(), 0U);
}

TEST(LineWriter, AClosedPipeCostsLinesNotTheProcess) {
  Pipe pipe;
  LineWriter writer(pipe.writer());
  pipe.closeReader();

  writer.write("to nobody");  // SIGPIPE would end the test here

  EXPECT_EQ(writer.lost(), 1U);
}

TEST(LineWriter, AFullDiskCostsLinesNotTheProcess) {
  const int full = ::open("/dev/full", O_WRONLY | O_CLOEXEC);
  LineWriter writer(full);

  writer.write("no room");

  EXPECT_EQ(writer.lost(), 1U);
  ::close(full);
}

TEST(LogSink, DropsWhatIsBelowItsLevel) {
  testing::internal::CaptureStderr();
  const auto log = makeLogSink(Level::warn);

  log->on(Event{WallTime{}, {"orders"}, {7}, TermBegan{}});
  log->on(Event{WallTime{}, {"orders"}, {7}, Warned{"clock stepped"}});

  EXPECT_EQ(testing::internal::GetCapturedStderr(),
            "1970-01-01T00:00:00.000Z warn warned election=orders token=7 what=\"clock stepped\"\n");
}

// shows: watch/log-format-json
TEST(LogSink, WritesAnObjectALineWithTheSameNames) {
  testing::internal::CaptureStderr();
  const auto log = makeLogSink(Level::info, {"shop 1"}, LogFormat::json);

  log->on(Event{WallTime{}, {"orders"}, {7}, Warned{"clock \"stepped\""}});

  EXPECT_EQ(testing::internal::GetCapturedStderr(),
            R"({"at":"1970-01-01T00:00:00.000Z","level":"warn","event":"warned","election":"orders","id":"shop 1",)"
            R"("token":"7","what":"clock \"stepped\""})"
            "\n");
}

// shows: urls/log-line-time
TEST(LogSink, EachLineSaysWhichReplicaItIsFrom) {
  testing::internal::CaptureStderr();
  const auto log = makeLogSink(Level::info, {"shop 1"});

  log->on(Event{WallTime{}, {"orders"}, {7}, TermBegan{}});

  EXPECT_EQ(testing::internal::GetCapturedStderr(),
            "1970-01-01T00:00:00.000Z info term_began election=orders id=\"shop 1\" token=7\n");
}

}  // namespace
}  // namespace tenure
