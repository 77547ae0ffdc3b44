// A server that is not there: an unknown host, a port where nobody listens, and somebody who speaks another language
// are told apart, so that a person knows which of the three to mend.
#include <gmock/gmock.h>

#include <set>

#include "support/redis_server.hpp"
#include "support/tcp_proxy.hpp"
#include "tool.hpp"

namespace tenure::test {
namespace {

using testing::SizeIs;

class Unreachable : public Tool {
 protected:
  /// What is wrong with three places, told by one command; `arguments` holds HOST:PORT where the place goes.
  std::set<std::string> threeComplaints(const std::vector<std::string>& arguments, const std::string& stranger) {
    std::vector<Program> asked;
    const std::vector<std::string> places{"nosuchhost.invalid:1", "127.0.0.1:1", stranger};
    for (const std::string& place : places) {
      std::vector<std::string> given = arguments;
      for (std::string& argument : given)
        if (const auto at = argument.find("HOST:PORT"); at != std::string::npos) argument.replace(at, 9, place);
      asked.push_back(start(given, "told." + std::to_string(asked.size()), {"TENURE_RABBITMQ_PASSWORD=guest"}));
    }
    std::set<std::string> complaints;
    for (std::size_t i = 0; i < places.size(); ++i) {
      EXPECT_EQ(exitOf(asked[i]), 69) << asked[i].output();
      std::string told = asked[i].output();
      for (const std::string& name : {places[i], places[i].substr(0, places[i].find(':'))})
        for (auto at = told.find(name); at != std::string::npos; at = told.find(name))
          told.replace(at, name.size(), "X");
      complaints.insert(told);
    }
    return complaints;
  }
};

TEST_F(Unreachable, AnEnsembleSaysWhy) {
  const std::string redis = "127.0.0.1:" + std::to_string(RedisServer::shared().port());

  const auto complaints = threeComplaints({"status", "--zookeeper", "HOST:PORT", "--election", "e"}, redis);

  EXPECT_THAT(complaints, SizeIs(3)) << testing::PrintToString(complaints);
}

TEST_F(Unreachable, ABrokerSaysWhy) {
  const std::string redis = "127.0.0.1:" + std::to_string(RedisServer::shared().port());

  const auto complaints = threeComplaints({"produce", "--queue", "amqp://u@HOST:PORT/?queue=q"}, redis);

  EXPECT_THAT(complaints, SizeIs(3)) << testing::PrintToString(complaints);
}

TEST_F(Unreachable, ADatabaseSaysWhy) {
  const std::string redis = "127.0.0.1:" + std::to_string(RedisServer::shared().port());

  const auto complaints = threeComplaints({"produce", "--queue", "postgresql://u@HOST:PORT/d"}, redis);

  EXPECT_THAT(complaints, SizeIs(3)) << testing::PrintToString(complaints);
}

TEST_F(Unreachable, ACacheSaysWhy) {
  const TcpProxy closing(1);  // takes a connection and closes it

  const auto complaints = threeComplaints({"produce", "--queue", "redis://HOST:PORT"}, closing.host());

  EXPECT_THAT(complaints, SizeIs(3)) << testing::PrintToString(complaints);
}

}  // namespace
}  // namespace tenure::test
