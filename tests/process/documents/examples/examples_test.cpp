/// The examples say what their pages promise, each started by the one command that their pages name.
#include <gtest/gtest.h>

#include <sstream>

#include "support/ensemble.hpp"
#include "support/example_output.hpp"

namespace tenure::test {
namespace {

/// The number behind the last `word`.
int lastNumber(const std::string& output, const std::string& word) {
  return std::stoi(output.substr(output.rfind(word) + word.size()));
}

/// What follows the prefix, line by line.
std::string linesWith(const std::string& prefix, const std::string& output) {
  std::istringstream lines(output);
  std::string found;
  for (std::string line; std::getline(lines, line);)
    if (line.starts_with(prefix)) found += line.substr(prefix.size()) + " ";
  return found;
}

class Examples : public testing::Test {
 protected:
  /// `examples/run NAME`, with what this build has built.
  Program run(const std::string& name) {
    return {{TENURE_SOURCE_DIR "/examples/run", name}, folder_ / name, {"EXAMPLES=" TENURE_BINARY_DIR "/examples"}};
  }
  Program counter(const std::string& name) {
    return {{TENURE_BINARY_DIR "/examples/counter_zookeeper", Ensemble::shared().hosts()}, folder_ / name};
  }

  Program ledger(const std::string& name) {
    return {{TENURE_BINARY_DIR "/examples/append_file_store", Ensemble::shared().hosts(), folder_ / "values"},
            folder_ / name};
  }

  TemporaryFolder folder_;
};

TEST_F(Examples, HelloWithoutServersSaysHowItIsUsed) {
  Program hello({TENURE_BINARY_DIR "/examples/hello_leader"}, folder_ / "hello");

  EXPECT_EQ(hello.waitForEnd().value_or(Ending{}).exitCode, 64);
  EXPECT_EQ(hello.output().rfind("usage: hello_leader HOST:PORT", 0), 0U) << hello.output();
}

// shows: start/examples-table-says, rabbitmq-to-postgresql/nothing-lost-doubled
TEST_F(Examples, InvoicesAreNumberedWithoutAGapAndNoneIsWrittenTwice) {
  Program shop = run("invoice_postgres");
  ASSERT_TRUE(shop.waitForOutput("message=order-1", 1, std::chrono::seconds{180})) << shop.output();

  stop(shop);

  EXPECT_EQ(withoutLog(shop.output(), {"run: "}),
            "invoice 1: 1250 cents from Ada\n"
            "invoice 2: 990 cents from Robert'); DROP TABLE invoice; --\n"
            "invoice 3: 40 cents from Ada\n");
}

// shows: start/examples-table-says
TEST_F(Examples, EventsThatArriveOutOfOrderTakeEffectInTheOrderOfTheirNumbers) {
  Program orders = run("order_numbers");
  ASSERT_TRUE(orders.waitForOutput("order-2 is refunded", 1, std::chrono::seconds{180})) << orders.output();

  stop(orders);

  const std::string told = withoutLog(orders.output(), {"run: "});
  EXPECT_EQ(linesWith("order-1 is ", told), "created paid shipped received ");
  EXPECT_EQ(linesWith("order-2 is ", told), "created paid refunded ");
}

/// The lines of one tenant, in the order in which they were printed.
std::vector<std::string> linesOf(const std::string& output, const std::string& tenant) {
  std::istringstream all(output);
  std::vector<std::string> lines;
  for (std::string line; std::getline(all, line);)
    if (line.find(' ' + tenant + '/') != std::string::npos) lines.push_back(line);
  return lines;
}

// shows: start/examples-table-says
TEST_F(Examples, TenantsAreImportedBesideEachOtherAndEachOfThemInOrder) {
  Program program = run("tenant_import");
  ASSERT_TRUE(program.waitForOutput("imported ", 12, std::chrono::seconds{120})) << program.output();

  stop(program);

  for (const std::string tenant : {"acme", "globex", "initech"}) {
    std::vector<std::string> expected;
    for (const std::string number : {"1", "2", "3", "4"}) {
      const std::string file = tenant + '/' + number;
      expected.insert(expected.end(), {"fetches " + file, "imported " + file});
    }
    EXPECT_EQ(linesOf(withoutLog(program.output(), {"run: "}), tenant), expected) << program.output();
  }
}

// shows: start/examples-table-says
TEST_F(Examples, ARunRefreshesForAllWhoWaitedWhenItBegan) {
  Program program = run("cache_refresh");
  ASSERT_TRUE(program.waitForOutput("home refreshed, run 2", 1, std::chrono::seconds{120})) << program.output();
  ASSERT_TRUE(program.waitForOutput("messages=99")) << program.output();

  stop(program);

  EXPECT_EQ(withoutLog(program.output(), {"run: "}),
            "home refreshed, run 1\nnews refreshed, run 1\nshop refreshed, run 1\nhome refreshed, run 2\n");
}

// shows: start/examples-table-says
TEST_F(Examples, TheGatewaySendsAllOfItsEventsAndEnds) {
  Program gateway = run("billing_gateway");

  EXPECT_EQ(gateway.waitForEnd(std::chrono::seconds{180}).value_or(Ending{}).exitCode, 0) << gateway.output();

  EXPECT_EQ(withoutLog(gateway.output(), {"run: ", "waiting="}),
            "begins with 0 events in the spool, sent first\nends with 0 events in the spool for the next start\n");
}

TEST_F(Examples, TheCounterRunsOnAServerOfItsOwn) {
  Program program = run("counter_zookeeper");
  ASSERT_TRUE(program.waitForOutput("counted 2\n", 1, std::chrono::seconds{120})) << program.output();

  stop(program);

  EXPECT_TRUE(withoutLog(program.output(), {"run: "}).starts_with("counts on from 0\ncounted 1\ncounted 2\n"))
      << program.output();
}

// shows: start/examples-table-says
TEST_F(Examples, TheCounterLeavesOutNoNumberAcrossAHandover) {
  Program first = counter("first");
  ASSERT_TRUE(first.waitForOutput("counted ", 2)) << first.output();
  Program second = counter("second");
  ASSERT_TRUE(second.waitForOutput(" stood_by ")) << second.output();

  stop(first);

  ASSERT_TRUE(second.waitForOutput("counted ")) << second.output();
  stop(second);
  const int reached = lastNumber(first.output(), "counted ");
  const std::string after = std::to_string(reached);
  const std::string next = std::to_string(reached + 1);
  EXPECT_TRUE(
      withoutLog(second.output(), {"run: "}).starts_with("counts on from " + after + "\ncounted " + next + "\n"))
      << second.output();
}

// shows: bring-a-store/example-runs-ledger
TEST_F(Examples, TheLedgerRunsOnAStoreOfItsOwn) {
  Program program = run("append_file_store");
  ASSERT_TRUE(program.waitForOutput("ben 2,", 1, std::chrono::seconds{120})) << program.output();

  stop(program);

  EXPECT_TRUE(withoutLog(program.output(), {"run: "})
                  .starts_with("goes on with ann 100, ben 0, together 100\n"
                               "moved a coin: ann 99, ben 1, together 100\n"
                               "moved a coin: ann 98, ben 2, together 100\n"))
      << program.output();
}

// shows: bring-a-store/example-runs-ledger
TEST_F(Examples, TheLedgerLosesNoCoinAcrossAHandover) {
  Program first = ledger("first");
  ASSERT_TRUE(first.waitForOutput("moved a coin", 2)) << first.output();
  Program second = ledger("second");
  ASSERT_TRUE(second.waitForOutput(" stood_by ")) << second.output();

  stop(first);

  ASSERT_TRUE(second.waitForOutput("moved a coin")) << second.output();
  stop(second);
  const std::string moved = std::to_string(lastNumber(first.output(), "ben "));
  const std::string left = std::to_string(lastNumber(first.output(), "ann "));
  EXPECT_TRUE(withoutLog(second.output(), {"run: "})
                  .starts_with("goes on with ann " + left + ", ben " + moved + ", together 100\n"))
      << second.output();
}

}  // namespace
}  // namespace tenure::test
