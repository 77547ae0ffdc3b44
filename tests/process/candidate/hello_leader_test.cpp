/// The example says what its page promises.
#include "process/candidate/replicas.hpp"
#include "support/example_output.hpp"

namespace tenure::test {
namespace {

// shows: readme/career-compiles-leads
TEST(HelloLeader, LeadsGreetsThreeTimesAndHandsOver) {
  const TemporaryFolder folder;
  Program hello({TENURE_BINARY_DIR "/examples/hello_leader", Ensemble::shared().hosts()}, folder / "output");
  ASSERT_TRUE(hello.waitForOutput("Hello, 3.")) << hello.output();

  stop(hello);

  EXPECT_EQ(withoutLog(hello.output()),
            "I lead now.\n"
            "Hello, 1.\n"
            "Hello, 2.\n"
            "Hello, 3.\n"
            "I hand over: stop_asked.\n");
}

// shows: start/examples-table-says
TEST(HelloLeader, TheNextOneTakesOver) {
  const TemporaryFolder folder;
  const Program::Arguments command{TENURE_BINARY_DIR "/examples/hello_leader", Ensemble::shared().hosts()};
  Program first(command, folder / "first");
  ASSERT_TRUE(first.waitForOutput("I lead now.")) << first.output();
  Program second(command, folder / "second");

  first.signal(SIGINT);

  EXPECT_TRUE(second.waitForOutput("Hello, 3.")) << second.output();
  EXPECT_EQ(first.waitForEnd()->exitCode, 0);
}

}  // namespace
}  // namespace tenure::test
