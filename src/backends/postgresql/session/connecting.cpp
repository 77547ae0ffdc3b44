#include "backends/postgresql/session/connecting.hpp"

#include <libpq-fe.h>
#include <netdb.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <fstream>
#include <vector>

#include "backends/postgresql/session/refusal.hpp"
#include "backends/shared/answer_wait.hpp"
#include "backends/shared/cut_off.hpp"
#include "backends/shared/servers.hpp"
#include "base/text.hpp"
#include "tenure/values.hpp"

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
  /// Begins to connect, and does not wait.
  pg_conn* start() const {
    std::vector<const char*> keywords = keywords_;
    std::vector<const char*> values;
    for (const std::string& value : values_) values.push_back(value.c_str());
    keywords.push_back(nullptr);
    values.push_back(nullptr);
    return PQconnectStartParams(keywords.data(), values.data(), 0);
  }

 private:
  std::vector<const char*> keywords_;
  std::vector<std::string> values_;
};

/// Where one attempt goes. libpq moves on by itself from an address that refuses, but not from one that is silent, when
/// it is asked not to wait.
struct Place {
  std::string host;     // as it was named; empty: whatever libpq has it from
  std::string address;  // of that name; empty: for libpq to find
  std::uint16_t port = 0;
};

std::vector<std::string> addressesOf(const std::string& host) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (getaddrinfo(host.c_str(), nullptr, &hints, &found) != 0) return {};  // libpq will say why
  const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> all(found, &freeaddrinfo);
  std::vector<std::string> addresses;
  for (const addrinfo* each = found; each != nullptr; each = each->ai_next) {
    std::array<char, NI_MAXHOST> text{};
    if (getnameinfo(each->ai_addr, each->ai_addrlen, text.data(), text.size(), nullptr, 0, NI_NUMERICHOST) == 0)
      addresses.emplace_back(text.data());
  }
  return addresses;
}

std::vector<Place> placesOf(const Options& options) {
  std::vector<Place> places;
  for (const auto& [host, port] : backends::serversOf(options.host, options.port)) {
    const std::size_t before = places.size();
    const bool isPath = host.empty() || host.front() == '/' || host.front() == '@';
    if (!isPath && std::getenv("PGHOSTADDR") == nullptr)
      for (std::string& address : addressesOf(host)) places.push_back({host, std::move(address), port});
    if (places.size() == before) places.push_back({host, {}, port});
  }
  return places;
}

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

Words wordsFor(const Options& options, const Place& place, const std::string& applicationName, const Secret& password,
               Server which) {
  Words words;
  words.add("host", place.host);
  words.add("hostaddr", place.address);
  words.add("port", place.port == 0 ? "" : std::to_string(place.port));
  words.add("dbname", options.database);
  words.add("user", options.user);
  words.add("password", password.reveal());
  words.add("application_name", applicationName);
  words.add("client_encoding", "UTF8");
  words.add("target_session_attrs", which == Server::any ? "any" : "read-write");
  addKeepalives(words, options.networkLimit);
  if (options.tls) {
    words.add("sslmode", "verify-full");
    words.add("sslrootcert", options.tlsAuthority.string());
    words.add("gssencmode", "disable");
  }
  return words;
}

/// False when it was refused, the limit has passed, or a stop was asked for.
bool awaitOpened(pg_conn* connection, backends::AnswerWait& wait, const std::stop_token& stop) {
  PostgresPollingStatusType wish = PGRES_POLLING_WRITING;
  while (wish == PGRES_POLLING_READING || wish == PGRES_POLLING_WRITING) {
    const int socket = PQsocket(connection);
    if (socket < 0 || stop.stop_requested()) return false;
    const backends::CutOff cutOff(socket, stop);
    pollfd waiting{
        .fd = socket, .events = static_cast<short>(wish == PGRES_POLLING_READING ? POLLIN : POLLOUT), .revents = 0};
    const auto left = std::chrono::ceil<milliseconds>(wait.until() - BootClock::now());
    const int ready = poll(&waiting, 1, static_cast<int>(std::max(left, milliseconds::zero()).count()));
    if (ready > 0) wish = PQconnectPoll(connection);
    if (ready == 0 && !wait.goesOn()) return false;
  }
  return wish == PGRES_POLLING_OK && !stop.stop_requested();
}

Error refusal(pg_conn* connection, const Options& options) {
  const std::string_view message = PQerrorMessage(connection);
  const auto text = [](const char* value) { return std::string(value == nullptr ? "" : value); };
  const std::string server = "server at \"" + text(PQhost(connection)) + "\", port " + text(PQport(connection));
  if (isSilence(message))
    return {Errc::unavailable,
            "connection to " + server + " failed: it does not answer as a PostgreSQL server in time"};
  if (isAnotherProtocol(message))
    return {Errc::unavailable, "the " + server + " takes connections, and does not answer as a PostgreSQL server"};
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

/// Servers refuse in their own language, and with a code when they are asked for it.
bool openInCodes(pg_conn* connection, backends::AnswerWait& wait, const std::stop_token& stop) {
  PQsetErrorVerbosity(connection, PQERRORS_VERBOSE);
  const bool opened = awaitOpened(connection, wait, stop);
  PQsetErrorVerbosity(connection, PQERRORS_DEFAULT);
  if (opened || isServersWord(PQerrorMessage(connection))) wait.answered();
  return opened;
}

Result<pg_conn*> tryPlace(const Options& options, const Words& words, backends::AnswerWait& wait,
                          const std::stop_token& stop) {
  pg_conn* connection = words.start();
  if (connection == nullptr) return Error{Errc::unavailable, "libpq is out of memory"};
  const bool opened = openInCodes(connection, wait, stop);
  const Result<void> sound = opened ? check(connection, options) : refusal(connection, options);
  if (sound) return connection;
  PQfinish(connection);
  if (stop.stop_requested()) return Error{Errc::cancelled, "a stop was asked for"};
  return sound.error();
}

/// One server's share of the time that is left for all of them.
Duration limitOf(const Options& options, const AnswerTimer* timer, std::size_t placesLeft) {
  if (timer == nullptr || timer->deadline() == BootTime::max()) return options.connectLimit;
  return std::min<Duration>(options.connectLimit,
                            (timer->deadline() - BootClock::now()) / static_cast<std::int64_t>(placesLeft));
}

}  // namespace

Result<pg_conn*> connect(const Options& options, const std::string& applicationName, Server which,
                         const std::stop_token& stop, AnswerTimer* timer) {
  const Result<Secret> password = passwordFrom(options.passwordFile);
  if (!password) return password.error();
  const std::vector<Place> places = placesOf(options);
  std::string why;
  for (std::size_t i = 0; i < places.size(); ++i) {
    const Words words = wordsFor(options, places[i], applicationName, *password, which);
    if (timer != nullptr) timer->asked(BootClock::now());
    backends::AnswerWait wait(timer, limitOf(options, timer, places.size() - i));
    const Result<pg_conn*> connection = tryPlace(options, words, wait, stop);
    if (connection || !connection.error().is(Errc::unavailable)) return connection;
    wait.failed();
    why += (why.empty() ? "" : "; ") + connection.error().detail;
  }
  return Error{Errc::unavailable, why};
}

}  // namespace tenure::postgresql
