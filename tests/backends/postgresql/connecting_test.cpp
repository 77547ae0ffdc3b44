// Which servers are refused, in which words, and that no password is among them.
#include "backends/postgresql/session/connecting.hpp"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

#include <fstream>
#include <thread>

#include "backends/postgresql/rows/fence_rows.hpp"
#include "leading.hpp"
#include "support/loopback.hpp"
#include "support/tcp_proxy.hpp"

namespace tenure::postgresql {
namespace {

using namespace std::chrono_literals;
using test::failsWith;
using test::PostgresServer;
using test::Program;
using test::succeeds;
using test::TemporaryFolder;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

const std::string password = "correct-horse-battery";

Result<void> tryToConnect(const Options& options) {
  const auto connection = Connection::open(options, "test");
  return connection ? Result<void>{} : connection.error();
}

/// Certificates of an authority of our own, made by openssl.
class Authority {
 public:
  Authority() {
    run({"req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-keyout",
         path("ca.key"), "-out", certificate(), "-days", "2", "-subj", "/CN=Test"});
  }
  std::string certificate() const { return path("ca.pem"); }

  /// `name` is what the certificate speaks for: "IP:127.0.0.1", "DNS:elsewhere.example".
  void certify(const PostgresServer& server, const std::string& name, const std::string& days) const {
    std::ofstream(path("ext")) << "subjectAltName=" << name;
    run({"req", "-new", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-keyout",
         path("server.key"), "-out", path("server.csr"), "-subj", "/CN=server"});
    run({"x509", "-req", "-in", path("server.csr"), "-CA", certificate(), "-CAkey", path("ca.key"), "-extfile",
         path("ext"), "-days", days, "-out", path("server.pem")});
    give(server, "server");
  }
  /// The server shows this authority's own certificate.
  void certifyByItself(const PostgresServer& server) const { give(server, "ca"); }

 private:
  void give(const PostgresServer& server, const std::string& which) const {
    const std::string mark = test::identityWith(1).candidate.value;  // each a file of its own, so that it is read anew
    server.set("ssl_cert_file", server.entrust(mark + ".pem", contentsOf(which + ".pem")).string());
    server.set("ssl_key_file", server.entrust(mark + ".key", contentsOf(which + ".key")).string());
    server.set("ssl", "on");
  }
  std::string path(const std::string& name) const { return (folder_ / name).string(); }
  std::string contentsOf(const std::string& name) const {
    std::ifstream in(path(name), std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  void run(Program::Arguments arguments) const {
    arguments.insert(arguments.begin(), "openssl");
    Program openssl(arguments, folder_ / "log");
    const auto ended = openssl.waitForEnd();
    EXPECT_TRUE(ended && ended->exitCode == 0) << openssl.output();
  }

  TemporaryFolder folder_;
};

class Connecting : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    server_ = std::make_unique<PostgresServer>(std::map<std::string, std::string>{},
                                               std::vector<std::string>{"host all guarded 127.0.0.1/32 scram-sha-256"});
    server_->session().ask("CREATE ROLE guarded LOGIN PASSWORD '" + password + "'");
    server_->session().ask("CREATE ROLE plain LOGIN");
  }
  static void TearDownTestSuite() { server_.reset(); }

  static PostgresServer& server() { return *server_; }
  static Options options(const std::string& role = "plain") { return server().options(role); }
  std::filesystem::path passwordFile(const std::string& contents) const {
    const std::filesystem::path path = folder_ / "password";
    std::ofstream(path) << contents;
    return path;
  }

  TemporaryFolder folder_;

 private:
  static inline std::unique_ptr<PostgresServer> server_;
};

// --- passwords

int optionOf(int socket, int level, int option) {
  int value = -1;
  socklen_t size = sizeof value;
  getsockopt(socket, level, option, &value, &size);
  return value;
}

TEST(Keepalive, FindsACutWithinTheNetworkLimitWhetherIdleOrNot) {
  Options options = test::PostgresWorld().options();
  options.host = "127.0.0.1";
  options.networkLimit = 12s;

  const auto connection = Connection::open(options, "test").value();

  const int socket = connection->socket();
  EXPECT_EQ(optionOf(socket, IPPROTO_TCP, TCP_USER_TIMEOUT), 12'000);
  EXPECT_EQ(optionOf(socket, SOL_SOCKET, SO_KEEPALIVE), 1);
  const int probes = optionOf(socket, IPPROTO_TCP, TCP_KEEPCNT);
  EXPECT_EQ(probes, 3);
  EXPECT_EQ(optionOf(socket, IPPROTO_TCP, TCP_KEEPIDLE) + probes * optionOf(socket, IPPROTO_TCP, TCP_KEEPINTVL), 12);
  EXPECT_EQ(connection->ask("SELECT current_setting('tcp_user_timeout')").value().text(0, 0), "12000")
      << "and so does the server";
}

TEST_F(Connecting, ReadsThePasswordFromTheFirstLineOfAFile) {
  Options guarded = options("guarded");
  guarded.passwordFile = passwordFile(password + "\nnot this");

  EXPECT_THAT(tryToConnect(guarded), succeeds());
}

TEST_F(Connecting, ReadsThePasswordFromLibpqsOwnEnvironment) {
  setenv("PGPASSWORD", password.c_str(), 1);
  const Result<void> connected = tryToConnect(options("guarded"));
  unsetenv("PGPASSWORD");

  EXPECT_THAT(connected, succeeds());
}

TEST_F(Connecting, Row18AWrongPasswordIsSaidWithoutRepeatingIt) {
  Options guarded = options("guarded");
  guarded.passwordFile = passwordFile("incorrect-horse");

  const Result<void> connected = tryToConnect(guarded);

  EXPECT_THAT(connected, failsWith(Errc::authenticationFailed));
  EXPECT_THAT(connected.error().message(), Not(HasSubstr("incorrect-horse")));
}

TEST_F(Connecting, Row18AMissingPasswordOrRoleIsAnAuthenticationFailure) {
  const Result<void> unguarded = tryToConnect(options("guarded"));
  EXPECT_THAT(unguarded, failsWith(Errc::authenticationFailed));
  EXPECT_THAT(unguarded.error().detail, HasSubstr("PGPASSFILE")) << "says where one can stand";
  EXPECT_THAT(tryToConnect(options("nobody_here")), failsWith(Errc::authenticationFailed));
}

TEST_F(Connecting, AServerThatIsNotThereIsToldOfInOneLine) {
  Options closed = options();
  closed.host = "127.0.0.1";
  closed.port = test::portOf(test::listenOn(0));

  const Result<void> connected = tryToConnect(closed);

  EXPECT_THAT(connected, failsWith(Errc::unavailable));
  EXPECT_THAT(connected.error().detail, HasSubstr("Connection refused; Is the server running"));
}

TEST_F(Connecting, APasswordFileThatCannotBeReadIsNamed) {
  Options guarded = options("guarded");
  guarded.passwordFile = folder_ / "absent";

  const Result<void> connected = tryToConnect(guarded);

  EXPECT_THAT(connected, failsWith(Errc::configurationRefused));
  EXPECT_THAT(connected.error().detail, HasSubstr("absent"));
}

TEST_F(Connecting, Row40NoErrorOfAnySortHoldsThePassword) {
  Options guarded = options("guarded");
  guarded.passwordFile = passwordFile(password);
  Options nowhere = guarded;
  nowhere.database = "nowhere";
  Options closed = guarded;
  closed.port = test::portOf(test::listenOn(0));
  const auto connection = Connection::open(guarded, "test").value();
  const auto broken = connection->run("SELEC 1");
  server().session().ask("SELECT pg_terminate_backend(" + std::to_string(connection->serverProcess()) + ", 10000)");
  const auto lost = connection->run("SELECT 1");

  for (const Result<void>& failed : {tryToConnect(nowhere), tryToConnect(closed), broken, lost}) {
    ASSERT_FALSE(failed);
    EXPECT_THAT(failed.error().message(), Not(HasSubstr(password)));
  }
  EXPECT_THAT(connection->name(), Not(HasSubstr(password)));
}

// --- whom to trust

// shows: operations/tls-postgresql-trusts
TEST_F(Connecting, Row21AServerWithTheRightCertificateIsTrusted) {
  const Authority authority;
  authority.certify(server(), "IP:127.0.0.1", "2");
  Options secure = options();
  secure.tls = true;
  secure.tlsAuthority = authority.certificate();

  const auto connection = Connection::open(secure, "test");

  ASSERT_THAT(connection, succeeds());
  EXPECT_EQ((*connection)->ask("SELECT ssl::text FROM pg_stat_ssl WHERE pid = pg_backend_pid()")->text(0, 0), "true");
}

// shows: operations/tls-postgresql-trusts
TEST_F(Connecting, Row21AServerUnderAnotherNameIsRefused) {
  const Authority authority;
  authority.certify(server(), "DNS:elsewhere.example", "2");
  Options secure = options();
  secure.tls = true;
  secure.tlsAuthority = authority.certificate();

  const Result<void> connected = tryToConnect(secure);

  EXPECT_THAT(connected, failsWith(Errc::configurationRefused));
  EXPECT_THAT(connected.error().detail, AllOf(HasSubstr("127.0.0.1"), HasSubstr("elsewhere.example")));
}

TEST_F(Connecting, Row21AnExpiredCertificateIsRefused) {
  const Authority authority;
  authority.certify(server(), "IP:127.0.0.1", "-1");
  Options secure = options();
  secure.tls = true;
  secure.tlsAuthority = authority.certificate();

  const Result<void> connected = tryToConnect(secure);

  EXPECT_THAT(connected, failsWith(Errc::configurationRefused));
  EXPECT_THAT(connected.error().detail, HasSubstr("certificate verify failed"));
}

TEST_F(Connecting, Row21AnotherAuthoritysCertificateIsRefused) {
  const Authority authority;
  authority.certify(server(), "IP:127.0.0.1", "2");
  Options secure = options();
  secure.tls = true;
  secure.tlsAuthority = Authority().certificate();

  EXPECT_THAT(tryToConnect(secure), failsWith(Errc::configurationRefused)) << "its file is gone, too";

  const Authority other;
  secure.tlsAuthority = other.certificate();
  EXPECT_THAT(tryToConnect(secure), failsWith(Errc::configurationRefused));
}

TEST_F(Connecting, Row21ACertificateThatVouchesForItselfIsRefused) {
  const Authority trusted;
  const Authority itself;
  itself.certifyByItself(server());
  Options secure = options();
  secure.tls = true;
  secure.tlsAuthority = trusted.certificate();

  EXPECT_THAT(tryToConnect(secure), failsWith(Errc::configurationRefused));
}

// shows: operations/tls-postgresql-trusts
TEST_F(Connecting, Row20WithoutTlsAtTheServerNothingIsSentInTheClear) {
  const Authority authority;
  server().set("ssl", "off");
  Options secure = options("guarded");
  secure.passwordFile = passwordFile(password);
  secure.tls = true;
  secure.tlsAuthority = authority.certificate();

  EXPECT_THAT(tryToConnect(secure), failsWith(Errc::configurationRefused));

  secure.host = server().folder().string();
  EXPECT_THAT(tryToConnect(secure), failsWith(Errc::configurationRefused)) << "a Unix socket has no TLS";
}

TEST_F(Connecting, AServerOfAnotherProtocolIsSaidToBeNoPostgresql) {
  for (const std::string answer : {"-ERR unknown command\r\n", "SSH-2.0-x\r\n", "AMQP", ""}) {
    const test::Descriptor other = test::listenOn(0);
    Options wrong = options();
    wrong.port = test::portOf(other);
    const std::jthread answers([&](const std::stop_token& stop) {
      while (!stop.stop_requested()) {
        pollfd waiting{.fd = other.get(), .events = POLLIN, .revents = 0};
        if (poll(&waiting, 1, 20) != 1) continue;
        const test::Descriptor guest(accept(other.get(), nullptr, nullptr));
        test::receive(guest, 8);
        test::sendAll(guest, answer);
      }
    });

    const Result<void> refused = tryToConnect(wrong);

    ASSERT_THAT(refused, failsWith(Errc::unavailable)) << answer;
    EXPECT_THAT(refused.error().detail, HasSubstr("does not answer as a PostgreSQL server")) << answer;
  }
}

TEST_F(Connecting, Row22AServerThatAcceptsAndStallsIsGivenUp) {
  const test::Descriptor silent = test::listenOn(0);
  Options stalled = options();
  stalled.port = test::portOf(silent);
  stalled.connectLimit = 2s;
  for (const bool tls : {false, true}) {
    stalled.tls = tls;

    const Result<void> refused = tryToConnect(stalled);

    ASSERT_THAT(refused, failsWith(Errc::unavailable));
    EXPECT_THAT(refused.error().detail, HasSubstr("does not answer as a PostgreSQL server in time"));
  }
}

TEST_F(Connecting, Row22TheNextServerOfTheListIsTried) {
  const Authority authority;
  authority.certify(server(), "IP:127.0.0.1", "2");
  const test::Descriptor silent = test::listenOn(test::Endpoint{"127.0.0.2", server().port()});
  Options two = options();
  two.host = "127.0.0.2,127.0.0.1";
  two.connectLimit = 2s;
  two.tlsAuthority = authority.certificate();
  for (const bool tls : {false, true}) {
    two.tls = tls;

    EXPECT_THAT(tryToConnect(two), succeeds());
  }
}

TEST_F(Connecting, AConnectionThatTheServerRefusesIsNotTriedAgain) {
  server().session().ask("ALTER ROLE plain CONNECTION LIMIT 0");
  const test::TcpProxy way(server().port());
  Options full = options();
  full.port = way.port();

  const Result<void> refused = tryToConnect(full);
  server().session().ask("ALTER ROLE plain CONNECTION LIMIT -1");

  EXPECT_THAT(refused, failsWith(Errc::unavailable));
  EXPECT_THAT(refused.error().detail, HasSubstr("too many connections"));
  EXPECT_EQ(way.accepted(), 1U);
}

TEST_F(Connecting, ASilentAddressLeavesTheNextOneItsShareOfTheTime) {
  const test::Descriptor silent = test::listenOn(test::Endpoint{"127.0.0.2", server().port()});
  Options two = options();
  two.host = "127.0.0.2,127.0.0.1";
  two.connectLimit = 1h;
  class : public IAnswerWatch {
    void onOverdue(BootTime) override {}
    void onAnswered() override {}
  } nobody;
  AnswerTimer timer(4s, nobody);

  const auto connection = Connection::open(two, "test", {}, &timer);

  ASSERT_THAT(connection, succeeds());
  EXPECT_EQ(timer.since(), std::nullopt);
}

// shows: urls/postgresql-ends-statement
TEST_F(Connecting, AStatementMayTakeThreeQuartersOfTheOutageLimitAtMost) {
  class : public IAnswerWatch {
    void onOverdue(BootTime) override {}
    void onAnswered() override {}
  } nobody;
  const AnswerTimer timer(4s, nobody);

  EXPECT_EQ(statementLimit(options(), &timer), 3s);
  EXPECT_EQ(statementLimit(options(), nullptr), options().statementLimit);
}

// --- what else is unsafe

class UnsafeSetting : public Connecting, public testing::WithParamInterface<const char*> {};
INSTANTIATE_TEST_SUITE_P(Values, UnsafeSetting, testing::Values("off", "local", "remote_write"));

TEST_P(UnsafeSetting, IsRefusedUnlessAskedFor) {
  server().session().ask("ALTER ROLE plain SET synchronous_commit = " + std::string(GetParam()));
  Options careless = options();
  careless.allowUnsafeCommits = true;

  const Result<void> connected = tryToConnect(options());
  const Result<void> allowed = tryToConnect(careless);
  server().session().ask("ALTER ROLE plain RESET synchronous_commit");

  EXPECT_THAT(connected, failsWith(Errc::configurationRefused));
  EXPECT_THAT(connected.error().detail,
              AllOf(HasSubstr("synchronous_commit=" + std::string(GetParam())), HasSubstr("allow-unsafe")));
  EXPECT_THAT(allowed, succeeds());
}

TEST_F(Connecting, AServerThatDoesNotSyncItsDiskIsRefused) {
  server().set("fsync", "off");
  const Result<void> connected = tryToConnect(options());
  server().set("fsync", "on");

  EXPECT_THAT(connected, failsWith(Errc::configurationRefused));
}

TEST_F(Connecting, AServerThatOnlyReadsIsUnavailable) {
  server().session().ask("ALTER ROLE plain SET default_transaction_read_only = on");
  const Result<void> connected = tryToConnect(options());
  server().session().ask("ALTER ROLE plain RESET default_transaction_read_only");

  EXPECT_THAT(connected, failsWith(Errc::unavailable));
}

TEST_F(Connecting, ADatabaseThatIsNotThereIsSaid) {
  Options nowhere = options();
  nowhere.database = "nowhere";

  EXPECT_THAT(tryToConnect(nowhere), failsWith(Errc::notFound));
}

TEST_F(Connecting, ARolesOwnDefaultsDoNotChangeWhatATransactionIs) {
  server().session().ask("ALTER ROLE plain SET default_transaction_isolation = 'serializable'");
  server().session().ask("ALTER ROLE plain SET standard_conforming_strings = off");
  const auto connection = Connection::open(options(), "test").value();
  server().session().ask("ALTER ROLE plain RESET ALL");
  const auto exchange = connection->exchange(
      std::vector{beginTransaction(), command("SHOW transaction_isolation"), command("SELECT '\\'")});

  ASSERT_TRUE(exchange);
  EXPECT_EQ(exchange.answers[1].text(0, 0), "read committed");
  EXPECT_EQ(exchange.answers[2].text(0, 0), "\\");
}

TEST_F(Connecting, TheServerEndsWhatItsClientHasLeft) {
  const auto connection = Connection::open(options(), "test").value();

  const auto limits =
      connection->ask("SELECT current_setting('lock_timeout') || ' ' || current_setting('statement_timeout')");

  EXPECT_EQ(limits->text(0, 0), "10s 30s");
}

TEST(Connection, IsKeptHoweverOftenAFailedTransactionIsRolledBack) {
  test::PostgresWorld world;
  const auto connection = Connection::open(world.options(), "test").value();

  for (int i = 0; i < 600; ++i) {  // a statement is prepared anew after 64 and after 512 uses
    ASSERT_THAT(connection->run("BEGIN"), succeeds());
    ASSERT_FALSE(connection->run("SELECT 1 / 0"));
    connection->rollback();
    ASSERT_FALSE(connection->isLost()) << i;
  }

  for (int i = 0; i < 300; ++i) ASSERT_TRUE(connection->ask("SELECT " + std::to_string(i)));
  ASSERT_THAT(connection->run("BEGIN"), succeeds());
  ASSERT_FALSE(connection->run("SELECT 1 / 0"));
  connection->rollback();
  EXPECT_FALSE(connection->isLost()) << "when as many statements are prepared as are kept";
}

}  // namespace
}  // namespace tenure::postgresql
