// What a refused attempt to connect means, and how it is told, in whatever language the server speaks.
#include "backends/postgresql/session/refusal.hpp"

#include <gmock/gmock.h>

#include <cstdlib>
#include <fstream>
#include <optional>

#include "backends/postgresql/session/connection.hpp"
#include "support/postgres_server.hpp"
#include "support/results.hpp"

namespace tenure::postgresql {
namespace {

using testing::HasSubstr;
using testing::Not;

const std::string germanRefusal =
    "connection to server at \"127.0.0.1\", port 5432 failed: FATAL:  28P01: Passwort-Authentifizierung für Benutzer "
    "»shop« fehlgeschlagen\nLOCATION:  auth_failed, auth.c:326\n";

/// As libpq puts it together, from a server whose sentences nobody here knows.
std::string withState(const std::string& state) {
  return "connection to server at \"h\", port 5432 failed: FATAL:  " + state + ": etwas\nLOCATION:  f, file.c:1\n";
}

TEST(Refusal, IsToldApartByLibpqsSentence) {
  EXPECT_EQ(meaningOfRefusal("connection to server at \"h\" failed: Connection refused"), Errc::unavailable);
  EXPECT_EQ(meaningOfRefusal("FATAL: the database system is starting up"), Errc::unavailable);
  EXPECT_EQ(meaningOfRefusal("FATAL: password authentication failed for user \"u\""), Errc::authenticationFailed);
  EXPECT_EQ(meaningOfRefusal("FATAL: role \"u\" does not exist"), Errc::authenticationFailed);
  EXPECT_EQ(meaningOfRefusal("FATAL: no pg_hba.conf entry for host"), Errc::authenticationFailed);
  EXPECT_EQ(meaningOfRefusal("FATAL: database \"d\" does not exist"), Errc::notFound);
  EXPECT_EQ(meaningOfRefusal("SSL error: certificate verify failed"), Errc::configurationRefused);
  EXPECT_EQ(meaningOfRefusal("server does not support SSL, but SSL was required"), Errc::configurationRefused);
}

TEST(Refusal, IsToldApartByItsStateWhateverTheLanguage) {
  EXPECT_EQ(meaningOfRefusal(germanRefusal), Errc::authenticationFailed);
  EXPECT_EQ(meaningOfRefusal(withState("28000")), Errc::authenticationFailed);
  EXPECT_EQ(meaningOfRefusal(withState("3D000")), Errc::notFound);
  EXPECT_EQ(meaningOfRefusal(withState("42501")), Errc::permissionDenied);
  for (const char* passing : {"57P03", "53300", "XX000"})
    EXPECT_EQ(meaningOfRefusal(withState(passing)), Errc::unavailable) << passing;
}

TEST(Refusal, OfOneServerOfAListIsNotHiddenByOthersThatAreAway) {
  EXPECT_EQ(meaningOfRefusal("connection to server at \"a\", port 1 failed: Connection refused\n"
                             "\tIs the server running on that host and accepting TCP/IP connections?\n" +
                             withState("57P03") + withState("28P01")),
            Errc::authenticationFailed);
}

TEST(Refusal, IsToldOnOneLineWithoutItsStateAndItsPlaceInTheSource) {
  EXPECT_EQ(sentenceOf(germanRefusal),
            "connection to server at \"127.0.0.1\", port 5432 failed: FATAL:  Passwort-Authentifizierung für Benutzer "
            "»shop« fehlgeschlagen");
  EXPECT_EQ(sentenceOf("a failed: Connection refused\n\tIs the server running?\n"),
            "a failed: Connection refused; Is the server running?");
  EXPECT_EQ(sentenceOf("FATAL:  42704: x\nORT:  f, guc.c:77\n"), "FATAL:  x");
  EXPECT_EQ(sentenceOf("FATAL:  12345: "), "FATAL:  ");
  EXPECT_EQ(sentenceOf(""), "");
}

/// A server that speaks German where its translation is installed; elsewhere it says the same in English.
class GermanServer : public testing::Test {
 protected:
  GermanServer() {
    setenv("LANGUAGE", "de", 1);
    server_.emplace(std::map<std::string, std::string>{{"lc_messages", "C.UTF-8"}},
                    std::vector<std::string>{"host all guarded 127.0.0.1/32 scram-sha-256"});
    unsetenv("LANGUAGE");
    server_->session().ask("CREATE ROLE plain LOGIN; CREATE ROLE guarded LOGIN PASSWORD 'correct-horse'");
  }
  Error refusalOf(const Options& options) {
    const auto connection = Connection::open(options, "test");
    EXPECT_FALSE(connection);
    return connection ? Error{Errc::cancelled} : connection.error();
  }

  std::optional<test::PostgresServer> server_;
};

TEST_F(GermanServer, RefusesAsClearlyAsAnEnglishOne) {
  Options guarded = server_->options("guarded");
  guarded.passwordFile = server_->folder() / "password";
  std::ofstream(guarded.passwordFile) << "incorrect-horse\n";
  Options nowhere = server_->options("plain");
  nowhere.database = "nowhere";

  const Error wrongPassword = refusalOf(guarded);

  EXPECT_TRUE(wrongPassword.is(Errc::authenticationFailed)) << wrongPassword.message();
  for (const char* hidden : {"incorrect-horse", "28P01", "LOCATION", "auth.c"})
    EXPECT_THAT(wrongPassword.message(), Not(HasSubstr(hidden)));
  EXPECT_TRUE(refusalOf(server_->options("nobody_here")).is(Errc::authenticationFailed));
  EXPECT_TRUE(refusalOf(nowhere).is(Errc::notFound));
}

TEST_F(GermanServer, SpeaksAsBrieflyOnceItIsOpen) {
  std::stop_source stop;  // one that may be stopped is asked for codes from the beginning
  const auto connection = Connection::open(server_->options("plain"), "test", stop.get_token()).value();

  const auto failed = connection->script("SELEC 1");

  ASSERT_FALSE(failed);
  EXPECT_THAT(failed.error().message(), Not(HasSubstr("42601")));
}

}  // namespace
}  // namespace tenure::postgresql
