/// The alerts and the dashboard that come with Tenure: they load, they fire, and they know the series that there are.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <regex>
#include <set>

#include "support/program.hpp"
#include "telemetry/http/series.hpp"

namespace tenure::telemetry {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

const std::string monitoring = std::string(TENURE_SOURCE_DIR) + "/deploy/monitoring/";

std::string textOf(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// Those named in a text that are in no row of the table; a histogram's have endings of their own.
std::set<std::string> strangersIn(const std::string& text) {
  static const std::regex names(R"re(\b(?:tenure|process)_[a-z_]+\b)re");
  static const std::regex endings("_(bucket|sum|count)$");
  std::set<std::string> strangers;
  for (auto name = std::sregex_iterator(text.begin(), text.end(), names); name != std::sregex_iterator(); ++name) {
    const std::string plain = std::regex_replace(name->str(), endings, "");
    if (std::ranges::find(series(), plain, &Series::name) == series().end()) strangers.insert(name->str());
  }
  return strangers;
}

std::string promtool(std::vector<std::string> arguments) {
  const test::TemporaryFolder output;
  arguments.insert(arguments.begin(), "promtool");
  test::Program program(std::move(arguments), output / "output");
  const auto ending = program.waitForEnd();
  EXPECT_TRUE(ending && ending->exitCode == 0) << program.output();
  return program.output();
}

// shows: watch/real-prometheus-fires, watch/alerts-load-fire
TEST(Monitoring, TheAlertsLoadAndFireWhenTheyShould) {
  EXPECT_THAT(promtool({"check", "rules", monitoring + "alerts.yml"}), HasSubstr("SUCCESS"));
  EXPECT_THAT(promtool({"test", "rules", monitoring + "alerts_test.yml"}), HasSubstr("SUCCESS"));
}

// shows: watch/alerts-load-fire
TEST(Monitoring, AlertsAndDashboardNameSeriesThatThereAre) {
  EXPECT_THAT(strangersIn(textOf(monitoring + "alerts.yml")), IsEmpty());
  const auto dashboard = nlohmann::json::parse(textOf(monitoring + "dashboard.json"));
  std::string expressions;
  for (const auto& panel : dashboard.at("panels"))
    for (const auto& target : panel.at("targets")) expressions += target.at("expr").get<std::string>() + "\n";
  EXPECT_THAT(expressions, HasSubstr("tenure_leader"));
  EXPECT_THAT(strangersIn(expressions), IsEmpty());
}

// shows: watch/alerts-load-fire
TEST(Monitoring, EachAlertHasATestAndAParagraphForThePersonOnCall) {
  const std::string alerts = textOf(monitoring + "alerts.yml");
  const std::string tests = textOf(monitoring + "alerts_test.yml");
  const std::string page = textOf(std::string(TENURE_SOURCE_DIR) + "/docs/operations.md");
  static const std::regex names(R"re(- alert: (\w+))re");
  int count = 0;
  for (auto name = std::sregex_iterator(alerts.begin(), alerts.end(), names); name != std::sregex_iterator(); ++name) {
    ++count;
    EXPECT_THAT(page, HasSubstr("**" + (*name)[1].str() + ".**"));
    EXPECT_THAT(tests, HasSubstr("alertname: " + (*name)[1].str() + "\n"));
  }
  EXPECT_GT(count, 5);
}

}  // namespace
}  // namespace tenure::telemetry
