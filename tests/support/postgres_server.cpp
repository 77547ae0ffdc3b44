#include "support/postgres_server.hpp"

#include <gtest/gtest.h>
#include <libpq-fe.h>
#include <pwd.h>
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <fstream>
#include <stdexcept>

#include "support/ensemble.hpp"

namespace tenure::test {
namespace {

using namespace std::chrono_literals;

constexpr const char* superuser = "superuser";

std::filesystem::path programs() {
  std::filesystem::path newest;
  const std::filesystem::path versions = "/usr/lib/postgresql";
  if (std::filesystem::is_directory(versions))
    for (const auto& version : std::filesystem::directory_iterator(versions))
      newest = std::max(newest, version.path() / "bin");
  return newest;
}

/// PostgreSQL refuses to run as root.
std::string accountForServer() {
  if (geteuid() != 0) return {};
  return getpwnam("postgres") != nullptr ? "postgres" : "nobody";
}

void giveTo(const std::string& account, const std::filesystem::path& path) {
  if (account.empty()) return;
  const passwd* entry = getpwnam(account.c_str());
  if (chown(path.c_str(), entry->pw_uid, entry->pw_gid) != 0)
    throw std::runtime_error("cannot give away " + path.string());
}

std::string firstValue(const PGresult* result) {
  if (PQntuples(result) == 0) return "none";
  return PQgetisnull(result, 0, 0) != 0 ? "null" : PQgetvalue(result, 0, 0);
}

}  // namespace

PostgresSession::PostgresSession(const std::string& words) : connection_(PQconnectdb(words.c_str()), &PQfinish) {
  EXPECT_EQ(PQstatus(connection_.get()), CONNECTION_OK) << PQerrorMessage(connection_.get());
  PQsetNoticeReceiver(
      connection_.get(), [](void*, const PGresult*) {}, nullptr);
}

std::string PostgresSession::ask(const std::string& sql) {
  const std::unique_ptr<PGresult, decltype(&PQclear)> result(PQexec(connection_.get(), sql.c_str()), &PQclear);
  const ExecStatusType status = PQresultStatus(result.get());
  EXPECT_TRUE(status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK) << sql << ": " << PQerrorMessage(handle());
  return firstValue(result.get());
}

std::string PostgresSession::tryToRun(const std::string& sql) {
  const std::unique_ptr<PGresult, decltype(&PQclear)> result(PQexec(connection_.get(), sql.c_str()), &PQclear);
  const char* state = PQresultErrorField(result.get(), PG_DIAG_SQLSTATE);
  return state == nullptr ? "" : state;
}

int PostgresSession::serverProcess() const { return PQbackendPID(connection_.get()); }

PostgresServer::PostgresServer(const std::map<std::string, std::string>& settings,
                               const std::vector<std::string>& access)
    : account_(accountForServer()) {
  giveTo(account_, folder_.path());
  initialize(settings, access);
  for (int attempt = 0; attempt < startAttempts; ++attempt) {
    port_ = freePorts(1).front();
    launch();
    if (eventually([&] { return serves() || process_->waitForEnd(0ms).has_value(); }, startLimit) && serves()) return;
    process_.reset();  // most likely somebody took the port: choose another
  }
  throw std::runtime_error("PostgreSQL does not start: " + log());
}

PostgresServer::~PostgresServer() {
  if (process_) crash();
}

PostgresServer& PostgresServer::shared() {
  static PostgresServer server;
  return server;
}

/// The kernel forgets the signal for a dead parent when the account changes, so it is asked for once more; a crash is
/// what lets the server clean up after itself.
Program::Arguments PostgresServer::asServer(const std::string& program, Program::Arguments arguments) const {
  Program::Arguments all{"setpriv", "--pdeathsig", "QUIT"};
  if (!account_.empty()) all.insert(all.end(), {"--reuid", account_, "--regid", account_, "--clear-groups"});
  all.push_back((programs() / program).string());
  all.insert(all.end(), arguments.begin(), arguments.end());
  return all;
}

void PostgresServer::initialize(const std::map<std::string, std::string>& settings,
                                const std::vector<std::string>& access) {
  const std::filesystem::path data = folder_ / "data";
  Program initdb(asServer("initdb", {"-D", data.string(), "-U", superuser, "-A", "trust", "-E", "UTF8",
                                     "--locale=C.UTF-8", "--no-sync"}),
                 folder_ / "initdb.log");
  const auto ended = initdb.waitForEnd(startLimit);
  if (!ended || ended->exitCode != 0) throw std::runtime_error("initdb fails: " + contentsOf(folder_ / "initdb.log"));
  std::ofstream conf(data / "postgresql.conf", std::ios::app);
  conf << "listen_addresses = '127.0.0.1'\nunix_socket_directories = '" << folder_.path().string()
       << "'\nshared_buffers = 16MB\nmax_connections = 60\ndynamic_shared_memory_type = mmap\n"
          "log_line_prefix = '%m %p %a '\nlc_messages = 'C'\n";
  for (const auto& [name, value] : settings) conf << name << " = '" << value << "'\n";
  const std::string standard = contentsOf(data / "pg_hba.conf");
  std::ofstream hba(data / "pg_hba.conf");
  for (const std::string& line : access) hba << line << '\n';
  hba << standard;
}

void PostgresServer::launch() {
  process_.emplace(asServer("postgres", {"-D", (folder_ / "data").string(), "-p", std::to_string(port_)}),
                   folder_ / "server.log");
}

bool PostgresServer::serves() const {
  const std::string words =
      "host=127.0.0.1 dbname=postgres user=" + std::string(superuser) + " port=" + std::to_string(port_);
  return PQping(words.c_str()) == PQPING_OK;
}

postgresql::Options PostgresServer::options(const std::string& role) const {
  postgresql::Options options;
  options.host = "127.0.0.1";
  options.port = port_;
  options.database = "postgres";
  options.user = role;
  options.queue = "orders";
  options.lockLimit = 10s;
  options.connectLimit = 30s;
  options.idleInTransactionLimit = 60s;
  return options;
}

PostgresSession PostgresServer::session(const std::string& role) const {
  PostgresSession session("host=" + folder_.path().string() + " port=" + std::to_string(port_) +
                          " dbname=postgres user=" + superuser + " application_name=meddler");
  if (!role.empty()) session.ask("SET search_path = " + role);
  return session;
}

std::string PostgresServer::log() const { return contentsOf(folder_ / "server.log"); }

std::filesystem::path PostgresServer::entrust(const std::string& name, const std::string& contents) const {
  const std::filesystem::path path = folder_ / name;
  std::filesystem::remove(path);
  std::ofstream(path, std::ios::binary) << contents;
  std::filesystem::permissions(path, std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
  giveTo(account_, path);
  return path;
}

void PostgresServer::set(const std::string& name, const std::string& value) const {
  PostgresSession root = session();
  root.ask("ALTER SYSTEM SET " + name + " = '" + value + "'");
  root.ask("SELECT pg_reload_conf()");
  // A session is as its server was when it began.
  if (!eventually([&] { return session().ask("SHOW " + name) == value; }, startLimit))
    throw std::runtime_error(name + " does not become " + value);
}

void PostgresServer::stop() {
  process_->signal(SIGINT);
  process_->waitForEnd(startLimit);
  process_.reset();
}

void PostgresServer::crash() {
  process_->signal(SIGQUIT);
  process_->waitForEnd(startLimit);
  process_.reset();
}

void PostgresServer::kill() {
  process_->signal(SIGKILL);
  process_->waitForEnd(startLimit);
  process_.reset();
}

void PostgresServer::start() {
  // Those of a killed server end one after the other, and until then the next one refuses to begin.
  const auto isThere = [&] {
    if (!process_ || process_->waitForEnd(0ms)) launch();
    return serves();
  };
  if (!eventually(isThere, startLimit)) throw std::runtime_error("PostgreSQL does not start: " + log());
}

PostgresWorld::PostgresWorld(PostgresServer& server) : server_(server) {
  static std::atomic<int> worlds{0};
  role_ = "world" + std::to_string(++worlds);
  server_.session().ask("CREATE ROLE " + role_ + " LOGIN; CREATE SCHEMA " + role_ + " AUTHORIZATION " + role_);
  options_ = server_.options(role_);
  const Result<void> applied = postgresql::applySchema(options_);
  EXPECT_TRUE(applied.has_value()) << applied.error().message();
}

Replica PostgresWorld::open(IEventSink& events) {
  auto database = std::make_shared<postgresql::Database>(options_, events);
  return {{database, &database->store()}, {database, &database->source()}};
}

std::shared_ptr<IMessageSource> PostgresWorld::queue(const std::string& name) {
  postgresql::Options other = options_;
  other.queue = name;
  const auto database = std::make_shared<postgresql::Database>(other, noEvents());
  return {database, &database->source()};
}

std::unique_ptr<IMessageSink> PostgresWorld::sink() {
  auto sink = postgresql::openSink(options_);
  EXPECT_TRUE(sink.has_value()) << sink.error().message();
  return std::move(sink).value();
}

void PostgresWorld::beImpatient() {
  options_.lockLimit = 150ms;
  options_.evictFrozenHolder = false;
}

void PostgresWorld::dropFence(const std::string& election) {
  ask("DELETE FROM tenure_fence WHERE election = '" + election + "'");
}

bool PostgresWorld::endConnections() {
  ask("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = '" + role_ + "'");
  return true;
}

bool PostgresWorld::killServer() {
  server_.kill();
  server_.start();
  return true;
}

}  // namespace tenure::test
