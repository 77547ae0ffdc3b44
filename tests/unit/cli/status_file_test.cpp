#include "cli/status_file.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
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
