/// What docs/guides/send.md shows in Python and JavaScript sends with the order's row, or not at all.
#include <gtest/gtest.h>

#include <fstream>

#include "support/documents.hpp"
#include "support/postgres_server.hpp"
#include "support/program.hpp"

namespace tenure::test {
namespace {

class SendGuide : public testing::Test {
 protected:
  /// An order whose id is taken is refused only by the COMMIT, when all statements have succeeded.
  void SetUp() override {
    world_.ask(
        "CREATE TABLE orders(id text PRIMARY KEY DEFERRABLE INITIALLY DEFERRED, total numeric);"
        "GRANT ALL ON orders TO " +
        world_.role());
  }

  /// The block of the guide that names this test, on our server.
  Program run(const Program::Arguments& interpreter, const Program::Arguments& environment = {}) {
    std::string text;
    const std::string ourName =
        std::string("SendGuide.") + testing::UnitTest::GetInstance()->current_test_info()->name();
    for (const Block& block : blocksOf("docs/guides/send.md"))
      if (block.runBy == ourName) text = block.text;
    const std::string server = "shop@db/shop";
    const std::size_t at = text.find(server);
    EXPECT_NE(at, std::string::npos) << text;
    if (at != std::string::npos)
      text.replace(at, server.size(),
                   world_.role() + "@127.0.0.1:" + std::to_string(PostgresServer::shared().port()) + "/postgres");
    std::ofstream(folder_ / "snippet") << text;
    Program::Arguments command = interpreter;
    command.push_back(folder_ / "snippet");
    return {command, folder_ / "output", environment};
  }

  void expectBothOrNeither(const Program::Arguments& interpreter, const Program::Arguments& environment = {}) {
    Program first = run(interpreter, environment);
    EXPECT_EQ(first.waitForEnd().value_or(Ending{}).exitCode, 0) << first.output();
    EXPECT_EQ(world_.ask("SELECT string_agg(id || ' ' || total, ',') FROM orders"), "o-4 12.5");
    EXPECT_EQ(waiting(), "invoices o-4-invoice o-4 12.5");

    world_.ask("DELETE FROM tenure_waiting");
    expectRefusal(run(interpreter, environment), "duplicate key");
    EXPECT_EQ(waiting(), "");

    world_.ask("DELETE FROM orders; SELECT tenure_send('invoices', '{}', 'o-4-invoice', 'of another order')");
    expectRefusal(run(interpreter, environment), "with other content");
    EXPECT_EQ(world_.ask("SELECT count(*) FROM orders"), "0");
  }
  static void expectRefusal(Program snippet, const std::string& why) {
    EXPECT_NE(snippet.waitForEnd().value_or(Ending{}).exitCode, 0);
    EXPECT_NE(snippet.output().find(why), std::string::npos) << snippet.output();
  }
  std::string waiting() const {
    return world_.ask(
        "SELECT coalesce(string_agg(concat_ws(' ', queue, convert_from(id, 'UTF8'), convert_from(grp, 'UTF8'),"
        "                                     convert_from(body, 'UTF8')::json->>'total'), ','), '') FROM "
        "tenure_waiting");
  }

  TemporaryFolder folder_;
  PostgresWorld world_;
};

// shows: send/guide-shows-python
TEST_F(SendGuide, SendsFromPythonWithPsycopg) { expectBothOrNeither({"/usr/bin/python3"}); }

// shows: send/guide-shows-python
TEST_F(SendGuide, SendsFromASessionOfSqlAlchemy) { expectBothOrNeither({"/usr/bin/python3"}); }

// shows: send/guide-shows-python
TEST_F(SendGuide, SendsFromNode) {
  // Where Debian has its packages for Node; a Node from elsewhere looks for none there.
  const char* own = std::getenv("NODE_PATH");
  const Program::Arguments environment{"NODE_PATH=" + std::string(own ? own : "/usr/share/nodejs")};
  Program look({"/usr/bin/env", "node", "-e", "require('pg')"}, folder_ / "look", environment);
  if (look.waitForEnd().value_or(Ending{}).exitCode != 0)
    GTEST_SKIP() << "needs node-pg: Debian's is for Debian's Node alone, and another may be here";

  expectBothOrNeither({"/usr/bin/env", "node"}, environment);
}

}  // namespace
}  // namespace tenure::test
