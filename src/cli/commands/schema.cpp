#include <functional>
#include <iostream>
#include <memory>

#include "cli/commands/commands.hpp"
#include "cli/options/wiring_options.hpp"

namespace tenure::cli {
namespace {

constexpr const char* schemaHelp =
    R"help(PostgreSQL's tables are made by you, once, in the schema that the connection finds first; a replica
never creates them, so that a database that lost them is noticed. SQLite and Redis make their own.

Every command refuses tables of another version with exit 78 and says so. Until the first release
a change of the tables raises their version, and nothing brings older ones forward: make new ones.
From then on `tenure schema apply` brings them forward, step by step, each in one transaction, and
keeps all that is there; on SQLite the first leader of the new version does it as well.
)help";

constexpr const char* schemaExamples = R"help(tenure schema apply --store postgresql://owner@db/shop
tenure schema print --store postgresql://owner@db/shop | psql shop)help";

constexpr const char* schemaPrintHelp =
    R"help(For whoever may make tables; `tenure schema --help` says what they are for.
With --outbox, a table of your own that can be a queue: your transactions write rows, and a leader
sends them. It is yours: change it as you like, and tell the URL what its columns are.
)help";

constexpr const char* schemaPrintExamples = R"help(tenure schema print --store postgresql://owner@db/shop | psql shop
tenure schema print --store postgresql://owner@db/shop --outbox shop.outbox | psql shop)help";

using Act = std::function<Exit(const Backend& backend)>;

Exit print(const Backend& backend, const std::string& outbox) {
  const auto sql = outbox.empty() ? Result<std::string>(backend.schemaSql()) : backend.outboxSql(outbox);
  if (!sql) return refuse("--outbox", sql.error());
  std::cout << *sql << std::flush;
  return Exit::done;
}

Exit apply(const Backend& backend) {
  if (const auto applied = backend.applySchema(); !applied) return refuse("--store", applied.error());
  std::cout << "the tables are there" << std::endl;
  return Exit::done;
}

struct SchemaOptions {
  StoreOption store;
  std::string outbox;

  Option row() {
    return store.row("Which database or file, for example postgresql://owner@db/shop", {.required = true});
  }
  Option outboxRow() {
    return {
        "--outbox", text(outbox, "NAME"), "Instead, a table of this name for your own messages", {.momentary = true}};
  }
};

Exit act(const SchemaOptions& options, const Act& act) {
  const auto backend = options.store.parsed(true);
  if (!backend) return refuse("", backend.error());
  if ((*backend)->schemaSql().empty())
    return refuse("--store", Error{Errc::unsupported, "this backend makes what it needs by itself"});
  return act(**backend);
}

}  // namespace

std::vector<Command> schemaCommands() {
  auto options = std::make_shared<SchemaOptions>();
  return {
      {.name = "schema",
       .about = "The tables that a database must have: print, apply",
       .help = schemaHelp,
       .examples = schemaExamples},
      {.name = "schema print",
       .about = "Show the tables as SQL",
       .groups = {{"Options", {options->row(), options->outboxRow()}}},
       .help = schemaPrintHelp,
       .examples = schemaPrintExamples,
       .act =
           [options] { return act(*options, [&](const Backend& backend) { return print(backend, options->outbox); }); },
       .hasUrls = true},
      {.name = "schema apply",
       .about = "Make the tables, or take the steps that a new version brings",
       .groups = {{"Options", {options->row()}}},
       .help = "All that is there stays; `tenure schema --help` says what the tables are for.\n",
       .examples = schemaExamples,
       .act = [options] { return act(*options, apply); },
       .hasUrls = true}};
}

}  // namespace tenure::cli
