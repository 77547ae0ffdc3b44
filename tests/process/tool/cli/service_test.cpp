/// A replica as a service of systemd: what it tells its manager, and the unit that comes with it.
#include <boost/asio/buffer.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/local/datagram_protocol.hpp>

#include "replica.hpp"
#include "tenure/values.hpp"

namespace tenure::test {
namespace {

using testing::HasSubstr;

/// The manager's end of NOTIFY_SOCKET.
class Manager {
 public:
  explicit Manager(const std::string& path) : socket_(loop_, boost::asio::local::datagram_protocol::endpoint(path)) {
    socket_.non_blocking(true);
  }

  /// Whether the replica has said that since the last time.
  bool hears(const std::string& word) {
    return eventually([&] { return hasHeard(word); });
  }
  bool hasHeard(const std::string& word) {
    std::array<char, 512> message{};
    boost::system::error_code error;
    for (std::size_t size = 0; (size = socket_.receive(boost::asio::buffer(message), 0, error)), !error;)
      heard_ += std::string(message.data(), size) + "\n";
    const std::size_t at = heard_.find(word);
    if (at == std::string::npos) return false;
    heard_.erase(0, at + word.size());
    return true;
  }
  const std::string& rest() const { return heard_; }

 private:
  boost::asio::io_context loop_;
  boost::asio::local::datagram_protocol::socket socket_;
  std::string heard_;
};

class Service : public ToolInElection {
 protected:
  Manager manager{at("notify.sock")};
  Arguments environment{"NOTIFY_SOCKET=" + at("notify.sock"), "WATCHDOG_USEC=100000"};
};

// shows: watch/systemd-hears-replica
TEST_F(Service, IsReadyWhenItCanContendAndAliveWhileItsControlLoopTurns) {
  produce(numbered(1));
  Program first = consume("first", {}, environment);
  ASSERT_TRUE(manager.hears("READY=1")) << first.output();
  EXPECT_TRUE(manager.hears("STATUS=leading")) << first.output();
  EXPECT_TRUE(manager.hears("WATCHDOG=1"));
  EXPECT_TRUE(manager.hears("WATCHDOG=1"));
  first.freeze();
  while (manager.hasHeard("WATCHDOG=1")) {
  }
  EXPECT_FALSE(manager.hasHeard("WATCHDOG=1")) << "a frozen one says nothing";
  first.signal(SIGCONT);
  EXPECT_TRUE(manager.hears("WATCHDOG=1"));
  EXPECT_EQ(told(first, SIGTERM), 0) << first.output();
  EXPECT_TRUE(manager.hears("STOPPING=1")) << manager.rest();
}

// shows: watch/stuck-leader-says
TEST_F(Service, IsNotAliveWhileItIsStuck) {
  produce(numbered(1));
  const std::string place = sql("SELECT min(n) FROM tenure_message");
  Program first = consume("first", {"--stuck-after", "4s"}, environment);
  ASSERT_TRUE(ledgerReaches(1)) << first.output();
  Program unable =
      start(inElection("consume", {"--queue", queue(), "--id", "unable", "--sql", "INSERT INTO absent VALUES (:id)"}),
            "unable");
  ASSERT_TRUE(unable.waitForOutput(" not_ready ")) << unable.output();
  ASSERT_TRUE(manager.hears("WATCHDOG=1"));

  sql("INSERT INTO tenure_message(n, id, grp, body, enqueued_at) VALUES (" + place + ", 'late', '', 'b', 1000)");
  ASSERT_TRUE(eventually([&] {
    while (manager.hasHeard("WATCHDOG=1")) {  // one who does not listen would hold up the replica
    }
    return first.output().find(" handover_declined ") != std::string::npos;
  })) << first.output();
  while (manager.hasHeard("WATCHDOG=1")) {
  }
  for (const auto end = BootClock::now() + std::chrono::seconds{1}; BootClock::now() < end;)
    ASSERT_FALSE(manager.hasHeard("WATCHDOG=1")) << first.output();
  EXPECT_EQ(told(first, SIGTERM), 0) << first.output();
}

// shows: watch/systemd-hears-replica
TEST_F(Service, IsReadyAsAStandbyToo) {
  produce(numbered(1));
  Program first = consume("first");
  ASSERT_TRUE(leads(first)) << first.output();
  Program second = consume("second", {}, environment);
  EXPECT_TRUE(manager.hears("READY=1")) << second.output();
}

// shows: watch/systemd-hears-replica
TEST_F(Service, IsNotReadyWhereATermCouldNotBegin) {
  produce(numbered(1));
  Program first = consume("first");
  ASSERT_TRUE(leads(first)) << first.output();
  Program second = start(inElection("consume", {"--queue", queue(), "--sql", "INSERT INTO missing VALUES (:id)"}),
                         "second", environment);
  ASSERT_TRUE(second.waitForOutput(" not_ready ")) << second.output();
  EXPECT_FALSE(manager.hasHeard("READY=1"));
}

TEST_F(Service, RunsWithTheConfigurationThatComesWithTheUnit) {
  produce(numbered(1));
  Program replica = consume("replica", {"--config", std::string(TENURE_SOURCE_DIR) + "/deploy/systemd/orders.toml",
                                        "--http", "unix:" + at("http.sock")});
  EXPECT_TRUE(ledgerReaches(1)) << replica.output();
  EXPECT_TRUE(replica.waitForOutput("\"event\":\"inaugurated\"")) << "it asks for JSON: " << replica.output();
  EXPECT_EQ(told(replica, SIGTERM), 0) << replica.output();
}

/// systemd's own rating of a unit; 0 is the least exposed.
// shows: watch/unit-hardened
TEST(SystemdUnit, IsHardened) {
  const TemporaryFolder folder;
  const std::string unit = std::string(TENURE_SOURCE_DIR) + "/deploy/systemd/tenure@.service";
  Program analyze({"systemd-analyze", "security", "--offline=yes", "--threshold=20", "--no-pager", unit},
                  folder / "analyze");
  const auto ending = analyze.waitForEnd();
  ASSERT_TRUE(ending && ending->exitCode);
  EXPECT_EQ(*ending->exitCode, 0) << analyze.output();
  EXPECT_THAT(analyze.output(), HasSubstr("Overall exposure level"));
  std::ifstream file(unit);
  const std::string text(std::istreambuf_iterator<char>(file), {});
  EXPECT_THAT(text, testing::AllOf(HasSubstr("\nType=notify\n"), HasSubstr("\nWatchdogSec=")));
}

}  // namespace
}  // namespace tenure::test
