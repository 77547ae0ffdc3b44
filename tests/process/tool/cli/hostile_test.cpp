/// Strangers at the port of the health checks, while its replica leads.
#include <sys/resource.h>

#include "replica.hpp"
#include "support/loopback.hpp"

namespace tenure::test {
namespace {

class Strangers : public ToolInElection {
 protected:
  static constexpr int crowd = 2'000;

  void SetUp() override {
    ToolInElection::SetUp();
    rlimit descriptors{};
    getrlimit(RLIMIT_NOFILE, &descriptors);
    descriptors.rlim_cur = descriptors.rlim_max;
    setrlimit(RLIMIT_NOFILE, &descriptors);
  }
  std::string address() const { return "127.0.0.1:" + std::to_string(port_); }
  std::string get(const std::string& target) const {
    const Descriptor connection = connectTo(port_);
    sendAll(connection, "GET " + target + " HTTP/1.0\r\n\r\n");
    return receiveAll(connection);
  }
  /// Of the lease, as the replica tells it; nullopt where it does not answer or does not lead.
  std::optional<double> remaining() const {
    const std::string answer = get("/metrics");
    const std::size_t line = answer.find("\ntenure_lease_remaining_seconds{");
    if (line == std::string::npos) return std::nullopt;
    return std::stod(answer.substr(answer.find("} ", line) + 2));
  }
  /// The least of some readings; none may fail.
  double leastRemaining(int readings) const {
    double least = 1e9;
    for (int i = 0; i < readings; ++i) {
      std::optional<double> now;
      EXPECT_TRUE(eventually([&] { return (now = remaining()).has_value(); }));
      least = std::min(least, now.value_or(0));
    }
    return least;
  }
  static std::string pipelined(const std::string& request) {
    std::string requests;
    for (int i = 0; i < 50; ++i) requests += request;
    return requests;
  }
  /// One who says nothing, one who never ends, and others who ask for too much or for what is not theirs.
  static std::string words(int stranger) {
    const std::string host = "Host: localhost\r\n";
    switch (stranger % 9) {
      case 0: return "";
      case 1: return "GET /livez HTTP/1.1\r\n" + host + "X-Slow: ";
      case 2: return "GET /livez HTTP/1.1\r\nX-Large: " + std::string(100'000, 'x') + "\r\n\r\n";
      case 3: return pipelined("GET /status HTTP/1.1\r\n" + host + "\r\n");
      case 6: return pipelined("GET /metrics HTTP/1.1\r\n" + host + "\r\n");
      case 7: return pipelined("GET /status HTTP/1.1\r\nHost: stranger.example\r\n\r\n");
      case 4:
        return "POST /metrics HTTP/1.1\r\n" + host + "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n" +
               "0\r\n\r\nGET /leader HTTP/1.1\r\n\r\n";
      case 5: return "GET /../../../../etc/passwd HTTP/1.1\r\n" + host + "\r\n";
      default: return std::string("\x16\x03\x01\x02\0\x01\xff", 7);
    }
  }

  const std::uint16_t port_ = freePorts(1).front();
};

// shows: watch/two-thousand-strangers
TEST_F(Strangers, TwoThousandOfThemDisturbNeitherTheElectionNorTheMemory) {
  produce(numbered(3));
  Program leader = consume("leader", {"--http", address()});
  ASSERT_TRUE(leads(leader)) << leader.output();
  ASSERT_TRUE(eventually([&] { return remaining().has_value(); })) << leader.output();
  const double calm = leastRemaining(20);
  double attacked = calm;
  const auto attack = [&] {
    std::vector<Descriptor> connections;
    for (int stranger = 0; stranger < crowd; ++stranger) {
      connections.push_back(connectTo(port_));
      sendAll(connections.back(), words(stranger));
      if (stranger % 100 == 99) attacked = std::min(attacked, leastRemaining(1));
    }
    return leader.residentKiB();
  };
  const std::size_t first = attack();
  const std::size_t second = attack();

  std::printf("lease remaining: at least %.2f s when calm, %.2f s beside %d strangers; memory %zu, then %zu KiB\n",
              calm, attacked, crowd, first, second);
  EXPECT_GT(attacked, calm / 4);
  EXPECT_LT(second, first + 8'192) << "what the first crowd took is used again";
  EXPECT_EQ(leader.output().find(" term_ended "), std::string::npos) << leader.output();
  EXPECT_TRUE(eventually([&] { return get("/leader").find(" 200 OK\r\n") != std::string::npos; })) << get("/leader");
  EXPECT_EQ(told(leader, SIGTERM), 0) << leader.output();
}

}  // namespace
}  // namespace tenure::test
