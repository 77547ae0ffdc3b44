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
  Program serve(const std::string& name, Arguments more = {}) {
    more.insert(more.end(), {"--http", "127.0.0.1:0"});
    Program replica = consume(name, more);
    EXPECT_TRUE(replica.waitForOutput(" http_served ")) << replica.output();
    const std::string log = replica.output();
    const std::size_t address = log.find("address=127.") + 8;
    targets_ += (targets_.empty() ? "\"" : ", \"") +
                log.substr(address, log.find_first_not_of("0123456789.:", address) - address) + "\"";
    write("targets.json", "[{\"targets\": [" + targets_ + "]}]");
    return replica;
  }
  /// Scrapes each replica that serves, also one that begins later.
  void startPrometheus() {
    write("alerts.yml", impatientAlerts());
    write(
        "prometheus.yml",
        "global: {scrape_interval: 500ms, evaluation_interval: 500ms}\nrule_files: [alerts.yml]\n"
        "scrape_configs:\n  - {job_name: tenure, file_sd_configs: [{files: [targets.json], refresh_interval: 1s}]}\n");
    for (int attempt = 0; attempt < startAttempts; ++attempt) {
      port_ = freePorts(1).front();
      prometheus_.emplace(
          Arguments{"prometheus", "--config.file=" + at("prometheus.yml"), "--storage.tsdb.path=" + at("prometheus"),
                    "--web.listen-address=127.0.0.1:" + std::to_string(port_)},
          at("prometheus.log"));
      const auto isOver = [&] {
        return ask("alerts").is_object() || prometheus_->waitForEnd(std::chrono::milliseconds::zero());
      };
      if (eventually(isOver, startLimit) && ask("alerts").is_object()) return;
    }
    FAIL() << prometheus_->output();
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
  /// Nullopt: it does not answer.
  std::optional<bool> isFiring(const std::string& alert) {
    const auto answer = ask("alerts");
    if (!answer.is_object()) return std::nullopt;
    return std::ranges::any_of(answer.at("data").at("alerts"), [&](const auto& each) {
      return each["state"] == "firing" && each["labels"]["alertname"] == alert &&
             each["labels"]["election"] == election();
    });
  }
  nlohmann::json ask(const std::string& what) {
    Program curl({"curl", "-s", "http://127.0.0.1:" + std::to_string(port_) + "/api/v1/" + what},
                 at("answer." + std::to_string(++asked_)));
    exitOf(curl);
    return nlohmann::json::parse(curl.output(), nullptr, false);
  }

  std::string targets_;
  std::uint16_t port_ = 0;
  std::optional<Program> prometheus_;
  int asked_ = 0;
};

// shows: watch/real-prometheus-fires, watch/prometheus-text-format
TEST_F(Alerting, NobodyLeadsFiresWhenTheLeaderIsKilledAndEndsWithTheNext) {
  produce(numbered(1));
  Program first = serve("first");
  ASSERT_TRUE(leads(first)) << first.output();
  Program onlooker = serve("onlooker", {"--preference", "never"});
  startPrometheus();
  ASSERT_TRUE(sees("count(tenure_leader)==2")) << "both are scraped";
  ASSERT_TRUE(becomesFiring("TenureNobodyLeads", false));

  first.signal(SIGKILL);
  EXPECT_TRUE(becomesFiring("TenureNobodyLeads"));
  Program next = serve("next");
  EXPECT_TRUE(becomesFiring("TenureNobodyLeads", false));
}

// shows: watch/real-prometheus-fires
TEST_F(Alerting, QueueStandsFiresForAnOldMessage) {
  produce(numbered(1));
  Program first = serve("first", {"--exec", "false", "--retry-base", "1h", "--retry-max", "1h"});
  ASSERT_TRUE(leads(first)) << first.output();
  startPrometheus();
  EXPECT_TRUE(becomesFiring("TenureQueueStands"));
}

}  // namespace
}  // namespace tenure::test
