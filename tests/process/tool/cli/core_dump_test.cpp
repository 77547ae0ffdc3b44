/// What a tool that crashes leaves behind: no core, which would hold its passwords, unless somebody asks for one.
#include <gmock/gmock.h>
#include <signal.h>

#include "tool.hpp"

namespace tenure::test {
namespace {

class CoreDumps : public Tool {
 protected:
  /// Whether a replica that dies of a segmentation fault leaves a core with its password in it.
  bool leavesThePassword(const std::string& name, const Program::Arguments& environment) {
    const std::filesystem::path folder = at(name);
    std::filesystem::create_directory(folder);
    write("digest", "user:correct-horse-battery");
    Program replica({"sh", "-c", "cd \"$0\" && ulimit -c unlimited && exec \"$@\"", folder.string(),
                     std::string(TENURE_BINARY_DIR) + "/tenure", "consume", "--zookeeper", "127.0.0.1:1", "--election",
                     "e", "--digest-file", at("digest"), "--queue", queue(), "--exec", "true"},
                    at(name + ".out"), environment);
    EXPECT_TRUE(eventually([&] { return replica.output().find("election=e") != std::string::npos; }));
    replica.signal(SIGSEGV);
    EXPECT_EQ(replica.waitForEnd().value_or(Ending{}).signal, SIGSEGV) << replica.output();

    for (const auto& file : std::filesystem::directory_iterator(folder)) {
      std::ifstream in(file.path(), std::ios::binary);
      const std::string bytes{std::istreambuf_iterator<char>(in), {}};
      if (bytes.find("correct-horse-battery") != std::string::npos) return true;
    }
    return false;
  }
};

// shows: operations/crash-leaves-core
TEST_F(CoreDumps, Row40HoldNoPasswordBecauseThereAreNone) {
  if (!leavesThePassword("asked", {"TENURE_CORE_DUMPS=1"}))
    GTEST_SKIP() << "needs core-files: cores go elsewhere on this machine";

  EXPECT_FALSE(leavesThePassword("standard", {}));
}

}  // namespace
}  // namespace tenure::test
