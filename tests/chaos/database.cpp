#include "chaos/database.hpp"

#include <signal.h>

#include <fstream>
#include <sstream>
#include <stdexcept>

#include "base/random.hpp"
#include "programs/ends.hpp"

namespace tenure::chaos {
namespace {

const std::vector<std::string> onlyWithAPassword{"host all all 127.0.0.1/32 scram-sha-256"};

/// Sessions over TCP are the replicas' and the producer's; ours goes through the server's socket.
const std::string theirSessions = " FROM pg_stat_activity WHERE usename = '" + std::string(test::chaosRole) + "'";

}  // namespace

Database::Database() : password_(freshUuid()), server_({}, onlyWithAPassword) {
  const std::string role = test::chaosRole;
  server_.session().ask("CREATE ROLE " + role + " LOGIN PASSWORD '" + password_ + "'; CREATE SCHEMA " + role +
                        " AUTHORIZATION " + role);
  passwordFile_ = server_.folder() / "password";
  std::ofstream(passwordFile_) << password_ << '\n';
  const Result<void> applied = postgresql::applySchema(options());
  if (!applied) throw std::runtime_error(applied.error().message());
  server_.session(role).ask(
      "CREATE TABLE ledger(n bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, id text, grp text, token bigint,"
      " prev text, hash text); CREATE INDEX ON ledger(grp, n); ALTER TABLE ledger OWNER TO " +
      role);
}

postgresql::Options Database::options() const {
  postgresql::Options options = server_.options(test::chaosRole);
  options.passwordFile = passwordFile_;
  options.queue = test::chaosQueue;
  return options;
}

test::Program::Arguments Database::wordsFor(const std::string& port) const {
  return {"database-port=" + port, "database-password=" + passwordFile_.string()};
}

bool Database::endSessions() {
  return server_.session().ask("SELECT count(pg_terminate_backend(pid))" + theirSessions) != "0";
}

bool Database::killServingProcess() {
  // The one that has a transaction open, where there is one.
  const std::string process =
      server_.session().ask("SELECT pid" + theirSessions + " ORDER BY xact_start NULLS LAST LIMIT 1");
  return process != "none" && ::kill(std::stoi(process), SIGKILL) == 0;
}

std::int64_t Database::waiting() {
  const auto stats = postgresql::openAdmin(options())->stats();
  if (!stats) throw std::runtime_error(stats.error().message());
  return stats->waiting;
}

std::vector<history::Row> Database::ledger() {
  std::istringstream lines(server_.session(test::chaosRole)
                               .ask("SELECT coalesce(string_agg(json_build_object('n', n, 'id', id, 'group', grp,"
                                    " 'token', token::text, 'prev', prev, 'hash', hash)::text, E'\\n' ORDER BY n), '')"
                                    " FROM ledger"));
  std::vector<history::Row> rows;
  for (std::string line; std::getline(lines, line);) rows.push_back(history::parseRow(line).value());
  return rows;
}

}  // namespace tenure::chaos
