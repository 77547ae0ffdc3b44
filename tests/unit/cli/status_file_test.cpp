#include "cli/replica/status_file.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <future>
#include <nlohmann/json.hpp>

#include "status_scene.hpp"
#include "support/events.hpp"
#include "support/program.hpp"

namespace tenure::cli {
namespace {

using test::eventually;
using test::RecordedEvents;
using test::TemporaryFolder;

/// Whatever the file holds is a whole JSON object, at any time.
nlohmann::json read(const std::filesystem::path& file) {
  std::ifstream in(file);
  if (!in) return {};
  return nlohmann::json::parse(in);
}

TEST(StatusFile, IsThereFromTheStart) {
  TemporaryFolder folder;
  RecordedEvents log;
  StatusFile file(folder / "status.json", newBoard(), log);

  EXPECT_TRUE(eventually([&] { return read(folder / "status.json")["state"] == "connecting"; }));
}

TEST(StatusFile, IsReplacedWhenTheStateChanges) {
  TemporaryFolder folder;
  RecordedEvents log;
  StatusFile file(folder / "status.json", newBoard(), log);

  file.on(event(Inaugurated{}, 42));

  EXPECT_TRUE(eventually([&] { return read(folder / "status.json")["token"] == "42"; }));
}

TEST(StatusFile, ShowsTheLastCountsSoonAndTheLastStateAtTheEnd) {
  TemporaryFolder folder;
  RecordedEvents log;
  {
    StatusFile file(folder / "status.json", newBoard(), log);
    file.on(event(BatchCommitted{64, 64, {}}, 42));
    file.on(event(BatchCommitted{1, 65, {}}, 42));
    EXPECT_TRUE(eventually([&] { return read(folder / "status.json")["messages"] == 65; }));
    file.on(event(Left{}));
  }
  EXPECT_EQ(read(folder / "status.json")["state"], "left");
}

TEST(StatusFile, LeavesNoOtherFileBehind) {
  TemporaryFolder folder;
  RecordedEvents log;
  { StatusFile file(folder / "status.json", newBoard(), log); }

  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder.path()), {}), 1);
}

/// What somebody else left under the name that is written before it is renamed.
std::filesystem::path besideIt(const std::filesystem::path& file) {
  return file.string() + ".new." + std::to_string(::getpid());
}

TEST(StatusFile, FollowsNoLink) {
  TemporaryFolder folder;
  RecordedEvents log;
  std::ofstream(folder / "precious") << "mine";
  std::filesystem::create_symlink(folder / "precious", besideIt(folder / "status.json"));

  { StatusFile file(folder / "status.json", newBoard(), log); }

  std::ifstream precious(folder / "precious");
  EXPECT_EQ((std::string{std::istreambuf_iterator<char>(precious), {}}), "mine");
  EXPECT_EQ(read(folder / "status.json")["state"], "connecting");
}

/// Whoever opens a FIFO to write waits for a reader, perhaps for ever.
TEST(StatusFile, WaitsForNoReaderOfAFifo) {
  TemporaryFolder folder;
  RecordedEvents log;
  ASSERT_EQ(::mkfifo(besideIt(folder / "status.json").c_str(), 0600), 0);

  { StatusFile file(folder / "status.json", newBoard(), log); }

  EXPECT_EQ(read(folder / "status.json")["state"], "connecting");
  EXPECT_FALSE(std::filesystem::exists(besideIt(folder / "status.json")));
}

TEST(StatusFile, ReplacesNothingThatIsNoFile) {
  TemporaryFolder folder;
  RecordedEvents log;
  ASSERT_EQ(::mkfifo((folder / "fifo").c_str(), 0600), 0);
  std::ofstream(folder / "precious") << "mine";
  std::filesystem::create_symlink(folder / "precious", folder / "link");

  { StatusFile file(folder / "fifo", newBoard(), log); }
  { StatusFile file(folder / "link", newBoard(), log); }

  EXPECT_TRUE(std::filesystem::is_fifo(folder / "fifo"));
  EXPECT_TRUE(std::filesystem::is_symlink(folder / "link"));
  EXPECT_EQ(log.of<Warned>().size(), 2U);
}

// shows: L4
TEST(StatusFile, OnADiskThatHangsHoldsUpNoEnd) {
  std::promise<void> hanging;
  std::promise<void> mended;
  const auto hangs = [&, wait = mended.get_future().share()](const std::filesystem::path&, std::string_view) {
    hanging.set_value();
    wait.wait();
    return std::error_code{};
  };
  RecordedEvents log;

  {
    StatusFile file("/status.json", newBoard(), log, hangs);
    hanging.get_future().wait();
  }

  EXPECT_EQ(log.of<Warned>().size(), 1U);
  mended.set_value();
}

TEST(StatusFile, WhenItCannotBeWrittenThatIsToldOnce) {
  TemporaryFolder folder;
  RecordedEvents log;
  {
    StatusFile file(folder / "absent" / "status.json", newBoard(), log);
    EXPECT_TRUE(log.waitFor<Warned>());
    file.on(event(Enrolled{}));
  }
  EXPECT_EQ(log.of<Warned>().size(), 1U);
}

}  // namespace
}  // namespace tenure::cli
