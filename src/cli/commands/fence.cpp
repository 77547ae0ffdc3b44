#include <iostream>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/text.hpp"
#include "base/validation.hpp"
#include "cli/commands/commands.hpp"
#include "cli/commands/ensemble_session.hpp"
#include "cli/options/options.hpp"
#include "cli/options/wiring_options.hpp"

namespace tenure::cli {
namespace {

struct ShowOptions {
  WiringOption wiring;
  std::string election;
  bool json = false;
};

struct RebaseOptions {
  WiringOption wiring;
  ElectionOption election;
};

constexpr const char* fenceHelp =
    R"help(The fence is what a store knows of the terms that claimed it. A fencing token tells terms apart: it
grows from each to the next, and an older one commits nothing.
)help";

constexpr const char* fenceExamples = R"help(tenure fence show --queue 'sqlite:orders.db?queue=orders'
tenure fence rebase --queue 'sqlite:orders.db?queue=orders' --zookeeper zk1:2181 --election orders)help";

constexpr const char* showHelp =
    R"help(The fence of each election that has claimed the store: no commit gets in under an older token. In
Redis each has a place of its own: what `tenure run` has claimed there is shown with --election.
)help";

constexpr const char* showExamples = R"help(tenure fence show --queue 'sqlite:orders.db?queue=orders'
tenure fence show --store postgresql://shop@db/shop
tenure fence show --store redis://cache --election clock)help";

constexpr const char* rebaseHelp =
    R"help(When an ensemble is rebuilt, restored from an old snapshot or replaced, its tokens start lower than
the store has seen, or under another identity; when --root was changed, under another path. Every
claim is refused then (TokenRegression, ForeignEnsemble, ForeignPath; exit code 78), because nobody
can tell it from an old leader that has come back.

This makes the store accept the given ensemble and path from now on, whatever it saw before: first
it writes them with the next generation into the store, if the store has not changed meanwhile,
then the generation into the ensemble. If it stops in between, repeat it.
Be sure that no leader of the old ensemble runs any more: nothing fences it off afterwards but the
generation. Stop all replicas, rebase, start them again.
)help";

constexpr const char* rebaseExamples =
    R"help(tenure fence rebase --queue 'sqlite:orders.db?queue=orders' --zookeeper zk1:2181 --election orders)help";

using Json = nlohmann::ordered_json;

Json toJson(const FenceRow& row) {
  return {{"election", row.election.value},
          {"path", row.path},
          {"ensemble", row.ensemble.value},
          {"generation", row.generation},
          {"token", std::to_string(row.token.value)},
          {"sequence", row.sequence},
          {"host", row.holder.host},
          {"pid", row.holder.pid},
          {"claimed_at", formatWallTime(row.claimedAt)}};
}

void printText(const FenceRow& row) {
  std::cout << escaped(row.election.value) << "  token " << row.token.value << "  commits " << row.sequence
            << "  generation " << row.generation << "  ensemble " << escaped(row.ensemble.value) << "  path "
            << escaped(row.path) << "  holder " << escaped(row.holder.host) << ":" << row.holder.pid << "  claimed "
            << formatWallTime(row.claimedAt) << "\n";
}

Result<std::vector<FenceRow>> rowsFor(const std::optional<ElectionName>& election, Backend& store) {
  if (!election) return store.storeAdmin()->fenceRows();
  const auto row = claimIn(store, *election);
  if (!row) return row.error();
  return *row ? std::vector{**row} : std::vector<FenceRow>{};
}

constexpr const char* whichStore = "say which store: --store, or --queue when it is with the queue";

Exit show(const ShowOptions& options) {
  if (options.wiring.isEmpty()) return wrongUsage(whichStore);
  const auto wiring = options.wiring.parsed(false);
  if (!wiring) return refuse("", wiring.error());
  const auto election = options.election.empty() ? std::optional<ElectionName>{} : ElectionName{options.election};
  const auto rows = rowsFor(election, wiring->storeBackend());
  if (!rows) return refuse(options.wiring.storeName(), rows.error());
  for (const FenceRow& row : *rows)
    if (options.json)
      std::cout << toJson(row).dump(-1, ' ', false, Json::error_handler_t::replace) << "\n";
    else
      printText(row);
  std::cout << std::flush;
  if (rows->empty())
    complain(election ? "the election " + election->value + " has never claimed this store"
                      : "no election has claimed this store yet");
  return rows->empty() ? Exit::no : Exit::done;
}

/// A store, and the option that named it.
struct NamedStore {
  Backend& backend;
  const char* option;
};

/// The row of one election; notFound when it never claimed.
Result<FenceRow> rowOf(const NamedStore& store, const ElectionName& election) {
  const auto row = claimIn(store.backend, election);
  if (!row) return named(store.option, row.error());
  if (*row) return **row;
  return Error{Errc::notFound, "the election " + election.value + " has never claimed this store: nothing to rebase"};
}

Result<MetaRecord> rebaseOn(EnsembleSession& session, const ElectionAddress& address, const NamedStore& store) {
  const ElectionPaths paths(address.root, address.election);
  if (const auto last = lastTermWhereNobodyLeads(session, paths); !last) return last.error();
  const auto row = rowOf(store, address.election);
  if (!row) return row.error();
  auto meta = readMeta(session, paths);
  if (!meta) return meta.error();

  MetaRecord& next = meta->record;
  next.generation = std::max(next.generation, row->generation) + 1;
  const auto admin = store.backend.storeAdmin();
  if (const auto stored = admin->rebaseFence(*row, next.ensemble, next.generation, paths.election); !stored)
    return named(store.option, stored.error());
  const auto told = session.ask<NodeStat>([&](ICoordination& coordination, Callback<NodeStat> done) {
    coordination.set(paths.meta, toJson(next), meta->version, std::move(done));
  });
  if (!told) return Error{told.error().code, "the store is rebased, " + paths.meta + " is not: repeat the command"};
  return next;
}

Exit rebase(const RebaseOptions& options) {
  if (options.wiring.isEmpty()) return wrongUsage(whichStore);
  const auto wiring = options.wiring.parsed(false);
  if (!wiring) return refuse("", wiring.error());
  const auto address = parse(options.election);
  if (!address) return refuse("", address.error());
  wiring->storeBackend().joinElection(address->zookeeper);
  const auto session = EnsembleSession::connect(address->zookeeper);
  if (!session) return refuse("--zookeeper", session.error());
  const auto now = rebaseOn(**session, *address, {wiring->storeBackend(), options.wiring.storeName()});
  if (!now) return refuse("", now.error());
  std::cout << "the store accepts ensemble " << escaped(now->ensemble.value) << ", generation " << now->generation
            << ", path " << address->path() << std::endl;
  return Exit::done;
}

// --- whether a term is still the last that has claimed

struct CheckTokenOptions {
  StoreOption store;
  std::string election;
  std::int64_t token = 0;
  std::optional<std::int64_t> generation;
};

constexpr const char* checkTokenHelp =
    R"help(Tells whether the token is still the highest that has claimed the store: exit code 0, or 1 when a
newer term has claimed, or none ever has.

The answer is advice. It was true when the store was read, and a newer term may claim between that
moment and whatever is done next (time of check, time of use): a process can be paused for any
time in between. It saves a leader that has long been replaced from useless work; it does not keep
one from doing harm. What must be safe asks for the token inside the transaction that commits the
work, where no claim can come in between; docs/guides/fence.md shows the SQL.

A command of `tenure run --store` needs no options: it has them in its environment.
)help";

constexpr const char* checkTokenExamples =
    R"help(tenure fence check --store sqlite:ledger.db --election ledger --token 4294967312
tenure fence check && ./send-the-report)help";

Exit answerOf(const CheckTokenOptions& options, const FenceRow& row) {
  const bool sameGeneration = options.generation.value_or(row.generation) == row.generation;
  if (sameGeneration && row.token.value == options.token) {
    std::cout << "current: no newer term has claimed" << std::endl;
    return Exit::done;
  }
  std::cout << "not current: the last claim is of token " << row.token.value << ", generation " << row.generation
            << ", at " << formatWallTime(row.claimedAt) << std::endl;
  return Exit::no;
}

Exit checkToken(const CheckTokenOptions& options) {
  const auto store = options.store.parsed(false);
  if (!store) return refuse("", store.error());
  const auto row = claimIn(**store, {options.election});
  if (!row) return refuse("--store", row.error());
  if (*row) return answerOf(options, **row);
  std::cout << "not current: the election " << options.election << " has never claimed this store" << std::endl;
  return Exit::no;
}

Command checkTokenCommand() {
  auto options = std::make_shared<CheckTokenOptions>();
  Option token{"--token", count(options->token), "The token", {.required = true}};
  token.value.byDefault.clear();
  Option generation{"--generation", count(options->generation), "The generation that it belongs to", {}};
  generation.value.byDefault = "the store's";
  return {.name = "fence check",
          .about = "Tell whether no newer term has claimed; advice, not protection",
          .groups = {{"Options",
                      {options->store.row("Which store, for example sqlite:ledger.db", {.required = true}),
                       electionRow(options->election, true), std::move(token), std::move(generation)}}},
          .help = checkTokenHelp,
          .examples = checkTokenExamples,
          .act = [options] { return checkToken(*options); },
          .hasUrls = true};
}

}  // namespace

std::vector<Command> fenceCommands() {
  auto shown = std::make_shared<ShowOptions>();
  Option election = electionRow(shown->election, false);
  election.help = "Only the fence of this election";
  election.ties.momentary = true;
  auto rebased = std::make_shared<RebaseOptions>();
  return {{.name = "fence",
           .about = "Look at a store's fence, or rebase it after an ensemble was rebuilt",
           .help = fenceHelp,
           .examples = fenceExamples},
          {.name = "fence show",
           .about = "Show which term may commit",
           .groups = {{"Options",
                       joined(shown->wiring.storeRows(), {std::move(election), jsonRow(shown->json, "a line")})}},
           .help = showHelp,
           .examples = showExamples,
           .act = [shown] { return show(*shown); },
           .hasUrls = true},
          checkTokenCommand(),
          {.name = "fence rebase",
           .about = "Make the store accept this ensemble",
           .groups = {{"Store", rebased->wiring.storeRows()}, {"Election", rebased->election.rows()}},
           .help = rebaseHelp,
           .examples = rebaseExamples,
           .act = [rebased] { return rebase(*rebased); },
           .hasUrls = true}};
}

}  // namespace tenure::cli
