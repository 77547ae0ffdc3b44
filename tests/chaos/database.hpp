/// The PostgreSQL server of a chaos run, and what befalls it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "chaos/ways.hpp"
#include "history/line.hpp"
#include "support/postgres_server.hpp"

namespace tenure::chaos {

class Database {
 public:
  /// With Tenure's tables and an empty ledger.
  Database();

  test::PostgresServer& server() noexcept { return server_; }
  const test::PostgresServer& server() const noexcept { return server_; }
  Ways& ways() noexcept { return ways_; }
  const Ways& ways() const noexcept { return ways_; }
  /// `port` is the server's own or that of a way to it.
  test::Program::Arguments wordsFor(const std::string& port) const;
  test::Program::Arguments words() const { return wordsFor(std::to_string(server_.port())); }
  const std::string& password() const noexcept { return password_; }

  /// Ends every session but our own, as an operator may; false when there was none.
  bool endSessions();
  /// kill -9 of the process that serves a replica: the server cuts everybody else as well, and recovers.
  bool killServingProcess();

  std::int64_t waiting();
  std::vector<history::Row> ledger();

 private:
  postgresql::Options options() const;

  const std::string password_;
  test::PostgresServer server_;
  Ways ways_{server_.port()};
  std::filesystem::path passwordFile_;
};

}  // namespace tenure::chaos
