/// The storage that a test program's command line names, and its ends of it:
///
///   file=F                                        one SQLite file
///   database-port=N database-password=FILE        a PostgreSQL database
///   …and broker-port=N broker-password=FILE       a RabbitMQ queue in front of that database
///
/// Servers are found on the loopback interface, or on the way of a proxy there.
#pragma once

#include <sqlite3.h>

#include <fstream>
#include <memory>
#include <string>

#include "programs/arguments.hpp"
#include "programs/unfenced.hpp"
#include "support/backends.hpp"
#include "support/postgres_server.hpp"
#include "tenure/postgresql.hpp"
#include "tenure/rabbitmq.hpp"
#include "tenure/sqlite.hpp"

namespace tenure::test {

/// Who logs in at the database, and what the queue is called.
constexpr const char* chaosRole = "chaos";
constexpr const char* chaosQueue = "orders";

inline sqlite::Options sqliteOptions(const Arguments& arguments) {
  sqlite::Options options;
  options.file = arguments.text("file");
  return options;
}

/// With limits below the session timeout, so that a fault of some seconds is an outage and not the end of the test.
inline postgresql::Options postgresOptions(const Arguments& arguments) {
  using namespace std::chrono_literals;
  postgresql::Options options;
  options.host = "127.0.0.1";
  options.port = static_cast<std::uint16_t>(arguments.number("database-port", 0));
  options.database = "postgres";
  options.user = chaosRole;
  options.passwordFile = arguments.text("database-password");
  options.queue = chaosQueue;
  options.statementLimit = 2s;
  options.networkLimit = 2s;
  return options;
}

inline rabbitmq::Options rabbitOptions(const Arguments& arguments) {
  using namespace std::chrono_literals;
  rabbitmq::Options options;
  options.host = "127.0.0.1";
  options.port = static_cast<std::uint16_t>(arguments.number("broker-port", 0));
  options.user = "tenure";
  options.passwordFile = arguments.text("broker-password");
  options.queue = chaosQueue;
  options.prefetch = 64;
  options.heartbeat = 1s;
  return options;
}

inline Replica openEnds(const Arguments& arguments, IEventSink& events) {
  if (!arguments.text("file").empty()) {
    const auto file = std::make_shared<sqlite::Database>(sqliteOptions(arguments), events);
    return {{file, &file->store()}, {file, &file->source()}};
  }
  const auto database = std::make_shared<postgresql::Database>(postgresOptions(arguments), events);
  Replica ends{{database, &database->store()}, {database, &database->source()}};
  if (!arguments.text("broker-port").empty()) ends.source = rabbitmq::makeSource(rabbitOptions(arguments), events);
  return ends;
}

inline Result<std::unique_ptr<IMessageSink>> openSink(const Arguments& arguments) {
  if (!arguments.text("file").empty()) return sqlite::openSink(sqliteOptions(arguments));
  if (!arguments.text("broker-port").empty()) return rabbitmq::openSink(rabbitOptions(arguments));
  return postgresql::openSink(postgresOptions(arguments));
}

inline void runInFile(const std::string& file, const std::string& sql, const std::string& onlyIfAny) {
  sqlite3* raw = nullptr;
  sqlite3_open(file.c_str(), &raw);
  const std::unique_ptr<sqlite3, decltype(&sqlite3_close)> connection(raw, &sqlite3_close);
  sqlite3_busy_timeout(raw, 10'000);
  const auto note = [](void* found, int, char**, char**) {
    *static_cast<bool*>(found) = true;
    return 0;
  };
  bool any = onlyIfAny.empty();
  if (!any) sqlite3_exec(raw, onlyIfAny.c_str(), note, &any, nullptr);
  if (any) sqlite3_exec(raw, sql.c_str(), nullptr, nullptr, nullptr);
}

/// Runs SQL in the store behind Tenure's back, each on a session of its own. A file's lock is asked for by a write that
/// finds no row as well; so it is looked first whether there is any.
inline Meddle meddlerWith(const Arguments& arguments) {
  if (!arguments.text("file").empty())
    return [file = arguments.text("file")](const std::string& sql, const std::string& onlyIfAny) {
      runInFile(file, sql, onlyIfAny);
    };
  std::string password;
  std::ifstream(arguments.text("database-password")) >> password;
  return [words = "host=127.0.0.1 dbname=postgres user=" + std::string(chaosRole) +
                  " port=" + arguments.text("database-port") + " password=" + password](
             const std::string& sql, const std::string&) { PostgresSession(words).tryToRun(sql); };
}

}  // namespace tenure::test
