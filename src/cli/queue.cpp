#include <CLI/CLI.hpp>
#include <iostream>
#include <nlohmann/json.hpp>

#include "base/text.hpp"
#include "cli/options.hpp"
#include "cli/tool.hpp"
#include "cli/wiring_options.hpp"

namespace tenure::cli {
namespace {

struct StatsOptions {
  QueueOption queue;
  bool json = false;
};

constexpr const char* queueHelp = R"(
Examples:
  tenure queue stats --queue sqlite:orders.db?queue=orders
  tenure queue stats --help
)";

constexpr const char* statsHelp = R"(
waiting counts every message that is not acknowledged; retrying those of them that failed before.

Examples:
  tenure queue stats --queue sqlite:orders.db?queue=orders
  tenure queue stats --queue sqlite:orders.db?queue=orders --json | jq .waiting
)";

nlohmann::ordered_json orNull(const std::optional<std::int64_t>& count) {
  return count ? nlohmann::ordered_json(*count) : nlohmann::ordered_json();
}
std::string orDash(const std::optional<std::int64_t>& count) { return count ? std::to_string(*count) : "-"; }

void printJson(const QueueStats& stats) {
  nlohmann::ordered_json out{{"waiting", stats.waiting},
                             {"waiting_bytes", orNull(stats.waitingBytes)},
                             {"retrying", orNull(stats.retrying)},
                             {"dead_letters", orNull(stats.deadLetters)},
                             {"oldest", nullptr},
                             {"election", nullptr}};
  if (stats.oldest) out["oldest"] = formatWallTime(*stats.oldest);
  if (!stats.election.empty()) out["election"] = stats.election;
  std::cout << out.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) << std::endl;
}

void printText(const QueueStats& stats) {
  std::cout << "waiting       " << stats.waiting << " (" << orDash(stats.waitingBytes) << " bytes)\n"
            << "retrying      " << orDash(stats.retrying) << "\n"
            << "dead letters  " << orDash(stats.deadLetters) << "\n"
            << "oldest        " << (stats.oldest ? formatWallTime(*stats.oldest) : "-") << "\n"
            << "election      " << (stats.election.empty() ? "-" : escaped(stats.election)) << std::endl;
}

Exit showStats(const StatsOptions& options) {
  const auto queue = options.queue.parsed(false);
  if (!queue) return refuse("", queue.error());
  const auto admin = (*queue)->queueAdmin();
  const auto stats = admin ? (*admin)->stats() : admin.error();
  if (!stats) return refuse("--queue", stats.error());
  options.json ? printJson(*stats) : printText(*stats);
  return Exit::done;
}

}  // namespace

void addQueue(CLI::App& tool, Action& chosen) {
  CLI::App* queue = tool.add_subcommand("queue", "Look at a queue");
  queue->require_subcommand(1);
  queue->footer(std::string(queueHelp) + exitCodesHelp);
  auto options = std::make_shared<StatsOptions>();
  CLI::App* stats = queue->add_subcommand("stats", "How many messages wait, fail, and are dead");
  options->queue.declare(*stats);
  stats->add_flag("--json", options->json, "One JSON object");
  stats->footer(std::string(statsHelp) + urlHelp + exitCodesHelp);
  stats->callback([options, &chosen] { chosen = [options] { return showStats(*options); }; });
}

}  // namespace tenure::cli
