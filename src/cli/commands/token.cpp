#include <iostream>
#include <optional>

#include "base/text.hpp"
#include "base/validation.hpp"
#include "cli/commands/commands.hpp"
#include "cli/options/options.hpp"
#include "cli/options/wiring_options.hpp"

namespace tenure::cli {
namespace {

struct CheckOptions {
  StoreOption store;
  std::string election;
  std::int64_t token = 0;
  std::optional<std::int64_t> generation;
};

constexpr const char* tokenHelp = R"help(A fencing token tells terms apart: it grows from each to the next.
)help";

constexpr const char* tokenExamples =
    R"help(tenure token check --store sqlite:ledger.db --election ledger --token 4294967312)help";

constexpr const char* checkHelp =
    R"help(Tells whether the token is still the highest that has claimed the store: exit code 0, or 1 when a
newer term has claimed, or none ever has.

The answer is advice. It was true when the store was read, and a newer term may claim between that
moment and whatever is done next (time of check, time of use): a process can be paused for any
time in between. It saves a leader that has long been replaced from useless work; it does not keep
one from doing harm. What must be safe asks for the token inside the transaction that commits the
work, where no claim can come in between; docs/guides/fence.md shows the SQL.

A command of `tenure run --store` needs no options: it has them in its environment.
)help";

constexpr const char* checkExamples =
    R"help(tenure token check --store sqlite:ledger.db --election ledger --token 4294967312
tenure token check && ./send-the-report)help";

Exit answer(const CheckOptions& options, const FenceRow& row) {
  const bool sameGeneration = options.generation.value_or(row.generation) == row.generation;
  if (sameGeneration && row.token.value == options.token) {
    std::cout << "current: no newer term has claimed" << std::endl;
    return Exit::done;
  }
  std::cout << "not current: the last claim is of token " << row.token.value << ", generation " << row.generation
            << ", at " << formatWallTime(row.claimedAt) << std::endl;
  return Exit::no;
}

Exit check(const CheckOptions& options) {
  const auto store = options.store.parsed(false);
  if (!store) return refuse("", store.error());
  const auto row = claimIn(**store, {options.election});
  if (!row) return refuse("--store", row.error());
  if (*row) return answer(options, **row);
  std::cout << "not current: the election " << options.election << " has never claimed this store" << std::endl;
  return Exit::no;
}

}  // namespace

std::vector<Command> tokenCommands() {
  auto options = std::make_shared<CheckOptions>();
  Option token{"--token", count(options->token), "The token", {.required = true}};
  token.value.byDefault.clear();
  Option generation{"--generation", count(options->generation), "The generation that it belongs to", {}};
  generation.value.byDefault = "the store's";
  return {{.name = "token",
           .about = "Ask a store whether a fencing token is still the highest",
           .help = tokenHelp,
           .examples = tokenExamples},
          {.name = "token check",
           .about = "Tell whether no newer term has claimed; advice, not protection",
           .groups = {{"Options",
                       {options->store.row("Which store, for example sqlite:ledger.db", {.required = true}),
                        electionRow(options->election, true), std::move(token), std::move(generation)}}},
           .help = checkHelp,
           .examples = checkExamples,
           .act = [options] { return check(*options); },
           .hasUrls = true}};
}

}  // namespace tenure::cli
