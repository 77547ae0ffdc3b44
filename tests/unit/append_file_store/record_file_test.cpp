// The file under a driver: writers that die in a record, others that write at the same time, and damage.
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <fstream>

#include "values.hpp"

namespace tenure::test {
namespace {

namespace fs = std::filesystem;

void overwrite(const fs::path& file, const std::string& bytes) { std::ofstream(file, std::ios::trunc) << bytes; }

/// Another process that does `work`, and nothing of what this one does when it ends.
template <class Work>
pid_t startProcess(const Work& work) {
  const pid_t child = ::fork();
  if (child != 0) return child;
  work();
  ::_exit(0);
}

// shows: bring-a-store/failure-changes-nothing
TEST_F(AppendFile, ARecordThatIsTornAnywhereIsNotThereAndTheNextWriterCutsItOff) {
  auto writer = open();
  ASSERT_THAT(put(writer, "k", "whole"), succeeds());
  const std::size_t whole = fs::file_size(file_);
  ASSERT_THAT(put(writer, "k", "torn"), succeeds());
  const std::string bytes = contentsOf(file_);

  for (std::size_t length = whole; length < bytes.size(); ++length) {
    SCOPED_TRACE(length);
    overwrite(file_, bytes.substr(0, length));
    auto reader = open();
    EXPECT_EQ(get(reader, "k"), "whole");
    EXPECT_EQ(fs::file_size(file_), length) << "who looks cuts nothing off";

    auto next = open();
    EXPECT_THAT(put(next, "other", "new"), succeeds());

    auto last = open();
    for (append_file_store::Driver* driver : {&reader, &next, &last}) {
      EXPECT_EQ(get(*driver, "k"), "whole");
      EXPECT_EQ(get(*driver, "other"), "new");
    }
  }
}

TEST_F(AppendFile, ALastRecordWithTheWrongBytesIsTornToo) {
  auto writer = open();
  ASSERT_THAT(put(writer, "k", "whole"), succeeds());
  ASSERT_THAT(put(writer, "k", "torn"), succeeds());
  std::string bytes = contentsOf(file_);
  bytes.back() = '\0';
  overwrite(file_, bytes);

  auto next = open();
  EXPECT_EQ(get(next, "k"), "whole");
  ASSERT_THAT(put(next, "k", "new"), succeeds());

  auto last = open();
  EXPECT_EQ(get(last, "k"), "new");
}

TEST_F(AppendFile, DamageBeforeTheLastRecordIsRefusedAndNothingIsCutOff) {
  auto writer = open();
  ASSERT_THAT(put(writer, "k", "v"), succeeds());
  const std::size_t first = fs::file_size(file_);
  ASSERT_THAT(put(writer, "k", "w"), succeeds());
  const std::string bytes = contentsOf(file_);

  for (std::size_t at = 0; at < first; ++at) {
    SCOPED_TRACE(at);
    std::string damaged = bytes;
    damaged[at] = static_cast<char>(~damaged[at]);
    overwrite(file_, damaged);
    auto driver = open();

    EXPECT_THAT(driver.connect({}), failsWith(Errc::storeFailed));
    EXPECT_THAT(put(driver, "k", "x"), failsWith(Errc::storeFailed));

    EXPECT_EQ(contentsOf(file_), damaged);
  }
}

TEST_F(AppendFile, AFileOfSomebodyElseIsLeftAlone) {
  overwrite(file_, "no\n");
  auto driver = open();

  EXPECT_THAT(put(driver, "k", "v"), failsWith(Errc::storeFailed));

  EXPECT_EQ(contentsOf(file_), "no\n");
}

// shows: bring-a-store/driver-must-able
TEST_F(AppendFile, AWriterThatIsKilledLeavesWhatItHasAnsweredForAndNoHalfBatch) {
  int answers[2];
  ASSERT_EQ(::pipe(answers), 0);
  const pid_t writer = startProcess([&] {
    auto driver = open();
    for (int i = 1;; ++i) {
      spi::Batch batch;
      const std::string value = std::to_string(i) + std::string(300'000, '.');
      batch.writes = {setting("one", value), setting("two", value)};
      if (!driver.apply(batch) || ::write(answers[1], "a", 1) != 1) return;
    }
  });
  char answer = 0;
  for (int i = 0; i < 5; ++i) ASSERT_EQ(::read(answers[0], &answer, 1), 1);

  ASSERT_EQ(::kill(writer, SIGKILL), 0);
  ASSERT_EQ(::waitpid(writer, nullptr, 0), writer);

  ::close(answers[1]);
  int answered = 5;
  while (::read(answers[0], &answer, 1) == 1) ++answered;
  ::close(answers[0]);
  auto driver = open();
  const std::string found = get(driver, "one").value();
  EXPECT_EQ(get(driver, "two"), found);
  EXPECT_GE(std::stoi(found), answered);
  EXPECT_LE(std::stoi(found), answered + 1);
  EXPECT_THAT(put(driver, "k", "v"), succeeds());
}

// shows: bring-a-store/driver-must-able
TEST_F(AppendFile, TwoDriversThatTakeTurnsSeeEachOthersBatchesAtOnce) {
  auto one = open();
  auto two = open();
  for (int i = 0; i < 20; ++i) {
    auto& writer = i % 2 == 0 ? one : two;
    auto& reader = i % 2 == 0 ? two : one;

    ASSERT_THAT(put(writer, "k", std::to_string(i)), succeeds());

    EXPECT_EQ(get(reader, "k"), std::to_string(i));
  }
}

// shows: bring-a-store/driver-must-able
TEST_F(AppendFile, TwoProcessesThatCountAtTheSameTimeLoseNoCount) {
  constexpr int each = 100;
  const auto count = [&] {
    auto driver = open();
    for (int done = 0; done < each;) {
      const auto found = get(driver, "n");
      spi::Batch batch;
      batch.writes = {setting("n", std::to_string(std::stoi(found.value_or("0")) + 1))};
      batch.writes[0].expected = found ? spi::Expected{Of::value, *found} : spi::Expected{Of::absence};
      if (!driver.apply(batch).value().unmet) ++done;
    }
  };

  const pid_t other = startProcess(count);
  count();
  int ending = -1;
  ASSERT_EQ(::waitpid(other, &ending, 0), other);

  EXPECT_EQ(ending, 0);
  auto driver = open();
  EXPECT_EQ(get(driver, "n"), std::to_string(2 * each));
}

}  // namespace
}  // namespace tenure::test
