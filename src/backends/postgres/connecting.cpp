#include "backends/postgres/connecting.hpp"

#include <libpq-fe.h>
#include <poll.h>

#include <algorithm>
#include <fstream>
#include <vector>

#include "backends/postgres/refusal.hpp"
#include "backends/shared/cut_off.hpp"
#include "base/text.hpp"
#include "tenure/secret.hpp"

namespace tenure::postgresql {
namespace {

using std::chrono::duration_cast;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr int oldestServer = 140000;  // client_connection_check_interval, and what else we rely on

/// Keywords and values as libpq takes them; what is empty is left to it.
class Words {
 public:
  void add(const char* keyword, std::string value) {
    if (value.empty()) return;
    keywords_.push_back(keyword);
    values_.push_back(std::move(value));
  }
  /// `open` is PQconnectdbParams, or PQconnectStartParams, which does not wait.
  pg_conn* give(pg_conn* (*open)(const char* const*, const char* const*, int)) const {
    std::vector<const char*> keywords = keywords_;
    std::vector<const char*> values;
    for (const std::string& value : values_) values.push_back(value.c_str());
    keywords.push_back(nullptr);
    values.push_back(nullptr);
    return open(keywords.data(), values.data(), 0);
  }

 private:
  std::vector<const char*> keywords_;
  std::vector<std::string> values_;
};

Result<Secret> passwordFrom(const std::filesystem::path& file) {
  if (file.empty()) return Secret{};
  std::ifstream in(file);
  std::string line;
  if (std::getline(in, line) && !line.empty()) return Secret{std::move(line)};
  return Error{Errc::configurationRefused, "no password can be read from " + escaped(file.string())};
}

std::string secondsOf(milliseconds duration, seconds least) {
  return std::to_string(std::max(std::chrono::ceil<seconds>(duration), least).count());
}

/// What an idle connection is asked, so that a cut is found after about `limit`.
void addKeepalives(Words& words, milliseconds limit) {
  constexpr int probes = 3;
  words.add("keepalives", "1");
  words.add("keepalives_idle", secondsOf(limit / 2, seconds{1}));
  words.add("keepalives_interval", secondsOf(limit / (2 * probes), seconds{1}));
  words.add("keepalives_count", std::to_string(probes));
  words.add("tcp_user_timeout", std::to_string(limit.count()));
}

Words wordsFor(const Options& options, const std::string& applicationName, const Secret& password, Server which) {
  Words words;
  words.add("host", options.host);
  words.add("port", options.port == 0 ? "" : std::to_string(options.port));
  words.add("dbname", options.database);
  words.add("user", options.user);
  words.add("password", password.reveal());
  words.add("application_name", applicationName);
  words.add("client_encoding", "UTF8");
  words.add("connect_timeout", secondsOf(options.connectLimit, seconds{2}));
  words.add("target_session_attrs", which == Server::any ? "any" : "read-write");
  addKeepalives(words, options.networkLimit);
  if (options.tls) {
    words.add("sslmode", "verify-full");
    words.add("sslrootcert", options.tlsAuthority.string());
    words.add("gssencmode", "disable");
  }
  return words;
}

/// False when the limit has passed, or a stop was asked for.
bool awaitOpened(pg_conn* connection, BootTime deadline, const std::stop_token& stop) {
  PostgresPollingStatusType wish = PGRES_POLLING_WRITING;
  while (wish == PGRES_POLLING_READING || wish == PGRES_POLLING_WRITING) {
    const int socket = PQsocket(connection);
    if (socket < 0 || stop.stop_requested()) return false;
    const backends::CutOff cutOff(socket, stop);
    pollfd waiting{
        .fd = socket, .events = static_cast<short>(wish == PGRES_POLLING_READING ? POLLIN : POLLOUT), .revents = 0};
    const auto left = std::chrono::ceil<milliseconds>(deadline - BootClock::now());
    const int ready = left.count() <= 0 ? 0 : poll(&waiting, 1, static_cast<int>(left.count()));
    if (ready == 0) return false;
    if (ready > 0) wish = PQconnectPoll(connection);
  }
  return wish == PGRES_POLLING_OK && !stop.stop_requested();
}

Error refusal(pg_conn* connection, const Options& options) {
  const std::string_view message = PQerrorMessage(connection);
  const std::string sentence = printable(sentenceOf(message));
  if (PQconnectionNeedsPassword(connection) != 0)
    return {Errc::authenticationFailed,
            sentence + (options.passwordFile.empty() ? " (in PGPASSWORD, PGPASSFILE or a password file)" : "")};
  return {meaningOfRefusal(message), sentence};
}

Result<void> check(pg_conn* connection, const Options& options) {
  if (PQstatus(connection) != CONNECTION_OK) return refusal(connection, options);
  if (PQserverVersion(connection) < oldestServer)
    return Error{Errc::configurationRefused, "the server is version " +
                                                 std::string(PQparameterStatus(connection, "server_version")) +
                                                 ", expected 14 or newer"};
  if (options.tls && PQsslInUse(connection) == 0)
    return Error{Errc::configurationRefused,
                 "TLS was asked for, and this connection has none: a Unix socket never has"};
  return {};
}

/// Servers refuse in their own language, and with a code when they are asked for it. True when it is open.
bool openInCodes(pg_conn* connection, BootTime deadline, const std::stop_token& stop) {
  PQsetErrorVerbosity(connection, PQERRORS_VERBOSE);
  const bool opened = awaitOpened(connection, deadline, stop);
  PQsetErrorVerbosity(connection, PQERRORS_DEFAULT);
  return opened;
}

/// libpq alone moves on to the next server of a list when one is silent, but only in the call that cannot be asked for
/// codes. So a refusal in words that are not known is asked for once more.
pg_conn* openWaiting(const Words& words, std::chrono::milliseconds limit) {
  pg_conn* connection = words.give(&PQconnectdbParams);
  if (connection == nullptr || PQstatus(connection) == CONNECTION_OK) return connection;
  const std::string_view message = PQerrorMessage(connection);
  if (!isServersWord(message) || meaningOfRefusal(message) != Errc::unavailable) return connection;
  pg_conn* again = words.give(&PQconnectStartParams);
  if (again == nullptr) return connection;
  openInCodes(again, BootClock::now() + limit, {});
  // Where the deadline has passed, the first attempt knows more.
  const bool isOver = PQstatus(again) == CONNECTION_OK || PQstatus(again) == CONNECTION_BAD;
  PQfinish(isOver ? connection : again);
  return isOver ? again : connection;
}

}  // namespace

Result<pg_conn*> connect(const Options& options, const std::string& applicationName, Server which,
                         const std::stop_token& stop) {
  const Result<Secret> password = passwordFrom(options.passwordFile);
  if (!password) return password.error();
  const Words words = wordsFor(options, applicationName, *password, which);
  pg_conn* connection =
      stop.stop_possible() ? words.give(&PQconnectStartParams) : openWaiting(words, options.connectLimit);
  if (connection == nullptr) return Error{Errc::unavailable, "libpq is out of memory"};
  if (stop.stop_possible() && !openInCodes(connection, BootClock::now() + options.connectLimit, stop)) {
    const Error why =
        stop.stop_requested() ? Error{Errc::cancelled, "a stop was asked for"} : refusal(connection, options);
    PQfinish(connection);
    return why;
  }
  if (const Result<void> sound = check(connection, options); !sound) {
    PQfinish(connection);
    return sound.error();
  }
  return connection;
}

}  // namespace tenure::postgresql
