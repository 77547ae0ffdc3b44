#include <CLI/CLI.hpp>
#include <functional>
#include <iostream>
#include <memory>
#include <optional>

#include "cli/tool.hpp"
#include "cli/wiring_options.hpp"

namespace tenure::cli {
namespace {

constexpr const char* schemaHelp = R"help(
PostgreSQL's tables are made by you, once, in the schema that the connection finds first; a replica
never creates them, so that a database that lost them is noticed. A newer Tenure may need more of
them: it says so and exits 78 until they are applied again, which keeps all that is there; replicas
of the older one then go on until they connect anew. SQLite and Redis make their own.

Examples:
  tenure schema apply --store postgresql://owner@db/shop
  tenure schema print --store postgresql://owner@db/shop | psql shop
  tenure schema print --store postgresql://owner@db/shop --from 1
)help";

using Act = std::function<Exit(const Backend& backend)>;

Exit print(const Backend& backend, std::optional<std::int64_t> from) {
  const Result<std::string> sql = from ? backend.upgradeSql(*from) : backend.schemaSql();
  if (!sql) return refuse("--from", sql.error());
  std::cout << *sql << std::flush;
  return Exit::done;
}

Exit apply(const Backend& backend) {
  if (const auto applied = backend.applySchema(); !applied) return refuse("--store", applied.error());
  std::cout << "the tables are there" << std::endl;
  return Exit::done;
}

CLI::App& addAct(CLI::App& schema, const char* name, const char* description, const Act& act, Action& chosen) {
  auto store = std::make_shared<StoreOption>();
  CLI::App* command = schema.add_subcommand(name, description);
  store->declare(*command, true, "Which database, for example postgresql://owner@db/shop");
  command->footer(std::string(schemaHelp) + urlHelp + exitCodesHelp);
  command->callback([store, act, &chosen] {
    chosen = [store, act] {
      const auto backend = store->parsed(true);
      if (!backend) return refuse("", backend.error());
      if ((*backend)->schemaSql().empty())
        return refuse("--store", Error{Errc::unsupported, "this backend makes what it needs by itself"});
      return act(**backend);
    };
  });
  return *command;
}

}  // namespace

void addSchema(CLI::App& tool, Action& chosen) {
  CLI::App* schema = tool.add_subcommand("schema", "The tables that a database must have: print, apply");
  schema->require_subcommand(1);
  schema->footer(std::string(schemaHelp) + exitCodesHelp);
  const auto from = std::make_shared<std::optional<std::int64_t>>();
  addAct(
      *schema, "print", "Show them as SQL", [from](const Backend& backend) { return print(backend, *from); }, chosen)
      .add_option("--from", *from, "Show what brings the tables of that version up to date instead");
  addAct(*schema, "apply", "Make them, or bring those of an older version up to date; nothing when they are there",
         apply, chosen);
}

}  // namespace tenure::cli
