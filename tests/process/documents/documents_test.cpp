/// Every command of README.md and docs/ is run as it stands there, on real servers, page by page; C++ is compiled.
///
/// A page's commands run one after the other in a folder that looks like the top of the house; `tenure` is in the path.
/// The names that pages give to servers stand for servers of the test.
#include "support/documents.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <iostream>

#include "support/ensemble.hpp"
#include "support/postgres_server.hpp"
#include "support/program.hpp"
#include "support/rabbitmq_server.hpp"
#include "support/redis_server.hpp"

namespace tenure::test {
namespace {

namespace fs = std::filesystem;

/// The commands of a page, or of several, in a folder and on servers of the test.
class Commands {
 public:
  Commands() {
    for (const char* part : {"deploy", "examples", "include", "src", "tests"})
      fs::create_symlink(house() / part, folder_ / part);
    fs::create_directory(folder_ / "build");
    fs::create_symlink(TENURE_BINARY_DIR, folder_ / "build/release");
    fs::permissions(folder_.path(), fs::perms::owner_all | fs::perms::others_exec | fs::perms::group_exec);
  }

  /// Or the next page would find the queues as this one made them.
  ~Commands() {
    if (!usesBroker_) return;
    for (const char* queue : {"invoices", "orders", "payments", "shipments"}) try {
        RabbitServer::shared().deleteQueue(queue);
      } catch (const std::runtime_error&) {
        // no page made it
      }
  }

  /// Adds the page's commands with our servers' names in them, each told by its line.
  void add(const std::string& page) {
    for (const Block& block : blocksOf(page)) {
      const bool command = block.language == "sh" || block.language == "test";
      const std::string at = page + ':' + std::to_string(block.line);
      if (!block.notRun.empty()) std::cout << at << ": not run: " << block.notRun << '\n';
      if (!block.runBy.empty()) std::cout << at << ": run by " << block.runBy << '\n';
      if (command && block.notRun.empty() && block.runBy.empty())
        script_ += "at=" + at + "\n" + onOurServers(block.text);
    }
  }

  void succeed() {
    Program commands = run();
    const auto ending = commands.waitForEnd(std::chrono::minutes{20});
    if (!ending) commands.signal(SIGTERM);
    ASSERT_TRUE(ending) << "never came to its end\n" << commands.output();
    EXPECT_EQ(ending->exitCode, 0) << commands.output();
  }

 private:
  Program run() {
    std::ofstream(folder_ / "page.sh") << "cd '" << folder_.path().string() << "'\n" << script_;
    const std::string path = std::string(TENURE_BINARY_DIR) + ':' + std::getenv("PATH");
    return {{TENURE_SOURCE_DIR "/tests/process/documents/run_page", folder_ / "page.sh"},
            folder_ / "page.txt",
            {"PATH=" + path, std::string("TENURE_RABBITMQ_PASSWORD=") + RabbitServer::password}};
  }

  std::string onOurServers(std::string text) {
    replace(text, "/tmp/zk", [&] { return folder_ / "zk"; });
    replace(text, "zk1:2181,zk2:2181,zk3:2181", [] { return Ensemble::shared().hosts(); });
    replace(text, "HOSTS", [] { return Ensemble::shared().hosts(); });
    replace(text, "shop@db/shop", [this] { return shop(); });
    replace(text, "shop@mq/", [this] { return broker(); });
    replace(text, "cache:6379", [this] { return cache(); });
    return text;
  }

  template <class Name>
  static void replace(std::string& text, const std::string& what, Name name) {
    for (std::size_t at = 0; (at = text.find(what, at)) != std::string::npos;) {
      const std::string ours = name();
      text.replace(at, what.size(), ours);
      at += ours.size();
    }
  }

  /// A role of its own for each page, and a schema of the same name.
  std::string shop() {
    static int shops = 0;
    if (shop_.empty()) {
      const std::string role = "shop" + std::to_string(++shops);
      PostgresServer::shared().session().ask("CREATE ROLE " + role + " LOGIN; CREATE SCHEMA " + role +
                                             " AUTHORIZATION " + role);
      shop_ = role + "@127.0.0.1:" + std::to_string(PostgresServer::shared().port()) + "/postgres";
    }
    return shop_;
  }
  std::string broker() {
    usesBroker_ = true;
    return "tenure@127.0.0.1:" + std::to_string(RabbitServer::shared().port()) + '/';
  }
  std::string cache() {
    if (!redis_) redis_.emplace();
    return "127.0.0.1:" + std::to_string(redis_->port());
  }

  TemporaryFolder folder_;
  std::string script_;
  std::string shop_;
  bool usesBroker_ = false;
  std::optional<RedisServer> redis_;
};

using Page = testing::TestWithParam<std::string>;

// shows: readme/tool-five-lines, start/step-page-queue, how-do-i/page-commands, exactly-once/page-commands,
// shows: singleton/page-commands,
// shows: lanes/page-commands, numbers/page-commands, rabbitmq-to-postgresql/pages-commands, watch/page-commands,
// shows: fence/pages-commands, operations/page-commands, operations/store-goes-back, proof/every-command-these
TEST_P(Page, CanBeFollowedCommandByCommand) {
  Commands commands;
  commands.add(GetParam());

  commands.succeed();
}

// As somebody does who tries Tenure out: the replicas of one guide still run when the next one begins.
TEST(Pages, OfOneDatabaseCanBeFollowedOneAfterTheOther) {
  Commands commands;
  for (const char* page : {"docs/guides/exactly-once.md", "docs/guides/rabbitmq-to-postgresql.md",
                           "docs/guides/from-rabbitmq-single-active-consumer.md", "docs/guides/from-advisory-lock.md"})
    commands.add(page);

  commands.succeed();
}

// shows: readme/career-compiles-leads, cpp/consumer-page-compiles
TEST_P(Page, ShowsCodeThatCompiles) {
  const TemporaryFolder folder;
  for (const Block& block : blocksOf(GetParam())) {
    if (block.language != "cpp") continue;
    std::ofstream(folder / "page.cpp") << block.text;
    Program compiler({TENURE_COMPILER, "-std=c++20", "-Wall", "-Wextra", "-Werror", "-fsyntax-only",
                      "-I" TENURE_SOURCE_DIR "/include", folder / "page.cpp"},
                     folder / "compiler.txt");
    EXPECT_EQ(compiler.waitForEnd(std::chrono::minutes{5})->exitCode, 0) << GetParam() << ':' << block.line << '\n'
                                                                         << compiler.output();
  }
}

std::string nameOf(const testing::TestParamInfo<std::string>& page) {
  std::string name;
  for (const char c : page.param.substr(0, page.param.rfind('.')))
    name += std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
  return name;
}

INSTANTIATE_TEST_SUITE_P(Documents, Page, testing::ValuesIn(pages()), nameOf);

}  // namespace
}  // namespace tenure::test
