/// A real Prometheus scrapes real replicas, with the alerts of deploy/monitoring; their waits are shortened to a
/// second.
#include <iterator>
#include <nlohmann/json.hpp>
#include <regex>

#include "replica.hpp"

namespace tenure::test {
namespace {

class Alerting : public ToolInElection {
 protected:
  Program serve(const std::string& name, std::size_t port, Arguments more = {}) {
    more.insert(more.end(), {"--http", "127.0.0.1:" + std::to_string(ports_.at(port))});
    return consume(name, more);
  }
  void startPrometheus() {
    write("alerts.yml", impatientAlerts());
    write("prometheus.yml",
          "global: {scrape_interval: 500ms, evaluation_interval: 500ms}\nrule_files: [alerts.yml]\n"
          "scrape_configs:\n  - job_name: tenure\n    static_configs:\n      - targets: ['127.0.0.1:" +
              std::to_string(ports_.at(1)) + "', '127.0.0.1:" + std::to_string(ports_.at(2)) + "']\n");
    prometheus_.emplace(
        Arguments{"prometheus", "--config.file=" + at("prometheus.yml"), "--storage.tsdb.path=" + at("prometheus"),
                  "--web.listen-address=127.0.0.1:" + std::to_string(ports_.at(0))},
        at("prometheus.log"));
  }
  bool becomesFiring(const std::string& alert, bool wanted = true) {
    return eventually([&] { return isFiring(alert) == wanted; });
  }
  bool sees(const std::string& query) {
    return eventually([&] {
      const auto answer = ask("query?query=" + query);
      return answer.is_object() && !answer.at("data").at("result").empty();
    });
  }

 private:
  static std::string impatientAlerts() {
    std::ifstream file(std::string(TENURE_SOURCE_DIR) + "/deploy/monitoring/alerts.yml");
    const std::string alerts(std::istreambuf_iterator<char>(file), {});
    const std::string soon = std::regex_replace(alerts, std::regex("for: [0-9]+[mh]"), "for: 1s");
    return std::regex_replace(soon, std::regex("> 600"), "> 2");
  }
  /// Nullopt: it does not answer yet.
  std::optional<bool> isFiring(const std::string& alert) {
    const auto answer = ask("alerts");
    if (!answer.is_object()) return std::nullopt;
    return std::ranges::any_of(answer.at("data").at("alerts"), [&](const auto& each) {
      return each["state"] == "firing" && each["labels"]["alertname"] == alert &&
             each["labels"]["election"] == election();
    });
  }
  nlohmann::json ask(const std::string& what) {
    Program curl({"curl", "-s", "http://127.0.0.1:" + std::to_string(ports_.at(0)) + "/api/v1/" + what},
                 at("answer." + std::to_string(++asked_)));
    exitOf(curl);
    return nlohmann::json::parse(curl.output(), nullptr, false);
  }

  const std::vector<std::uint16_t> ports_ = freePorts(3);  // Prometheus' own, and those of two replicas
  std::optional<Program> prometheus_;
  int asked_ = 0;
};

TEST_F(Alerting, ALeaderThatIsKilledIsToldUntilAnotherOneLeads) {
  produce(numbered(1));
  Program first = serve("first", 1);
  Program onlooker = serve("onlooker", 2, {"--preference", "never"});
  ASSERT_TRUE(leads(first)) << first.output();
  startPrometheus();
  ASSERT_TRUE(sees("count(tenure_leader)==2")) << "both are scraped";
  ASSERT_TRUE(becomesFiring("TenureNobodyLeads", false));

  first.signal(SIGKILL);
  EXPECT_TRUE(becomesFiring("TenureNobodyLeads"));
  Program next = serve("next", 1);
  EXPECT_TRUE(becomesFiring("TenureNobodyLeads", false));
}

TEST_F(Alerting, AQueueThatStandsIsTold) {
  produce(numbered(1));
  Program first = serve("first", 1, {"--exec", "false", "--retry-base", "1h", "--retry-max", "1h"});
  ASSERT_TRUE(leads(first)) << first.output();
  startPrometheus();
  EXPECT_TRUE(becomesFiring("TenureQueueStands"));
}

}  // namespace
}  // namespace tenure::test
