// The configuration file: TOML through CLI11 and our own reading of it, then the checks of every value.
#include <CLI/CLI.hpp>
#include <sstream>

#include "claims.hpp"
#include "cli/exit.hpp"
#include "cli/options/command.hpp"
#include "cli/options/config_file.hpp"
#include "cli/options/options.hpp"

using namespace tenure;
using namespace tenure::cli;
using namespace tenure::fuzz;

namespace {

struct Tool {
  CLI::App app{"fuzz"};
  std::string queue;
  ElectionOption election;
  std::string sql;
  Command consume{.name = "consume", .about = {}, .groups = {{{}, joined(election.rows(), rows())}}, .act = [] {
                    return Exit::done;
                  }};

  Tool() {
    app.name("tenure");
    app.allow_config_extras(CLI::config_extras_mode::error);
    app.config_formatter(std::make_shared<ConfigFile>(app));
    app.fallthrough();
    declare(app, consume).configurable();
    app.add_subcommand("produce")->add_flag("--quiet");
  }
  Options rows() { return {{"--queue", text(queue, "URL"), {}}, {"--sql", text(sql, "STATEMENT"), {}}}; }
};

void checkValues(const Tool& tool, std::string_view text) {
  const auto address = parse(tool.election);
  if (isGood(address)) {
    const bool isGiven = !address->election.value.empty();  // who runs the command must give it
    require(!isGiven || parseElectionName(address->election.value).has_value(), "an election has a plain name", text);
    require(parseRootPath(address->root).has_value(), "a root is a path", text);
  }
  (void)isGood(parseUrl(tool.queue));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  Tool tool;
  std::istringstream file(text);
  try {
    tool.app.parse_from_stream(file);
    checkValues(tool, text);
  } catch (const CLI::ParseError& error) {
    require(isShowable(complaintOf(error.what())), "a complaint can be shown", text);
  }
  return 0;
}
