#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "cli/handlers/child_command.hpp"

namespace tenure::cli {
namespace {

TEST(CommandLookup, FindsWhatThePathHas) {
  for (const char* command : {"cat", "  cat >> seen.txt", "cat; echo", "LANG=C sort -u", "A=1 B=2 /bin/cat -"})
    EXPECT_TRUE(lookUpCommand(command)) << command;
}

TEST(CommandLookup, RefusesWhatIsNowhere) {
  for (const char* command : {"snd-mail --to x", "A=1 snd-mail", "/nowhere/at/all", "snd-mail|cat", "snd-mail; true"}) {
    const Result<void> found = lookUpCommand(command);
    ASSERT_FALSE(found) << command;
    EXPECT_TRUE(found.error().is(Errc::configurationRefused));
  }
}

TEST(CommandLookup, SaysNothingAgainstWhatOnlyTheShellUnderstands) {
  for (const char* command : {"", "$HANDLER x", "'no such'", "if true; then x; fi", "cd /tmp && y", "(x)", "{ x; }",
                              "! x", "> file x", "printf x", "exec x", "A=$(x) y", "while read l; do x; done"})
    EXPECT_TRUE(lookUpCommand(command)) << command;
}

TEST(CommandLookup, RefusesWhatCannotBeExecuted) {
  const std::string file = testing::TempDir() + "not_executable_" + std::to_string(::getpid());
  std::ofstream(file) << "#!/bin/sh\n";

  EXPECT_FALSE(lookUpProgram(file));
  EXPECT_FALSE(lookUpProgram("/tmp")) << "a folder";

  chmod(file.c_str(), 0755);
  EXPECT_TRUE(lookUpProgram(file));
  std::filesystem::remove(file);
}

TEST(CommandLookup, NamesTheCommandAndWhereItLooked) {
  EXPECT_EQ(lookUpProgram("snd-mail").error().detail, "there is no command \"snd-mail\" along PATH");
}

}  // namespace
}  // namespace tenure::cli
