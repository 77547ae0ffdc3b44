/// A real PostgreSQL server of our own on a free port, its data in a temporary folder, gone with the test; and worlds
/// in it: a role with a schema of its own each, so that a test program needs one server only.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "support/backends.hpp"
#include "support/program.hpp"
#include "tenure/postgresql.hpp"
#include "tenure/spi/source.hpp"

struct pg_conn;

namespace tenure::test {

/// A session behind Tenure's back. Threads: one at a time.
class PostgresSession {
 public:
  /// `words` are libpq's: "host=… port=… user=…".
  explicit PostgresSession(const std::string& words);
  /// Runs SQL, which may be several statements; the first column of the last one's first row as text, "none" without a
  /// row, "null" for a NULL. Fails the test where it fails.
  std::string ask(const std::string& sql);
  /// The same where failing is expected: the SQLSTATE, empty for success.
  std::string tryToRun(const std::string& sql);
  int serverProcess() const;
  pg_conn* handle() const noexcept { return connection_.get(); }

 private:
  std::unique_ptr<pg_conn, void (*)(pg_conn*)> connection_;
};

class PostgresServer {
 public:
  /// Started as another user when we are root. `settings` go to postgresql.conf, `access` in front of pg_hba.conf's
  /// lines, which let everybody in.
  explicit PostgresServer(const std::map<std::string, std::string>& settings = {},
                          const std::vector<std::string>& access = {});
  ~PostgresServer();
  PostgresServer(const PostgresServer&) = delete;
  PostgresServer& operator=(const PostgresServer&) = delete;

  /// The one of this test program, started on first use.
  static PostgresServer& shared();

  std::uint16_t port() const noexcept { return port_; }
  std::filesystem::path folder() const { return folder_.path(); }
  /// Over TCP, as `role`, with limits that a slow machine needs.
  postgresql::Options options(const std::string& role) const;
  /// As the superuser, in the role's schema.
  PostgresSession session(const std::string& role = {}) const;
  std::string log() const;
  /// Puts a file into the server's folder that nobody but the server may read.
  std::filesystem::path entrust(const std::string& name, const std::string& contents) const;
  /// Changes a setting of the running server; new sessions have it when this returns.
  void set(const std::string& name, const std::string& value) const;

  void stop();
  /// As a crash: every session is cut, nothing is written any more.
  void crash();
  /// kill -9 of the server; who serves a session notices by himself.
  void kill();
  void start();

 private:
  Program::Arguments asServer(const std::string& program, Program::Arguments arguments) const;
  void initialize(const std::map<std::string, std::string>& settings, const std::vector<std::string>& access);
  void launch();
  bool serves() const;

  TemporaryFolder folder_;
  std::string account_;  // that the server runs as; empty for ours
  std::uint16_t port_ = 0;
  std::optional<Program> process_;
};

class PostgresWorld : public BackendWorld {
 public:
  explicit PostgresWorld(PostgresServer& server = PostgresServer::shared());

  Replica open(IEventSink& events = noEvents()) override;
  std::unique_ptr<IMessageSink> sink() override;
  std::shared_ptr<IMessageSource> queue(const std::string& name) override;
  std::unique_ptr<IDatabaseAdmin> admin() override { return postgresql::openAdmin(options_); }
  std::unique_ptr<IStoreAdmin> adminOf(const QueueIdentity& elsewhere) override {
    postgresql::Options served = options_;
    served.elsewhere = elsewhere;
    return postgresql::openAdmin(served);
  }
  std::unique_ptr<ScheduledMessages> scheduled() override { return postgresql::openScheduled(options_); }
  /// And nobody is evicted: who is blocked stays so.
  void beImpatient() override;
  void dropFence(const std::string& election) override;
  bool endConnections() override;
  bool killServer() override;

  PostgresServer& server() noexcept { return server_; }
  const std::string& role() const noexcept { return role_; }
  postgresql::Options& options() noexcept { return options_; }
  /// A session in this world's schema, as the superuser.
  PostgresSession session() const { return server_.session(role_); }
  std::string ask(const std::string& sql) const { return session().ask(sql); }

 private:
  PostgresServer& server_;
  std::string role_;
  postgresql::Options options_;
};

}  // namespace tenure::test
